"""Java's statements.

A result is None, ("return", value), ("throw",), ("break",), ("continue",), or one of these by a condition.
"""

from layout import Failure, Group, Leaf
from source import named, text
from values import (
    SAMPLES, THROWS, Atom, Constant, Element, Flags, Items, Merged, Opaque, chosen, either, number, put, same, truth,
)


class Statements:
    def block(self, statements, frame):
        for index, statement in enumerate(statements):
            result = self.statement(statement, frame)
            if result is None:
                continue
            return self.behind(result, statements[index + 1:], frame)
        return None

    def behind(self, result, statements, frame):
        """Goes on where the result of a statement is none."""
        if result is None:
            return self.block(statements, frame)
        if not isinstance(result, Merged):
            return result
        return self.branch(
            result.condition,
            lambda: self.behind(result.yes, statements, frame),
            lambda: self.behind(result.no, statements, frame),
        )

    def statement(self, node, frame):
        kind = node.type
        self.steps += 1
        if self.steps > 100_000:
            raise Failure("too many steps")
        handler = getattr(self, "do_" + kind, None)
        if handler is None:
            raise Failure(f"statement {kind}")
        return handler(node, frame)

    def do_block(self, node, frame):
        return self.block(named(node), frame)

    do_constructor_body = do_block

    def do_local_variable_declaration(self, node, frame):
        for it in named(node):
            if it.type == "variable_declarator":
                value = it.child_by_field_name("value")
                result = self.value(value, frame) if value is not None else Opaque("not set")
                if result == THROWS:
                    return THROWS
                put(frame, text(it.child_by_field_name("name")), result)
        return None

    def do_expression_statement(self, node, frame):
        expression = named(node)[0]
        if expression.type == "switch_expression":
            return self.switch(expression, frame, False)
        result = self.value(expression, frame)
        return THROWS if result == THROWS else None

    def do_switch_expression(self, node, frame):
        return self.switch(node, frame, False)

    def do_if_statement(self, node, frame):
        condition = self.value(node.child_by_field_name("condition"), frame)
        yes, no = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        return self.branch(
            condition,
            lambda: self.statement(yes, frame),
            lambda: self.statement(no, frame) if no is not None else None,
        )

    def do_return_statement(self, node, frame):
        inner = named(node)
        value = self.value(inner[0], frame) if inner else None
        return THROWS if value == THROWS else ("return", value)

    def do_throw_statement(self, node, frame):
        return THROWS

    def do_break_statement(self, node, frame):
        return ("break",)

    def do_continue_statement(self, node, frame):
        return ("continue",)

    def do_yield_statement(self, node, frame):
        return ("return", self.value(named(node)[0], frame))

    def do_assert_statement(self, node, frame):
        return None

    def do_try_statement(self, node, frame):
        return self.statement(node.child_by_field_name("body"), frame)

    do_try_with_resources_statement = do_try_statement

    def do_for_statement(self, node, frame):
        init, condition = node.child_by_field_name("init"), node.child_by_field_name("condition")
        body = node.child_by_field_name("body")
        if init is None or condition is None or init.type != "local_variable_declaration":
            raise Failure("a loop of an unknown form")
        self.statement(init, frame)
        declarators = [it for it in named(init) if it.type == "variable_declarator"]
        name = text(declarators[0].child_by_field_name("name"))
        while condition.type == "parenthesized_expression":
            condition = named(condition)[0]
        start = frame.fields[name]
        simple = (
            condition.type == "binary_expression"
            and text(condition.child_by_field_name("left")) == name
            and text(condition.child_by_field_name("operator")) in ("<", "<=")
            and isinstance(start, int)
        )
        if not simple:
            raise Failure(f"a loop of an unknown form: {text(condition)}")
        end = self.value(condition.child_by_field_name("right"), frame)
        more = 1 if text(condition.child_by_field_name("operator")) == "<=" else 0
        if isinstance(end, int):
            count = end + more - start
        elif isinstance(end, Merged) and not more and not start:
            count = end
        else:
            count = number(end)
            count = count.then(lambda it: it + more - start) if more - start else count

        def step(index):
            put(frame, name, start + index if isinstance(index, int) else index)
            return self.statement(body, frame)

        return self.ended(self.repeated(count, step))

    def ended(self, results):
        for result in results:
            if isinstance(result, tuple) and result[0] == "return" or isinstance(result, Merged):
                if isinstance(result, Merged) and not any_return(result):
                    continue
                raise Failure("a loop that returns")
        return None

    def do_enhanced_for_statement(self, node, frame):
        items = self.value(node.child_by_field_name("value"), frame)
        name, body = text(node.child_by_field_name("name")), node.child_by_field_name("body")
        if isinstance(items, Flags):
            for index, item in enumerate(items.items):
                put(frame, name, item)
                holds = Atom(items.variable, lambda key: key == 1, 1 << index)
                self.branch(holds, lambda: self.statement(body, frame), lambda: None)
            return None
        if not isinstance(items, Items):
            raise Failure("a loop over what is no list")

        def step(index):
            put(frame, name, items.items[index] if isinstance(index, int) else items.sample)
            return self.statement(body, frame)

        count = len(items.items) if items.items is not None else items.count
        if isinstance(count, int) and count > 64:
            raise Failure("a loop over a long list")
        return self.ended(self.repeated(count, step))

    def do_while_statement(self, node, frame):
        condition = node.child_by_field_name("condition")
        body = node.child_by_field_name("body")
        nodes, result = self.inside(lambda: self.value(condition, frame))
        if result is True and not nodes:
            return self.do_do_statement(node, frame)
        holds = truth(result)
        single = len(nodes) == 1 and isinstance(holds, Atom) and holds.variable is nodes[0].variable
        ends = [it for it in SAMPLES[:260] if not holds.holds(it & 0xFF if it >= 0 else it)] if single else []
        if not single or len(set(ends)) != 1 or ends[0] < 0:
            raise Failure("a loop of an unknown form")
        more, _ = self.inside(lambda: self.statement(body, frame))
        self.out.append(Group(f"until{ends[0]}", [nodes + more]))
        return None

    def do_do_statement(self, node, frame):
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        nodes, _ = self.inside(lambda: self.statement(body, frame))
        holds = truth(self.value(condition, frame))
        first = nodes[0].variable if nodes and isinstance(nodes[0], Leaf) else None
        top = isinstance(holds, Atom) and holds.variable is first and (
            holds.mask == 128 and holds.holds(1) and not holds.holds(0)
            or holds.mask is None and holds.holds(-1) and holds.holds(-128) and not holds.holds(0)
            and not holds.holds(127)
        )
        if not top:
            raise Failure("a loop of an unknown form")
        self.out.append(Group("topbit", [nodes]))
        return None

    # Switches.

    def switch(self, node, frame, valued):
        on = self.value(node.child_by_field_name("condition"), frame)
        groups = []
        for group in named(node.child_by_field_name("body")):
            labels, statements = [], []
            for child in named(group):
                if child.type == "switch_label":
                    labels.extend(named(child) or [None])
                else:
                    statements.append(child)
            groups.append((labels, statements, group.type == "switch_rule"))

        def run(index):
            if index == len(groups):
                return None
            _, statements, rule = groups[index]
            if rule:
                only = statements[0]
                if only.type == "expression_statement" and valued:
                    return ("return", self.value(named(only)[0], frame))
                return without_break(self.statement(only, frame))
            return falling(self.block(statements, frame), index + 1)

        def falling(result, index):
            if result is None:
                return run(index)
            if isinstance(result, Merged):
                yes, no = result.yes, result.no
                return self.branch(result.condition, lambda: falling(yes, index), lambda: falling(no, index))
            return without_break(result)

        default = next((i for i, (labels, _, _) in enumerate(groups) if None in labels), None)

        def decide(index):
            if index == len(groups):
                return run(default) if default is not None else None
            condition = False
            for label in groups[index][0]:
                if label is not None:
                    condition = either(condition, self.matches(on, label, frame))
            return self.branch(condition, lambda: run(index), lambda: decide(index + 1))

        result = decide(0)
        if valued:
            return self.returned(result)
        return result

    def matches(self, on, label, frame):
        if isinstance(on, Merged):
            return chosen(on.condition, self.matches(on.yes, label, frame), self.matches(on.no, label, frame))
        of = on.of if isinstance(on, Constant) else None
        if isinstance(on, Element) and on.items and isinstance(on.items[0], Constant):
            of = on.items[0].of
        if of is not None and label.type == "identifier":
            constant = next((it for it in self.constants(of) if it.name == text(label)), None)
            if constant is None:
                raise Failure(f"{of.simple} has no {text(label)}")
            return same(on, constant)
        return same(on, self.value(label, frame))


def without_break(result):
    return None if result == ("break",) else result


def any_return(result):
    if isinstance(result, Merged):
        return any_return(result.yes) or any_return(result.no)
    return isinstance(result, tuple) and result[0] == "return"
