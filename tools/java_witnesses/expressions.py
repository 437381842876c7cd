"""Java's expressions."""

from layout import Failure
from source import Class, base, named, text
from values import (
    THROWS, Constant, Element, Frame, Function, Items, Merged, Number, Object, Opaque, Read, Stream,
    Wire, atom, chosen, conjunction, either, number, opposite, put, same, truth,
)


class Expressions:
    def value(self, node, frame):
        handler = getattr(self, "of_" + node.type, None)
        if handler is None:
            raise Failure(f"expression {node.type}: {text(node)[:60]}")
        return handler(node, frame)

    def of_parenthesized_expression(self, node, frame):
        return self.value(named(node)[0], frame)

    def of_cast_expression(self, node, frame):
        value = self.value(node.child_by_field_name("value"), frame)
        return value

    def of_decimal_integer_literal(self, node, frame):
        return int(text(node).rstrip("lL").replace("_", ""), 10)

    def of_hex_integer_literal(self, node, frame):
        return int(text(node).rstrip("lL").replace("_", ""), 16)

    def of_binary_integer_literal(self, node, frame):
        return int(text(node).rstrip("lL").replace("_", ""), 2)

    def of_decimal_floating_point_literal(self, node, frame):
        return float(text(node).rstrip("fFdD").replace("_", ""))

    def of_character_literal(self, node, frame):
        return ord(text(node)[1:-1][-1])

    def of_string_literal(self, node, frame):
        return text(node)[1:-1]

    def of_true(self, node, frame):
        return True

    def of_false(self, node, frame):
        return False

    def of_null_literal(self, node, frame):
        return None

    def of_this(self, node, frame):
        return frame.this

    def of_class_literal(self, node, frame):
        it = self.sources.find(base(named(node)[0]), frame.of)
        return it if it is not None else Opaque(text(node))

    def of_identifier(self, node, frame):
        name = text(node)
        holding = frame.holding(name)
        if holding is not None:
            return holding.fields[name]
        this = frame.this
        if isinstance(this, (Object, Constant)) and name in self.fields_quietly(this):
            return self.fields(this)[name]
        scope = frame.of
        while scope is not None:
            found = self.static(scope, name)
            if found is not None:
                return found[0]
            scope = scope.outer
        of = self.sources.find(name, frame.of)
        if of is not None:
            return of
        imported = frame.of.imports.get(name)
        if imported is not None:
            owner = self.sources.classes.get(imported.rsplit(".", 1)[0])
            found = self.static(owner, name) if owner else None
            if found is not None:
                return found[0]
        for package in frame.of.imports.get("*", []):
            owner = self.sources.classes.get(package)
            found = self.static(owner, name) if owner else None
            if found is not None:
                return found[0]
        return Opaque(name)

    def fields_quietly(self, this):
        if isinstance(this, Constant) and this.object is None:
            return {name: None for name, _ in this.of.fields}
        return self.fields(this)

    def static(self, of, name):
        """The static field or the constant of a class, in a list of one; None if there is none."""
        while of is not None:
            for constant in self.constants(of):
                if constant.name == name:
                    return [constant]
            made = self.library.static(of, name)
            if made is not None:
                return [made]
            if name in of.static_fields:
                value = self.lazy(of, name) if self.library.lazy else self.static_fields(of).get(name, Opaque(name))
                if isinstance(value, Wire) and value.name is None:
                    value.name = self.library.name(name, of)
                return [value]
            for interface in of.interfaces:
                above = self.sources.find(base(interface), of)
                found = self.static(above, name) if above else None
                if found:
                    return found
            of = self.above(of)
        return None

    def constants(self, of):
        if of.constants and of not in self.statics.setdefault("constants", {}):
            names = [text(it.child_by_field_name("name")) for it in of.constants]
            self.statics["constants"][of] = [Constant(of, name, index) for index, name in enumerate(names)]
        return self.statics.get("constants", {}).get(of, [])

    def lazy(self, of, name):
        """A static field that is evaluated alone when it is first used."""
        fields = self.library.names.setdefault(of, {})
        if name not in fields:
            fields[name] = Opaque(f"{of.simple}.{name}, which needs itself")
            before, self.heap = self.heap, []
            try:
                node = of.static_fields[name]
                fields[name] = self.value(node, Frame(of, None)) if node is not None else None
            except Failure as failure:
                fields[name] = Opaque(f"{of.simple}.{name}: {failure}")
            finally:
                self.heap = before
        return fields[name]

    def static_fields(self, of):
        if of not in self.statics:
            fields = self.statics[of] = {}
            before, self.heap = self.heap, []
            try:
                frame = Frame(of, None)
                frame.fields = fields
                for name, value in of.static_fields.items():
                    try:
                        fields[name] = self.value(value, frame) if value is not None else None
                    except Failure as failure:
                        fields[name] = Opaque(f"{of.simple}.{name}: {failure}")
                for it in of.static_blocks:
                    try:
                        self.block(named(named(it)[0]), frame)
                    except Failure:
                        pass
                    fields.update(frame.fields)
            finally:
                self.heap = before
        return self.statics[of]

    def of_field_access(self, node, frame):
        name = text(node.child_by_field_name("field"))
        if text(node.child_by_field_name("object")) == "super":
            return self.fields(frame.this)[name]
        it = self.value(node.child_by_field_name("object"), frame)
        return self.field(it, name)

    def field(self, it, name):
        if isinstance(it, Class):
            if name == "this":
                return Opaque("this")
            found = self.static(it, name)
            if found is not None:
                return found[0]
            if name in it.inner:
                return it.inner[name]
            raise Failure(f"{it.simple} has no {name}")
        if isinstance(it, Items) and name == "length":
            return self.size(it)
        if isinstance(it, Merged):
            if it.yes is None or it.no is None:
                return self.field(it.no if it.yes is None else it.yes, name)
            return Merged(it.condition, self.field(it.yes, name), self.field(it.no, name))
        if isinstance(it, (Object, Constant)):
            fields = self.fields(it)
            return fields[name] if name in fields else Opaque(name)
        if isinstance(it, Frame):
            return it.fields[name]
        if isinstance(it, Opaque):
            return Opaque(f"{it.what}.{name}")
        raise Failure(f"field {name} of {type(it).__name__}")

    def size(self, items):
        if items.items is not None:
            return len(items.items)
        if items.count is None:
            raise Failure("the length of a list is not known")
        return items.count

    def of_array_access(self, node, frame):
        array = self.value(node.child_by_field_name("array"), frame)
        index = self.value(node.child_by_field_name("index"), frame)
        return self.at(array, index)

    def at(self, array, index):
        if isinstance(array, Items):
            if array.items is not None and isinstance(index, int):
                if index >= len(array.items):
                    raise Failure("an index beyond the end")
                return array.items[index]
            if array.items and isinstance(index, (Read, Number)):
                return Element(number(index), array.items)
            return array.sample if array.sample is not None else Opaque("element")
        if isinstance(array, Opaque):
            return Opaque("element")
        raise Failure(f"an element of {type(array).__name__}")

    def of_array_creation_expression(self, node, frame):
        value = node.child_by_field_name("value")
        if value is not None:
            return self.value(value, frame)
        dimensions = [it for it in named(node) if it.type == "dimensions_expr"]
        count = self.value(named(dimensions[0])[0], frame)
        if isinstance(count, int) and count <= 64:
            return self.new(Items([Opaque("not set")] * count))
        return self.new(Items(None, count))

    def of_array_initializer(self, node, frame):
        return self.new(Items([self.value(it, frame) for it in named(node)]))

    def of_assignment_expression(self, node, frame):
        left, operator = node.child_by_field_name("left"), text(node.child_by_field_name("operator"))
        value = self.value(node.child_by_field_name("right"), frame)
        if value == THROWS:
            return THROWS
        if operator != "=":
            value = self.binary(operator[:-1], self.value(left, frame), value)
        self.assign(left, value, frame)
        return value

    def assign(self, left, value, frame):
        if left.type == "parenthesized_expression":
            return self.assign(named(left)[0], value, frame)
        if left.type == "identifier":
            name = text(left)
            holding = frame.holding(name)
            if holding is not None:
                put(holding, name, value)
            elif isinstance(frame.this, (Object, Constant)):
                put(self.body(frame.this), name, value)
            return None
        if left.type == "field_access":
            it = self.value(left.child_by_field_name("object"), frame)
            if isinstance(it, (Object, Constant)):
                put(self.body(it), text(left.child_by_field_name("field")), value)
            return None
        if left.type == "array_access":
            array = self.value(left.child_by_field_name("array"), frame)
            index = self.value(left.child_by_field_name("index"), frame)
            if isinstance(array, Items):
                if array.items is not None and isinstance(index, int) and index < len(array.items):
                    array.items = [*array.items[:index], value, *array.items[index + 1:]]
                else:
                    array.sample = value
            return None
        raise Failure(f"an assignment to {left.type}")

    def of_update_expression(self, node, frame):
        inner = named(node)[0]
        value = self.value(inner, frame)
        result = value + (1 if "++" in text(node) else -1) if isinstance(value, int) else Opaque("counter")
        self.assign(inner, result, frame)
        return value if text(node).startswith(text(inner)) else result

    def of_unary_expression(self, node, frame):
        operator = text(node.child_by_field_name("operator"))
        value = self.value(node.child_by_field_name("operand"), frame)
        if operator == "!":
            return opposite(truth(value))
        functions = {"-": lambda it: -it, "~": lambda it: ~it, "+": lambda it: it}
        if isinstance(value, (int, float)):
            return functions[operator](value)
        if isinstance(value, (Read, Number)):
            return number(value).then(functions[operator])
        return Opaque("unary")

    def of_binary_expression(self, node, frame):
        operator = text(node.child_by_field_name("operator"))
        left = self.value(node.child_by_field_name("left"), frame)
        if operator in ("&&", "||"):
            left = truth(left)
            if left is (operator == "||"):
                return left
            nodes, right = self.inside(lambda: truth(self.value(node.child_by_field_name("right"), frame)))
            if not nodes:
                return conjunction(left, right) if operator == "&&" else either(left, right)
            if left is (operator == "&&"):
                self.out.extend(nodes)
                return right
            raise Failure("a condition that reads")
        return self.binary(operator, left, self.value(node.child_by_field_name("right"), frame))

    def binary(self, operator, left, right):
        if operator == "==":
            return same(left, right)
        if operator == "!=":
            return opposite(truth(same(left, right)))
        if operator == "+" and (isinstance(left, str) or isinstance(right, str)):
            return left + str(right) if isinstance(left, str) and isinstance(right, (str, int)) else Opaque("text")
        if isinstance(left, Opaque) and (left.what, operator, right) == ("available", ">", 0):
            return Opaque("more")
        functions = {
            "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
            "/": lambda a, b: a / b if isinstance(a, float) or isinstance(b, float) else a // b,
            "%": lambda a, b: a % b, "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
            "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b, ">>>": lambda a, b: a >> b,
            "<": lambda a, b: a < b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b,
        }
        function = functions[operator]
        plain = (int, float, bool)
        if isinstance(left, plain) and isinstance(right, plain):
            return function(left, right)
        if isinstance(left, Merged) and isinstance(right, plain):
            return Merged(left.condition, self.binary(operator, left.yes, right), self.binary(operator, left.no, right))
        if isinstance(left, (Read, Number)) and isinstance(right, plain):
            if operator in ("<", ">", "<=", ">="):
                return atom(left, lambda it: function(it, right))
            it = number(left)
            identity = it.mask is None and all(it.function(n) == n for n in (0, 1, 5, 255, -1))
            if operator == "&" and identity and right > 0:
                if it.variable.wire in ("i8", "u8", "x8") and right == 255:
                    return it
                return Number(it.variable, lambda n: n, right)
            if operator == ">>" and identity and it.variable.wire in ("i8", "u8", "x8"):
                return Number(it.variable, lambda n: n >> right, (0xFF >> right) << right)
            if operator == "&" and it.mask:
                return it.then(lambda n: n & right)
            return it.then(lambda n: function(n, right))
        if isinstance(right, (Read, Number)) and isinstance(left, int):
            if operator in ("<", ">", "<=", ">="):
                return atom(right, lambda it: function(left, it))
            if operator == "&":
                return self.binary("&", right, left)
            return number(right).then(lambda n: function(left, n))
        return Opaque("calculated")

    def of_ternary_expression(self, node, frame):
        condition = self.value(node.child_by_field_name("condition"), frame)
        yes, no = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        return self.branch(condition, lambda: self.value(yes, frame), lambda: self.value(no, frame))

    def of_instanceof_expression(self, node, frame):
        value = self.value(node.child_by_field_name("left"), frame)
        of = self.sources.find(base(node.child_by_field_name("right")), frame.of)
        if isinstance(value, Merged):
            return chosen(value.condition, self.is_of(value.yes, of), self.is_of(value.no, of))
        return self.is_of(value, of)

    def is_of(self, value, of):
        if isinstance(value, Merged):
            return chosen(value.condition, self.is_of(value.yes, of), self.is_of(value.no, of))
        it = value.of if isinstance(value, (Object, Constant)) else None
        if it is None or of is None:
            if value is None:
                return False
            return Opaque("instanceof")
        while it is not None:
            if it is of or any(self.sources.find(base(i), it) is of for i in it.interfaces):
                return True
            it = self.above(it)
        return False

    def of_lambda_expression(self, node, frame):
        parameters, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
        if parameters.type == "identifier":
            names = [text(parameters)]
        else:
            names = [text(it.child_by_field_name("name") or it) for it in named(parameters)]

        def call(*arguments):
            inner = self.new(Frame(frame.of, frame.this, frame))
            if len(names) == 1 and len(arguments) == 2 and isinstance(arguments[1], Stream):
                arguments = arguments[1:]
            inner.fields.update(zip(names, arguments))
            if body.type == "block":
                return self.returned(self.block(named(body), inner))
            return self.value(body, inner)

        return Function(call)

    def of_method_reference(self, node, frame):
        children = node.children
        target, name = children[0], text(children[-1])
        if name == "new":
            if target.type == "array_type":
                return Function(lambda count: self.new(Items(None, count)))
            return Function(lambda *arguments: self.create(target, list(arguments), None, frame))
        if target.type == "super":
            return Function(lambda *arguments: self.invoke(frame.this, self.above(frame.of), name, list(arguments)))
        it = self.value(target, frame) if target.type != "generic_type" else self.sources.find(base(target), frame.of)

        def call(*arguments):
            if isinstance(it, Opaque):
                # A method of the stream, which some callers pass after another argument.
                place = next((i for i, argument in enumerate(arguments) if isinstance(argument, Stream)), None)
                if place is not None:
                    return self.invoke_on(arguments[place], name, list(arguments[place + 1:]), frame)
            if isinstance(it, Class) and self.library.reads(self, it, name, list(arguments)) is None:
                found = self.method(it, name, arguments)
                if found is None and arguments:
                    return self.invoke_on(arguments[0], name, list(arguments[1:]), frame)
            return self.invoke_on(it, name, list(arguments), frame)

        return Function(call)

    def of_switch_expression(self, node, frame):
        return self.switch(node, frame, True)

    def of_object_creation_expression(self, node, frame):
        arguments = node.child_by_field_name("arguments")
        values = [self.value(it, frame) for it in named(arguments)]
        body = next((it for it in named(node) if it.type == "class_body"), None)
        return self.create(node.child_by_field_name("type"), values, node if body else None, frame)

    def create(self, type_node, arguments, anonymous, frame):
        name = base(type_node)
        of = self.sources.find(name, frame.of)
        if anonymous is not None:
            above = of
            of = Class(anonymous, frame.of.package, frame.of, frame.of.imports, frame.of.path)
            this = self.new(Object(of))
            this.fields.update({key: value for it in frames(frame) for key, value in it.fields.items()})
            if above is not None and above.kind == "interface":
                of.interfaces = [type_node]
            else:
                of.super = type_node
                if above is not None:
                    self.construct(above, this, arguments)
            of.interfaces = of.interfaces or []
            return this
        replaced = self.library.create(self, name, of, arguments)
        if replaced is not None:
            return replaced
        if of is None:
            if any(isinstance(argument, Stream) for argument in arguments):
                raise Failure(f"what reads is not known: {name}")
            return Opaque(f"new {name}")
        this = self.new(Object(of))
        self.construct(of, this, arguments)
        return this

    def of_method_invocation(self, node, frame):
        name = text(node.child_by_field_name("name"))
        target = node.child_by_field_name("object")
        if target is not None and text(target) == "super":
            arguments = [self.value(it, frame) for it in named(node.child_by_field_name("arguments"))]
            above = self.above(frame.of)
            return self.invoke(frame.this, above, name, arguments) if above else Opaque(name)
        it = self.value(target, frame) if target is not None else None
        arguments = [self.value(argument, frame) for argument in named(node.child_by_field_name("arguments"))]
        if THROWS in arguments or it == THROWS:
            return THROWS
        if target is not None:
            return self.invoke_on(it, name, arguments, frame)
        scope = frame.of
        while scope is not None:
            if name == "values" and not arguments and scope.constants:
                return Items(self.constants(scope))
            result = self.library.reads(self, scope, name, arguments)
            if result is not None:
                return result()
            if self.method(scope, name, arguments) is not None:
                this = frame.this if scope is frame.of or frame.this is None else frame.this
                return self.invoke(this, scope, name, arguments)
            scope = scope.outer
        if isinstance(frame.this, (Object, Constant)) and self.method(frame.this.of, name, arguments) is not None:
            return self.invoke_on(frame.this, name, arguments, frame)
        for owner in self.imported(frame.of, name):
            result = self.library.reads(self, owner, name, arguments)
            if result is not None:
                return result()
            if self.method(owner, name, arguments) is not None:
                return self.invoke(None, owner, name, arguments)
        if isinstance(frame.this, (Object, Constant)):
            return self.invoke_on(frame.this, name, arguments, frame)
        raise Failure(f"{frame.of.simple} has no {name}")

    def imported(self, of, name):
        """The classes of which static members with a name are imported."""
        names = [of.imports[name].rsplit(".", 1)[0]] if name in of.imports else []
        classes = self.sources.classes
        return [classes[it] for it in [*names, *of.imports.get("*", [])] if it in classes]

    def invoke_on(self, it, name, arguments, frame):
        if isinstance(it, Merged):
            if it.yes == THROWS or it.yes is None:
                return self.invoke_on(it.no, name, arguments, frame)
            if it.no == THROWS or it.no is None:
                return self.invoke_on(it.yes, name, arguments, frame)
            return self.branch(
                it.condition,
                lambda: self.invoke_on(it.yes, name, arguments, frame),
                lambda: self.invoke_on(it.no, name, arguments, frame),
            )
        result = self.library.reads(self, it, name, arguments)
        if result is not None:
            return result()
        if isinstance(it, Class):
            if name == "values" and self.constants(it):
                return Items(self.constants(it))
            if name == "valueOf":
                return Opaque(name)
            return self.invoke(None, it, name, arguments)
        if isinstance(it, Object):
            return self.invoke(it, it.of, name, arguments)
        if isinstance(it, Constant):
            if name == "ordinal":
                return it.ordinal
            if name == "name":
                return it.name
            body = it.of.constants[it.ordinal].child_by_field_name("body")
            if body is not None:
                of = Class(it.of.constants[it.ordinal], it.of.package, it.of, it.of.imports, it.of.path)
                found = self.method(of, name, arguments)
                if found is not None:
                    return self.call(of, found[1], it, arguments)
            return self.invoke(it, it.of, name, arguments)
        if isinstance(it, Element):
            return self.of_each(it, lambda item: self.invoke_on(item, name, arguments, frame))
        if isinstance(it, Function):
            return it.call(*arguments)
        if isinstance(it, Opaque):
            if any(isinstance(argument, Stream) for argument in arguments) and it.what != "nested":
                raise Failure(f"what reads is not known: {it.what}.{name}")
            return Opaque(f"{it.what}.{name}")
        return self.library.method(self, it, name, arguments)

    def of_each(self, element, action):
        """Runs `action` for each item that an element can be."""
        def at(index):
            if index == len(element.items):
                return THROWS
            item = element.items[index]
            return self.branch(same(element, item), lambda: action(item), lambda: at(index + 1))

        return at(0)


def frames(frame):
    chain = []
    while frame is not None:
        chain.append(frame)
        frame = frame.above
    return reversed(chain)
