"""Layouts in the form of `docs/protocol-tables.md`."""

import re


LESS = "one less"
SIGNLESS = {"i8": "x8", "u8": "x8", "i16": "x16", "u16": "x16", "u32": "x32"}


class Failure(Exception):
    """What the interpreter cannot follow."""


class Variable:
    """A value that was read, on which later parts can depend."""

    def __init__(self, wire):
        self.wire, self.label = wire, None


class Less:
    """One less than a variable."""

    def __init__(self, variable):
        self.variable = variable


class Leaf:
    def __init__(self, wire):
        self.wire, self.variable = wire, Variable(wire)


class Group:
    """`kind` is `?`, `[N` (a list with N elements), `until255`, `topbit`, `holder`, `set` .."""

    def __init__(self, kind, parts, count=None):
        self.kind, self.parts, self.count = kind, parts, count


class Switch:
    """Layouts by the value of a variable (or of the bits in `mask`): numbers, texts, `negative`, `else`.

    `domain` has all values that there are, if that is known.
    """

    def __init__(self, variable, mask, cases, domain=None):
        self.variable, self.mask, self.cases, self.domain = variable, mask, cases, domain


class Named:
    def __init__(self, name):
        self.name = name


def simplify(nodes):
    """Drops switches without parts, and writes lists, options and holders in their short forms."""
    done = []
    for node in nodes:
        if isinstance(node, Switch):
            cases = {key: simplify(part) for key, part in flat(node).items()}
            if not any(part for part in cases.values() if render(part) != "never"):
                continue
            last = done[-1] if done else None
            if isinstance(last, Switch) and (last.variable, last.mask) == (node.variable, node.mask):
                keys = {**last.cases, **cases}
                merged = {key: case(last.cases, key) + case(cases, key) for key in keys}
                done[-1] = Switch(node.variable, node.mask, merged)
                continue
            done.append(Switch(node.variable, node.mask, cases))
        elif isinstance(node, Group):
            done.append(Group(node.kind, [simplify(part) for part in node.parts], node.count))
        else:
            done.append(node)
    return [shortened(node) for node in done]


def flat(node):
    """The cases of a switch, with those of switches on the same value inside."""
    on = (node.variable, node.mask)
    keys = dict.fromkeys([*node.cases, *inner_keys(node.cases.values(), on)])
    cases = {key: decided(case(node.cases, key), on, key) for key in keys}
    if node.domain is None:
        return cases
    full = node.mask is not None and len(node.domain) == 1 << bin(node.mask).count("1")
    return {**{key: case(cases, key) for key in node.domain}, "else": [] if full else [Leaf("never")]}


def inner_keys(parts, on):
    for part in parts:
        for node in part:
            if isinstance(node, Switch):
                if (node.variable, node.mask) == on:
                    yield from node.cases
                yield from inner_keys(node.cases.values(), on)
            elif isinstance(node, Group):
                yield from inner_keys(node.parts, on)


def decided(nodes, on, key):
    done = []
    for node in nodes:
        if isinstance(node, Switch) and (node.variable, node.mask) == on:
            done.extend(decided(case(node.cases, key), on, key))
        elif isinstance(node, Switch):
            cases = {of: decided(part, on, key) for of, part in node.cases.items()}
            done.append(Switch(node.variable, node.mask, cases, node.domain))
        elif isinstance(node, Group):
            done.append(Group(node.kind, [decided(part, on, key) for part in node.parts], node.count))
        else:
            done.append(node)
    return done


def shortened(node):
    if isinstance(node, Switch):
        fallback = render(node.cases["else"])
        cases = {key: part for key, part in node.cases.items() if key == "else" or render(part) != fallback}
        if "negative" in node.cases:
            cases = {key: part for key, part in node.cases.items()}
        node.cases = cases
    return node


def case(cases, key):
    if key in cases:
        return cases[key]
    if isinstance(key, int) and key < 0 and "negative" in cases:
        return cases["negative"]
    return cases["else"]


def of(count):
    return count.variable if isinstance(count, Less) else count


def uses(nodes, variable):
    """How often later parts depend on a variable."""
    found = 0
    for node in nodes:
        if isinstance(node, Switch):
            found += node.variable is variable
            found += sum(uses(part, variable) for part in node.cases.values())
        elif isinstance(node, Group):
            found += isinstance(node.count, (Variable, Less)) and of(node.count) is variable
            found += sum(uses(part, variable) for part in node.parts)
    return found


def variables(nodes):
    for node in nodes:
        if isinstance(node, Leaf):
            yield node.variable
        elif isinstance(node, Switch):
            yield node.variable
            for part in node.cases.values():
                yield from variables(part)
        elif isinstance(node, Group):
            if isinstance(node.count, (Variable, Less)):
                yield of(node.count)
            for part in node.parts:
                yield from variables(part)


def joined(nodes):
    """Uses the short forms for what is not used twice."""
    done = []
    for index, node in enumerate(nodes):
        last = done[-1] if done else None
        before = last.variable if isinstance(last, Leaf) else None
        count = uses(nodes[index:], before) if before is not None else 0
        if isinstance(node, Switch):
            cases = {key: joined(part) for key, part in node.cases.items()}
            if before is not None and node.variable is before and node.mask is None and count == 1:
                if before.wire == "bool" and not case(cases, 0):
                    done[-1] = Group("?", [case(cases, 1)])
                    continue
                if before.wire == "varint" and set(cases) == {0, "else"} and not cases["else"]:
                    done[-1] = Group("holder", [cases[0]])
                    continue
            if before is not None and node.variable is before and node.mask is None:
                others = cases.get("else", [])
                less = len(others) == 1 and isinstance(others[0], Group) and isinstance(others[0].count, Less)
                # A list of no elements needs no case of its own, and there is no negative length.
                if less and count == 2 and set(cases) <= {0, 1, "negative", "else"} and not cases.get(1):
                    done[-1] = Group("set", [cases[0], *others[0].parts])
                    continue
            done.append(Switch(node.variable, node.mask, cases))
        elif isinstance(node, Group):
            node = Group(node.kind, [joined(part) for part in node.parts], node.count)
            if node.count is not None and node.count is before and count == 1:
                node.count = SIGNLESS.get(before.wire, before.wire)
                done[-1] = node
            else:
                done.append(node)
        else:
            done.append(node)
    return done


def render(nodes):
    return " ".join(filter(None, (render_one(node) for node in nodes)))


def render_one(node):
    if isinstance(node, Leaf):
        # The library takes a byte as signed or not as it likes.
        wire = SIGNLESS.get(node.wire, node.wire)
        return f"{node.variable.label}={wire}" if node.variable.label else wire
    if isinstance(node, Named):
        return f"@{node.name}"
    if isinstance(node, Switch):
        on = str(node.variable.label) + (f"&{node.mask}" if node.mask is not None else "")
        by_layout = {}
        for key, part in node.cases.items():
            by_layout.setdefault(render(part), []).append(key)
        cases = []
        for layout, keys in sorted(by_layout.items(), key=lambda it: min(map(order, it[1]))):
            plain = sorted((key for key in keys if key not in ("else", "negative")), key=order)
            names = [f'"{key}"' if isinstance(key, str) else str(key) for key in plain]
            names += [key for key in ("negative", "else") if key in keys]
            cases.append(f"{','.join(names)}: {layout}".rstrip())
        return f"{{{on} {' | '.join(cases)}}}"
    parts = " | ".join(render(part) for part in node.parts)
    if node.kind == "[":
        count = node.count.label if isinstance(node.count, Variable) else node.count
        count = LESS if isinstance(count, Less) else count
        return f"[{count}: {parts}]"
    return f"{node.kind}({parts})"


def order(key):
    if key == "else":
        return (3, 0, "")
    if key == "negative":
        return (2, 0, "")
    return (1, 0, key) if isinstance(key, str) else (0, key, "")


def written(nodes):
    """The text of a layout."""
    nodes = joined(simplify(nodes))
    number = 0
    for variable in variables(nodes):
        if variable.label is None and uses(nodes, variable):
            number += 1
            variable.label = f"v{number}"
    layout = render(nodes)
    if f"[{LESS}:" in layout:
        raise Failure("the length of a list is calculated")
    return layout


def named_apart(types, found, layout):
    """Adds the named layouts of a packet to those of all, under other names if they differ, and returns its layout."""
    for suffix in ["", *map(str, range(2, 20))]:
        def renamed(text):
            return re.sub(rf"@({'|'.join(map(re.escape, found))})\b", rf"@\g<1>{suffix}", text) if found else text
        named = {f"{name}{suffix}": renamed(text) for name, text in found.items()}
        if all(types.get(name, text) == text for name, text in named.items()):
            types.update(named)
            return renamed(layout)
    raise Failure("a name with too many layouts")
