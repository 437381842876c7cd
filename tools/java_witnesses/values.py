"""Values of the interpreter: those of Java where they are known, and what they depend on where they are not."""

from layout import Failure
from source import base, named

THROWS = ("throw",)
NUMBERS = {"byte", "short", "int", "long", "float", "double"}
STREAMS = {"NetInput", "ByteBuf", "NetworkBuffer"}
SAMPLES = [*range(-3, 300), 1 << 30]


class Opaque:
    """A value of which nothing is known but that it is there."""

    def __init__(self, what):
        self.what = what


class Read:
    """A value as it was read."""

    def __init__(self, variable):
        self.variable = variable


class Number:
    """A number that depends on a variable, or on some of its bits."""

    def __init__(self, variable, function=lambda it: it, mask=None):
        self.variable, self.function, self.mask = variable, function, mask

    def then(self, function):
        before = self.function
        return Number(self.variable, lambda it: function(before(it)), self.mask)


class Atom:
    """A condition on a variable: `holds` decides for each of its values (of its bits, shifted down)."""

    def __init__(self, variable, holds, mask=None, texts=(), exact=False, domain=None):
        self.variable, self.holds, self.mask, self.texts = variable, holds, mask, tuple(texts)
        # Whether it compares with a value, and all values that the variable can have.
        self.exact, self.domain = exact, domain

    def negated(self):
        return Atom(self.variable, lambda it: not self.holds(it), self.mask, self.texts, self.exact, self.domain)


class Both:
    def __init__(self, left, right):
        self.left, self.right = left, right


class Either:
    def __init__(self, left, right):
        self.left, self.right = left, right


class Merged:
    """`yes` if the condition holds, else `no`."""

    def __init__(self, condition, yes, no):
        self.condition, self.yes, self.no = condition, yes, no
        self.size = sum(it.size if isinstance(it, Merged) else 1 for it in (yes, no))


class Constant:
    """A constant of an enum."""

    def __init__(self, of, name, ordinal):
        self.of, self.name, self.ordinal = of, name, ordinal
        self.object = None


class Element:
    """The constant or element with the index `number` of `items`, or those of a table (a key to its value)."""

    def __init__(self, number, items, keys=None):
        self.number, self.items, self.keys = number, items, keys

    def keys_of(self, item):
        if self.keys is not None:
            return self.keys.get(id(item), [])
        return [index for index, it in enumerate(self.items) if it is item]

    def within(self, keys):
        """The condition that the element is one of those with these keys."""
        every = range(len(self.items)) if self.keys is None else [key for of in self.keys.values() for key in of]
        condition = atom(self.number, lambda it: it in keys)
        if all(isinstance(key, int) for key in every):
            shift = (self.number.mask & -self.number.mask).bit_length() - 1 if self.number.mask else 0
            wire = range(-3, 300) if self.number.mask is None else range((self.number.mask >> shift) + 1)
            every = set(every)
            condition.domain = [key for key in wire if self.number.function(key << shift) in every]
        condition.exact = True
        return condition


class Object:
    def __init__(self, of):
        self.of, self.fields = of, {}


class Items:
    """A list or an array. `count` is a number or depends on a variable; `sample` is an element of unknown index."""

    def __init__(self, items=None, count=None, sample=None):
        self.items, self.count, self.sample = items, count, sample


class Flags:
    """A set of constants, a bit of a variable for each."""

    def __init__(self, variable, items):
        self.variable, self.items = variable, items


class Function:
    """A lambda or a reference to a method."""

    def __init__(self, call):
        self.call = call


class Wire:
    """A type that reads a value."""

    def __init__(self, read):
        self.read, self.name = read, None


class Stream:
    """What packets are read from."""


def is_symbolic(value):
    return isinstance(value, (Read, Number, Atom, Both, Either, Merged, Element))


def number(value):
    """A value as a number that depends on a variable."""
    if isinstance(value, Number):
        return value
    if isinstance(value, Read):
        return Number(value.variable)
    raise Failure(f"a number was expected, not {type(value).__name__}")


def atom(value, holds):
    """The condition that `holds` of a number."""
    it = number(value)
    shift = (it.mask & -it.mask).bit_length() - 1 if it.mask else 0
    return Atom(it.variable, lambda key: bool(holds(it.function(key << shift))), it.mask)


def same(left, right):
    """Whether two values are equal: a bool or a condition."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Merged):
            yes, no = same(one.yes, other), same(one.no, other)
            return chosen(one.condition, yes, no)
        if isinstance(one, Element):
            keys = one.keys_of(other)
            if not keys:
                return False
            if isinstance(keys[0], str):
                return Atom(one.number.variable, lambda key: key in keys, None, keys)
            return one.within(keys)
        if isinstance(one, Read) and isinstance(other, str):
            return Atom(one.variable, lambda key: key == other, None, [other], True)
        if isinstance(one, (Read, Number)) and isinstance(other, (bool, int)):
            condition = atom(one, lambda it: it == int(other))
            condition.exact = True
            return condition
        if isinstance(one, (Read, Number, Opaque, Object, Items, Constant, str, Function, Stream)) and other is None:
            return False
    if any(isinstance(it, (Read, Number, Opaque)) for it in (left, right)):
        return Opaque("comparison")
    if isinstance(left, (bool, int, float, str)) or left is None:
        return left == right
    return left is right


def chosen(condition, yes, no):
    """`condition ? yes : no` of conditions."""
    if yes is True and no is False:
        return condition
    if yes is False and no is True:
        return opposite(condition)
    if yes is no or (isinstance(yes, bool) and yes == no):
        return yes
    return Either(conjunction(condition, yes), conjunction(opposite(condition), no))


def conjunction(left, right):
    if left is False or right is False:
        return False
    if left is True:
        return right
    return left if right is True else Both(left, right)


def opposite(it):
    if isinstance(it, bool):
        return not it
    if isinstance(it, Atom):
        return it.negated()
    if isinstance(it, Opaque):
        return Opaque(f"not {it.what}")
    if isinstance(it, Both):
        return Either(opposite(it.left), opposite(it.right))
    if isinstance(it, Either):
        return Both(opposite(it.left), opposite(it.right))
    return opposite(truth(it))


def truth(value):
    """A value as a condition."""
    if isinstance(value, (bool, Atom, Both, Either, Opaque)):
        return value
    if isinstance(value, Read) and value.variable.wire == "bool":
        return Atom(value.variable, lambda key: key == 1)
    if isinstance(value, Number):
        return atom(value, lambda it: it)
    if isinstance(value, Merged):
        return chosen(value.condition, truth(value.yes), truth(value.no))
    raise Failure(f"a condition was expected, not {type(value).__name__} {getattr(value, 'what', '')}")


class Frame:
    """The variables of a call."""

    def __init__(self, of, this, above=None):
        self.of, self.this, self.above, self.fields = of, this, above, {}

    def holding(self, name):
        frame = self
        while frame is not None:
            if name in frame.fields:
                return frame
            frame = frame.above
        return None


def takes(method, arguments):
    """Whether a method or constructor takes the arguments, as far as their number and streams tell."""
    parameters = [p for p in named(method.child_by_field_name("parameters")) if p.type != "receiver_parameter"]
    if any(p.type == "spread_parameter" for p in parameters):
        return len(arguments) >= len(parameters) - 1
    if len(parameters) != len(arguments):
        return False
    types = [type_of(it) for it in parameters]
    return all((it in STREAMS) == isinstance(argument, Stream) for it, argument in zip(types, arguments)
               if it in STREAMS or len(it) > 1)


def type_of(parameter):
    node = parameter.child_by_field_name("type")
    return base(node) if node is not None else ""


def either(left, right):
    if left is True or right is True:
        return True
    if left is False:
        return right
    if right is False:
        return left
    if isinstance(left, Atom) and isinstance(right, Atom) and (left.variable, left.mask) == (right.variable, right.mask):
        return Atom(left.variable, lambda key: left.holds(key) or right.holds(key), left.mask, left.texts + right.texts,
                    left.exact and right.exact, left.domain if left.domain is not None else right.domain)
    return Either(left, right)


def put(it, name, value):
    """Sets a field or variable. What a snapshot has does not change."""
    it.fields = {**it.fields, name: value}
