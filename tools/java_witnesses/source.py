"""Java sources of a commit: their classes, with the members that the interpreter needs."""

import subprocess

import tree_sitter_java
from tree_sitter import Language, Parser

PARSER = Parser(Language(tree_sitter_java.language()))
TYPES = {
    "class_declaration": "class",
    "enum_declaration": "enum",
    "record_declaration": "record",
    "interface_declaration": "interface",
}

UNKNOWN = object()


def text(node):
    return node.text.decode()


def git(repository, *arguments):
    return subprocess.run(["git", "-C", repository, *arguments], capture_output=True, check=True).stdout


def named(node):
    return [child for child in node.named_children if "comment" not in child.type]


class Class:
    """A class, enum, record or interface, with its members by name."""

    def __init__(self, node, package, outer, imports, path):
        self.node, self.outer, self.imports, self.path = node, outer, imports, path
        self.kind = TYPES[node.type] if node.type in TYPES else "class"
        name = node.child_by_field_name("name")
        self.simple = text(name) if name and node.type in TYPES else "anonymous"
        self.package = package
        self.name = f"{outer.name}.{self.simple}" if outer else f"{package}.{self.simple}"
        self.methods, self.constructors, self.inner = {}, [], {}
        self.fields, self.static_fields, self.constants, self.static_blocks = [], {}, [], []
        self.types = {}
        self.super, self.above = None, UNKNOWN
        parent = node.child_by_field_name("superclass")
        if parent:
            self.super = named(parent)[0]
        self.interfaces = []
        for child in named(node):
            if child.type in ("super_interfaces", "extends_interfaces"):
                self.interfaces = named(named(child)[0])
        self.annotations = self._annotations(node)
        if self.kind == "record":
            for parameter in named(node.child_by_field_name("parameters")):
                self.fields.append((text(parameter.child_by_field_name("name")), None))
        body = node.child_by_field_name("body") or next(
            (child for child in named(node) if child.type == "class_body"), None
        )
        self._members(named(body) if body else [])

    def _annotations(self, node):
        modifiers = next((child for child in named(node) if child.type == "modifiers"), None)
        found = set()
        for child in named(modifiers) if modifiers else []:
            name = child.child_by_field_name("name")
            if name:
                found.add(text(name))
        return found

    def _members(self, members):
        for member in members:
            kind = member.type
            if kind == "enum_body_declarations":
                self._members(named(member))
            elif kind == "enum_constant":
                self.constants.append(member)
            elif kind == "method_declaration":
                name = text(member.child_by_field_name("name"))
                self.methods.setdefault(name, []).append(member)
            elif kind == "constructor_declaration":
                self.constructors.append(member)
            elif kind in ("field_declaration", "constant_declaration"):
                words = next((text(c) for c in named(member) if c.type == "modifiers"), "")
                static = "static" in words.split() or self.kind == "interface"
                for it in named(member):
                    if it.type == "variable_declarator":
                        name = text(it.child_by_field_name("name"))
                        value = it.child_by_field_name("value")
                        if static:
                            self.static_fields[name] = value
                        else:
                            self.fields.append((name, value))
                            self.types[name] = text(member.child_by_field_name("type"))
            elif kind == "static_initializer":
                self.static_blocks.append(member)
            elif kind in TYPES:
                inner = Class(member, self.package, self, self.imports, self.path)
                self.inner[inner.simple] = inner


class Sources:
    """All classes of a commit."""

    def __init__(self, repository, commit, folder=""):
        self.classes, self.by_simple = {}, {}
        listing = git(repository, "ls-tree", "-r", "--name-only", commit, folder or ".")
        paths = [p for p in listing.decode().splitlines() if p.endswith(".java") and "/test/" not in p]
        requests = "".join(f"{commit}:{path}\n" for path in paths).encode()
        batch = subprocess.run(
            ["git", "-C", repository, "cat-file", "--batch"], input=requests, capture_output=True, check=True
        ).stdout
        at = 0
        for path in paths:
            end = batch.index(b"\n", at)
            size = int(batch[at:end].split()[-1])
            self._file(path, batch[end + 1 : end + 1 + size])
            at = end + 2 + size

    def _file(self, path, content):
        package, imports = "", {}
        for node in named(PARSER.parse(content).root_node):
            if node.type == "package_declaration":
                package = text(named(node)[-1])
            elif node.type == "import_declaration":
                name = text(named(node)[0])
                if text(node).rstrip("; ").endswith("*"):
                    imports.setdefault("*", []).append(name)
                else:
                    imports[name.rsplit(".", 1)[-1]] = name
            elif node.type in TYPES:
                self._add(Class(node, package, None, imports, path))

    def _add(self, it):
        self.classes[it.name] = it
        self.by_simple.setdefault(it.simple, []).append(it)
        for inner in it.inner.values():
            self._add(inner)

    def find(self, name, within):
        """The class that a name means in a class; None if it is not in these sources."""
        first, _, rest = name.partition(".")
        found = self._first(first, within) or self.classes.get(name)
        while found and rest and found.name != name:
            first, _, rest = rest.partition(".")
            found = found.inner.get(first)
        return found

    def above(self, of):
        """The class that a class extends; None if it is not in these sources."""
        if of.above is UNKNOWN:
            of.above = None
            of.above = self.find(base(of.super), of.outer or of) if of.super is not None else None
        return of.above

    def _first(self, name, within):
        scope = within
        while scope:
            if scope.simple == name:
                return scope
            above = scope
            while above:
                if name in above.inner:
                    return above.inner[name]
                above = self.above(above)
            scope = scope.outer
        if within is None:
            return None
        if name in within.imports:
            return self.classes.get(within.imports[name])
        for package in [within.package, *within.imports.get("*", [])]:
            if f"{package}.{name}" in self.classes:
                return self.classes[f"{package}.{name}"]
        return None


def base(node):
    """The name of a type without its arguments."""
    if node.type == "generic_type":
        return base(named(node)[0])
    if node.type in ("array_type", "annotated_type"):
        return base(named(node)[0])
    return text(node)
