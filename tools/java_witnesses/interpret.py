"""Executes the methods that read a packet, with everything they read unknown, and notes what they read."""

from expressions import Expressions
from layout import Failure, Group, Leaf, Less, Named, Switch
from source import base, named, text
from statements import Statements
from values import (
    NUMBERS, SAMPLES, THROWS, Both, Constant, Either, Frame, Function, Items, Merged, Object, Opaque,
    Read, Stream, is_symbolic, number, put, takes, truth,
)


class Interpreter(Statements, Expressions):
    def __init__(self, sources, library):
        self.sources, self.library = sources, library
        self.out, self.heap, self.statics, self.depth, self.steps = [], [], {}, 0, 0
        self.around, self.recursive, self.named, self.active = [], set(), {}, []

    # What is read.

    def read(self, wire):
        leaf = Leaf(wire)
        self.out.append(leaf)
        return Read(leaf.variable)

    def inside(self, action):
        """Runs `action` and returns what it reads, and its result."""
        before, self.out = self.out, []
        try:
            result = action()
            return self.out, result
        finally:
            self.out = before

    def repeated(self, count, action):
        """Reads elements of a list."""
        if isinstance(count, int):
            if count <= 64:
                results = []
                for index in range(count):
                    results.append(action(index))
                return results
            nodes, _ = self.inside(lambda: action(Opaque("index")))
            if nodes:
                self.out.append(Group("[", [nodes], count))
            return []
        if isinstance(count, Merged):
            return self.branch(
                count.condition,
                lambda: self.repeated(count.yes, action),
                lambda: self.repeated(count.no, action),
            ) and []
        it = number(count)
        before = {id(items): fields for items, fields in self.snapshot() if isinstance(items, Items)}
        nodes, result = self.inside(lambda: action(Opaque("index")))
        for items in self.heap:
            fields = before.get(id(items))
            if fields is not None and items.items is not None and len(items.items) > len(fields[0] or ()):
                items.items, items.count, items.sample = None, count, items.items[-1]
        if nodes:
            self.out.append(Group("[", [nodes], self.length(it)))
        return [result]

    @staticmethod
    def length(it):
        if it.mask is None and all(it.function(n) == n for n in range(20)):
            return it.variable
        if it.mask is None and all(it.function(n) == n - 1 for n in range(20)):
            return Less(it.variable)
        raise Failure(f"the length of a list is calculated: {[it.function(n) for n in range(4)]} {it.mask}")

    # Branches.

    def branch(self, condition, yes, no):
        """Runs `yes` or `no`, or both if the condition depends on what was read, and returns the result."""
        condition = truth(condition)
        if condition is True:
            return yes()
        if condition is False:
            return no()
        if isinstance(condition, Both):
            return self.branch(condition.left, lambda: self.branch(condition.right, yes, no), no)
        if isinstance(condition, Either):
            return self.branch(condition.left, yes, lambda: self.branch(condition.right, yes, no))
        before = self.snapshot()
        yes_nodes, yes_result = self.inside(yes)
        after_yes = self.snapshot()
        self.restore(before)
        no_nodes, no_result = self.inside(no)
        after_no = self.snapshot()
        yes_ends, no_ends = yes_result == THROWS, no_result == THROWS
        if yes_ends and no_ends:
            return THROWS
        if isinstance(condition, Opaque) and condition.what == "more" and not no_nodes:
            self.out.append(Group("more", [yes_nodes]))
        elif isinstance(condition, Opaque):
            if (yes_nodes and not yes_ends) or (no_nodes and not no_ends):
                raise Failure(f"what is read depends on {condition.what}")
        elif yes_nodes and not yes_ends or no_nodes and not no_ends:
            ends = [Leaf("never")] if condition.exact else []
            self.out.append(cases_of(condition, ends if yes_ends else yes_nodes, ends if no_ends else no_nodes))
        if yes_ends:
            return no_result
        if no_ends:
            self.restore(after_yes)
            return yes_result
        self.merge(condition, after_yes, after_no)
        return self.merged(condition, yes_result, no_result)

    def merged(self, condition, yes, no):
        if yes is no or (not is_symbolic(yes) and not is_symbolic(no) and type(yes) is type(no)
                         and isinstance(yes, (int, str, bool)) and yes == no):
            return yes
        if isinstance(yes, tuple) and isinstance(no, tuple) and yes == no and len(yes) == 1:
            return yes
        if isinstance(yes, tuple) and isinstance(no, tuple) and yes[0] == no[0] == "return":
            return ("return", self.merged(condition, yes[1], no[1]))
        it = Merged(condition, yes, no)
        plain = not isinstance(yes, tuple) and not isinstance(no, tuple) and yes is not None and no is not None
        return Opaque("a value of many branches") if it.size > 300 and plain else it

    def snapshot(self):
        return [(it, state(it)) for it in self.heap]

    def restore(self, snapshot):
        for it, fields in snapshot:
            set_state(it, fields)

    def merge(self, condition, yes, no):
        before = {id(it): fields for it, fields in yes}
        for it, fields in no:
            if id(it) not in before:
                continue
            other = before[id(it)]
            if other is fields:
                continue
            if isinstance(it, Items):
                it.count = fields[1] if fields[1] is not None else other[1]
                it.sample = fields[2] if fields[2] is not None else other[2]
                it.items = fields[0] if fields[0] == other[0] else None
                continue
            result = {}
            for key in {**other, **fields}:
                if key in other and key in fields:
                    result[key] = self.merged(condition, other[key], fields[key])
                else:
                    result[key] = other.get(key, fields.get(key))
            it.fields = result

    def new(self, it):
        self.heap.append(it)
        return it

    # Calls.

    def call(self, of, method, this, arguments, above=None):
        """Calls a method. If it reads and calls itself, what it reads becomes a layout with a name."""
        generic = any(isinstance(it, Function) for it in arguments)
        if generic or not any(isinstance(it, Stream) for it in arguments):
            return self.called(of, method, this, arguments, above)
        key = (method.id, id(this) if isinstance(this, (Object, Constant)) and not self.library.plain(this) else None)
        if key in self.around:
            self.recursive.add(key)
            name = self.library.name(text(method.child_by_field_name("name")), of)
            self.out.append(Named(name))
            return Opaque(name)
        self.around.append(key)
        try:
            nodes, result = self.inside(lambda: self.called(of, method, this, arguments, above))
        finally:
            self.around.pop()
        if key in self.recursive:
            name = self.library.name(text(method.child_by_field_name("name")), of)
            self.named[name] = nodes
            nodes = [Named(name)]
        self.out.extend(nodes)
        return result

    def called(self, of, method, this, arguments, above=None):
        self.depth += 1
        if self.depth > 60:
            raise Failure("calls itself")
        frame = self.new(Frame(of, this, above))
        try:
            parameters = [p for p in named(method.child_by_field_name("parameters"))]
            for parameter, argument in zip(parameters, arguments):
                name = parameter.child_by_field_name("name")
                if name is None:
                    declarator = next((c for c in named(parameter) if c.type == "variable_declarator"), None)
                    if declarator is None:
                        continue
                    name = declarator.child_by_field_name("name")
                put(frame, text(name), argument)
            body = method.child_by_field_name("body")
            if body is None:
                raise Failure(f"{of.simple}: a method without a body")
            self.active.append(method.id)
            try:
                result = self.block(named(body), frame)
            finally:
                self.active.pop()
        finally:
            self.depth -= 1
            self.leave(frame)
        return self.returned(result)

    def returned(self, result):
        if isinstance(result, tuple):
            return result[1] if result[0] == "return" else THROWS if result == THROWS else None
        if isinstance(result, Merged):
            yes, no = self.returned(result.yes), self.returned(result.no)
            return Merged(result.condition, yes, no)
        return None

    def method(self, of, name, arguments):
        """The method of a class or of those that it extends, with the class that has it."""
        seen = of
        while seen is not None:
            fitting = [it for it in seen.methods.get(name, []) if takes(it, arguments)]
            # Of two with the same number of arguments, one often calls the other.
            fitting.sort(key=lambda it: it.id in self.active)
            if fitting:
                return seen, fitting[0]
            for interface in seen.interfaces:
                above = self.sources.find(base(interface), seen)
                found = self.method(above, name, arguments) if above else None
                if found and found[1].child_by_field_name("body") is not None:
                    return found
            seen = self.above(seen)
        return None

    def above(self, of):
        return self.sources.above(of)

    def invoke(self, this, of, name, arguments):
        found = self.method(of, name, arguments)
        if found is None:
            return self.accessor(this, of, name, arguments)
        within, method = found
        return self.call(within, method, this, arguments)

    def accessor(self, this, of, name, arguments):
        """Methods that are generated: of a record, by Lombok."""
        if not arguments and isinstance(this, (Object, Constant)):
            fields = self.fields(this)
            for field in (name, name[3:4].lower() + name[4:] if name.startswith("get") else None,
                          name[2:3].lower() + name[3:] if name.startswith("is") else None):
                if field in fields:
                    return fields[field]
        if len(arguments) == 1 and isinstance(this, Object) and name.startswith("set"):
            put(this, name[3:4].lower() + name[4:], arguments[0])
            return None
        raise Failure(f"{of.simple}.{name} with {len(arguments)} arguments is not in the sources")

    def fields(self, this):
        return self.body(this).fields

    def body(self, this):
        """What has the fields of an object or a constant."""
        if isinstance(this, Constant):
            if this.object is None:
                this.object = Object(this.of)
                node = this.of.constants[this.ordinal]
                frame = Frame(this.of, this)
                arguments = node.child_by_field_name("arguments")
                values = [self.value(it, frame) for it in named(arguments)] if arguments else []
                self.construct(this.of, this.object, values)
            return this.object
        return this

    def defaults(self, of, this):
        """Sets the fields of a new object to what they are in Java before its constructor."""
        while of is not None:
            for name, _ in of.fields:
                kind = of.types.get(name)
                put(this, name, False if kind == "boolean" else 0 if kind in NUMBERS else None)
            of = self.above(of)

    def construct(self, of, this, arguments, caller=None):
        frame = self.new(Frame(of, this))
        for name, value in of.fields:
            if value is not None:
                put(this, name, self.value(value, frame))
        parts = [name for name, _ in of.fields]
        if of.kind == "record" and len(parts) == len(arguments):
            this.fields = {**this.fields, **dict(zip(parts, arguments))}
            return this
        for constructor in of.constructors:
            if constructor != caller and takes(constructor, arguments):
                self.constructor(of, constructor, this, arguments)
                return this
        names = [name for name, value in of.fields if value is None]
        if arguments and len(names) != len(arguments):
            raise Failure(f"no constructor of {of.simple} with {len(arguments)} arguments")
        this.fields.update(zip(names, arguments))
        return this

    def constructor(self, of, constructor, this, arguments):
        body = constructor.child_by_field_name("body")
        frame = self.new(Frame(of, this))
        for parameter, argument in zip(named(constructor.child_by_field_name("parameters")), arguments):
            name = parameter.child_by_field_name("name")
            if name is None:
                name = next(c for c in named(parameter) if c.type == "variable_declarator").child_by_field_name("name")
            put(frame, text(name), argument)
        statements = named(body)
        explicit = bool(statements) and statements[0].type == "explicit_constructor_invocation"
        calls_this = explicit and text(statements[0].child_by_field_name("constructor")) == "this"
        above = self.above(of)
        if explicit:
            values = [self.value(it, frame) for it in named(statements[0].child_by_field_name("arguments"))]
            target = of if calls_this else above
            if target is not None:
                self.construct(target, this, values, constructor)
            statements = statements[1:]
        elif above is not None:
            self.construct(above, this, [])
        self.block(statements, frame)
        self.leave(frame)

    def leave(self, frame):
        """Forgets the variables of a call that has ended."""
        for index in range(len(self.heap) - 1, -1, -1):
            if self.heap[index] is frame:
                del self.heap[index]
                return


def state(it):
    return (it.items, it.count, it.sample) if isinstance(it, Items) else it.fields


def set_state(it, fields):
    if isinstance(it, Items):
        it.items, it.count, it.sample = fields
    else:
        it.fields = fields


def cases_of(condition, yes, no):
    """A switch of two layouts."""
    holds = condition.holds
    pick = lambda key: yes if holds(key) else no
    if condition.texts:
        cases = {key: pick(key) for key in condition.texts}
        cases["else"] = pick("\0")
        return Switch(condition.variable, condition.mask, cases)
    if condition.variable.wire == "bool" or condition.mask is not None and condition.mask & (condition.mask - 1) == 0:
        return Switch(condition.variable, condition.mask, {1: pick(1), "else": pick(0)})
    width = bin(condition.mask).count("1") if condition.mask else None
    domain = range(1 << width) if width and width <= 8 else SAMPLES[:-1]
    last = SAMPLES[-1] if width is None else domain[-1]
    cases = {"else": pick(last)}
    negative = pick(-2)
    unsigned = condition.variable.wire in ("u8", "u16", "u32")
    if width is None and negative is not cases["else"] and not unsigned:
        cases["negative"] = negative
    for key in domain:
        if unsigned and key < 0:
            continue
        default = cases.get("negative", cases["else"]) if key < 0 else cases["else"]
        if pick(key) is not default:
            cases[key] = pick(key)
    if len(cases) > 200:
        raise Failure("a switch on too many values")
    return Switch(condition.variable, condition.mask, cases, condition.domain)
