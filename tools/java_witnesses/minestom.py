"""Minestom/Minestom: which packets it has, and what its types read."""

import re
import signal
import sys

from interpret import Interpreter
from layout import Failure, Group, Leaf, Named, named_apart, written
from mcprotocollib import DATA, LISTS, SECONDS, too_long
from source import Class, Sources, git, named, text
from values import (
    THROWS, Element, Flags, Frame, Function, Items, Merged, Object, Opaque, Stream, Wire, number, same,
)

LEAVES = {
    "UNIT": "", "BOOLEAN": "bool", "BYTE": "u8", "UNSIGNED_BYTE": "u8", "SHORT": "i16", "UNSIGNED_SHORT": "u16",
    "INT": "i32", "UNSIGNED_INT": "u32", "LONG": "i64", "FLOAT": "f32", "DOUBLE": "f64", "VAR_INT": "varint",
    "OPTIONAL_VAR_INT": "varint", "VAR_LONG": "varlong", "RAW_BYTES": "rest", "STRING": "string", "KEY": "string",
    "NBT": "nbt", "NBT_COMPOUND": "nbt", "BLOCK_POSITION": "position", "COMPONENT": "nbt", "JSON_COMPONENT": "string",
    "UUID": "uuid", "POS": "f64 f64 f64 f32 f32", "INSTANT_MS": "i64", "VECTOR3": "f32 f32 f32",
    "VECTOR3D": "f64 f64 f64", "VECTOR3I": "varint varint varint", "VECTOR3B": "i8 i8 i8", "LP_VECTOR3": "lpvec3",
    "QUATERNION": "f32 f32 f32 f32",
}
ARRAYS = {"BYTE_ARRAY": "x8", "LONG_ARRAY": "i64", "VAR_INT_ARRAY": "varint", "VAR_LONG_ARRAY": "varlong",
          "BITSET": "i64", "PUBLIC_KEY": "x8"}
OPTIONS = {"OPT_CHAT": "nbt", "OPT_BLOCK_POSITION": "position"}
STATES = {"HANDSHAKE": "handshaking", "STATUS": "status", "LOGIN": "login", "CONFIGURATION": "configuration",
          "PLAY": "play"}
# Packets whose layout in the program says less than, or something else than, the codec in the game's jar (hyperion).
BYTE = "takes a VarInt, whose values are below 128, as a byte"
JAR = "differs from the codec in the jar"
LEFT_OUT = {
    "EntityAnimationPacket": JAR, "ChangeGameStatePacket": JAR, "ClientChangeDifficultyPacket": JAR,
    "GameRuleValuesPacket": JAR, "ClientSetGameRulesPacket": JAR, "MoveMinecartPacket": JAR,
    "BossBarPacket": "the tool does not follow its switch", "FacePlayerPacket": "reads by what is left",
    "DeclareCommandsPacket": "takes the type of a node as two bits", "DeleteChatPacket": "has no number of a message",
    "PlayerChatMessagePacket": "has no inline type of a message", "DisguisedChatPacket": "has no inline type of a message",
    "DisplayScoreboardPacket": BYTE, "HeldItemChangePacket": BYTE, "ClientChangeGameModePacket": BYTE,
    "ClientPlaceRecipePacket": BYTE, "ClientUpdateStructureBlockPacket": "takes the seed, a VarLong, as a long",
}


class Table:
    """A map of which all entries are known."""

    def __init__(self, entries):
        self.entries = entries


class Library:
    lazy = True

    def __init__(self, sources):
        self.sources, self.made, self.names, self.listed = sources, {}, {}, []

    def static(self, of, name):
        if (of.simple, name) == ("ComponentPredicateSet", "PREDICATE_NETWORK_TYPE"):
            # Its method has patterns in a switch: a predicate or a component by its number, then NBT.
            return Wire(predicate)
        if of.simple != "NetworkBuffer" or of.outer is not None:
            return None
        if name not in self.made:
            self.made[name] = self.field(name)
        return self.made[name]

    @staticmethod
    def field(name):
        if name in LEAVES:
            def read(interpreter):
                values = [interpreter.read(wire) for wire in LEAVES[name].split()]
                return values[0] if len(values) == 1 else Opaque(name)
            return Wire(read)
        if name in ARRAYS:
            leaf = Wire(lambda interpreter: interpreter.read(ARRAYS[name]))
            return listed(leaf)
        if name in OPTIONS:
            return optional(Wire(lambda interpreter: interpreter.read(OPTIONS[name])))
        return Wire(lambda interpreter: fail(f"the type {name}")) if name.isupper() else None

    @staticmethod
    def plain(this):
        return True

    def name(self, method, of):
        """The name of the layout that a class's type reads."""
        while of.simple == "anonymous":
            of = of.outer
        return of.simple

    def reads(self, interpreter, it, name, arguments):
        if isinstance(it, Stream):
            if name == "read":
                return lambda: read_type(interpreter, arguments[0])
            if name == "readableBytes":
                return lambda: Opaque("available")
            if name == "extractBytes":
                return lambda: (arguments[0].call(Stream()), Opaque("bytes"))[1]
            if name == "registries":
                return lambda: Opaque(name)
            raise Failure(f"the stream's {name}")
        if isinstance(it, Wire):
            if name == "read":
                return lambda: read_type(interpreter, it)
            made = self.combined(interpreter, it, name, arguments)
            return (lambda: made) if made is not None else None
        if isinstance(it, Object) and interpreter.method(it.of, "read", [Stream()]) is not None:
            made = self.combined(interpreter, it, name, arguments)
            if made is not None:
                return lambda: made
        if isinstance(it, Class) and it.simple == "NetworkBuffer":
            made = self.made_by(interpreter, name, arguments)
            if made is not None:
                return lambda: made
        if isinstance(it, Class) and it.simple == "NetworkBufferTemplate" and name == "template":
            return lambda: template(arguments)
        if isinstance(it, Class) and it.simple == "NetworkBuffer" and name == "wrap":
            return lambda: unwrapped(interpreter)
        if isinstance(it, Class) and it.simple == "Check":
            return lambda: None
        if isinstance(it, Class) and it.simple == "DataComponent" and name == "fromId":
            return lambda: Element(number(arguments[0]), self.components(interpreter))
        if isinstance(it, Element) and name == "id":
            return lambda: Opaque(name)
        if isinstance(it, Opaque) and (it.what, name) in (("Map", "of"), ("Map", "entry")):
            return lambda: Table(list(zip(arguments[::2], arguments[1::2])))
        if isinstance(it, Opaque) and (it.what, name) == ("Map", "ofEntries"):
            return lambda: Table([entry for table in arguments for entry in table.entries])
        if isinstance(it, Opaque) and (it.what, name) in (("Arrays", "asList"), ("List", "of")):
            return lambda: interpreter.new(Items(arguments))
        if isinstance(it, Opaque) and (it.what, name) == ("Objects", "requireNonNull"):
            return lambda: arguments[0]
        if isinstance(it, Items) and name in ("get", "size", "add"):
            return lambda: items(interpreter, it, name, arguments)
        return None

    def components(self, interpreter):
        """The types of the components of items, in the order of their numbers."""
        if not self.listed:
            of = self.sources.by_simple["DataComponents"][0]
            for value in of.static_fields.values():
                kind = named(value.child_by_field_name("arguments"))[1]
                self.listed.append(Wire(lambda interpreter, kind=kind: self.component(interpreter, of, kind)))
        return self.listed

    @staticmethod
    def component(interpreter, of, kind):
        it = interpreter.value(kind, Frame(of, None))
        return THROWS if it is None else read_type(interpreter, it)

    @staticmethod
    def combined(interpreter, it, name, arguments):
        """A type made of another one."""
        if name in ("list", "set"):
            return listed(it)
        if name == "optional":
            return optional(it)
        if name == "mapValue":
            def pair(interpreter):
                read_type(interpreter, it)
                return read_type(interpreter, arguments[0])
            return listed(Wire(pair))
        if name == "transform":
            def transform(interpreter):
                value = read_type(interpreter, it)
                return quietly(interpreter, arguments[0], [value])
            return Wire(transform)
        if name == "unionType":
            def union(interpreter):
                key = read_type(interpreter, it)
                if isinstance(key, Element):
                    return interpreter.of_each(key, lambda item: read_type(interpreter, arguments[0].call(item)))
                return read_type(interpreter, arguments[0].call(key))
            return Wire(union)
        if name == "lengthPrefixed":
            def prefixed(interpreter):
                interpreter.read("varint")
                return read_type(interpreter, it)
            return Wire(prefixed)
        return it if name == "maxLength" else None

    @staticmethod
    def made_by(interpreter, name, arguments):
        """A type that a static method makes."""
        if name == "Enum":
            def enum(interpreter):
                value = interpreter.read("varint")
                if not isinstance(arguments[0], Class):
                    return Opaque("enum")
                return Element(number(value), interpreter.constants(arguments[0]))
            return Wire(enum)
        if name == "EnumSet":
            return Wire(lambda interpreter: Flags(interpreter.read("u8").variable, interpreter.constants(arguments[0])))
        if name == "FixedBitSet":
            return fixed(-(-arguments[0] // 8))
        if name == "FixedRawBytes":
            return fixed(arguments[0])
        if name == "Lazy":
            return Wire(lambda interpreter: read_type(interpreter, arguments[0].call()))
        if name == "TypedNBT":
            return Wire(lambda interpreter: interpreter.read("nbt"))
        if name == "Either":
            def either(interpreter):
                return interpreter.branch(interpreter.read("bool"), *[
                    (lambda it=it: (read_type(interpreter, it), Opaque("either"))[1]) for it in arguments])
            return Wire(either)
        if name == "Recursive":
            made = Wire(None)
            inner = arguments[0].call(made)
            made.read = lambda interpreter: read_type(interpreter, inner)
            return made
        if name == "Tagged":
            def tagged(interpreter):
                key = read_type(interpreter, arguments[0])
                def at(index):
                    if index == len(arguments[2].entries):
                        return THROWS
                    of, type_of = arguments[2].entries[index]
                    return interpreter.branch(same(key, of), lambda: read_type(interpreter, type_of), lambda: at(index + 1))
                return at(0)
            return Wire(tagged)
        return None

    def method(self, interpreter, it, name, arguments):
        if isinstance(it, Table) and name == "get":
            def at(index):
                if index == len(it.entries):
                    return None
                of, value = it.entries[index]
                return interpreter.branch(same(arguments[0], of), lambda: value, lambda: at(index + 1))
            return at(0)
        if name == "equals":
            return same(it, arguments[0])
        return Opaque(name)

    def create(self, interpreter, name, of, arguments):
        if of is None and name in LISTS:
            return interpreter.new(Items([]))
        return None


def unwrapped(interpreter):
    """A stream of the bytes that were read last, whose length stays."""
    if not (interpreter.out and isinstance(interpreter.out[-1], Group)):
        raise Failure("a buffer of what was not read last")
    interpreter.out.pop()
    return Stream()


def predicate(interpreter):
    for wire in ("bool", "varint", "nbt"):
        interpreter.read(wire)
    return Opaque("predicate")


def fail(why):
    raise Failure(why)


def quietly(interpreter, function, arguments):
    """Calls what makes a value of what was read, and reads nothing itself."""
    try:
        nodes, result = interpreter.inside(lambda: function.call(*arguments))
        return result if not nodes and result != THROWS else Opaque("made")
    except Failure:
        return Opaque("made")


def items(interpreter, it, name, arguments):
    if name == "size":
        return interpreter.size(it)
    if name == "get":
        return interpreter.at(it, arguments[0])
    if it.items is not None:
        it.items = [*it.items, arguments[-1]]
    return True


def listed(element):
    def read(interpreter):
        count = interpreter.read("varint")
        result = interpreter.repeated(count, lambda _: read_type(interpreter, element))
        return interpreter.new(Items(None, number(count), result[0] if result else None))
    return Wire(read)


def optional(inner):
    return Wire(lambda interpreter: interpreter.branch(
        interpreter.read("bool"), lambda: read_type(interpreter, inner), lambda: None))


def fixed(count):
    def read(interpreter):
        interpreter.out.append(Group("[", [[Leaf("x8")]], count))
        return Opaque("bytes")
    return Wire(read)


def template(arguments):
    def read(interpreter):
        values = [read_type(interpreter, it) for it in arguments[:-1:2]]
        return quietly(interpreter, arguments[-1], values) if isinstance(arguments[-1], Function) else arguments[-1]
    return Wire(read)


def read_type(interpreter, it):
    """Reads a value of a type. A type that contains itself becomes a layout with a name."""
    if isinstance(it, Merged):
        return interpreter.branch(
            it.condition, lambda: read_type(interpreter, it.yes), lambda: read_type(interpreter, it.no))
    if it == THROWS:
        return THROWS
    if isinstance(it, Object):
        return interpreter.invoke(it, it.of, "read", [Stream()])
    if not isinstance(it, Wire):
        raise Failure(f"a type that is not known: {getattr(it, 'what', type(it).__name__)}")
    if it.name is None:
        return it.read(interpreter)
    key = id(it)
    if key in interpreter.around:
        interpreter.recursive.add(key)
        interpreter.out.append(Named(it.name))
        return Opaque(it.name)
    interpreter.around.append(key)
    try:
        nodes, result = interpreter.inside(lambda: it.read(interpreter))
    finally:
        interpreter.around.pop()
    if key in interpreter.recursive:
        interpreter.named[it.name] = nodes
        nodes = [Named(it.name)]
    interpreter.out.extend(nodes)
    return result


def packets(sources):
    """State, direction, id, class and type of each packet."""
    vanilla = sources.by_simple["PacketVanilla"][0]
    for value in vanilla.static_fields.values():
        content = text(value)
        head = re.search(r"ConnectionState\.(\w+), PacketRegistry\.ConnectionSide\.(\w+)", content)
        if head is None:
            continue
        direction = "serverbound" if head.group(2) == "CLIENT" else "clientbound"
        for place, (name, type_of) in enumerate(re.findall(r"entry\(([\w.]+)\.class,\s*([\w.]+)\)", content)):
            yield STATES[head.group(1)], direction, place, sources.find(name, vanilla), type_of, vanilla


def main():
    """Writes the file of the commit's version, and to stderr what could not be read."""
    sys.setrecursionlimit(20000)
    signal.signal(signal.SIGALRM, too_long)
    repository, commit, version = sys.argv[1], sys.argv[2], int(sys.argv[3])
    commit = git(repository, "rev-parse", f"{commit}^{{commit}}").decode().strip()
    sources = Sources(repository, commit, "src")
    lines, types, missing = [], {}, []
    for state, direction, place, of, type_of, vanilla in packets(sources):
        head = f"{state} {direction} 0x{place:02x} {of.simple}"
        if of.simple in LEFT_OUT:
            missing.append(f"# Left out: {head}: {LEFT_OUT[of.simple]}")
            continue
        signal.alarm(SECONDS)
        try:
            interpreter = Interpreter(sources, Library(sources))
            serializer = interpreter.static(of, type_of.rsplit(".", 1)[-1])
            read_type(interpreter, serializer[0] if serializer else None)
            found = {name: written(nodes) for name, nodes in interpreter.named.items()}
            layout = named_apart(types, found, written(interpreter.out))
            lines.append(f"{head} minestom = {layout}")
        except (Failure, RecursionError) as failure:
            missing.append(f"# Not read: {head}: {str(failure)[:120]}")
        signal.alarm(0)
    header = [
        "# Imported by tools/java_witnesses/minestom.py.",
        f"source minestom Minestom/Minestom@{commit}:src/main/java/net/minestom/server/network/packet",
        *sorted(missing),
        "",
        *(f"type {name} = {layout_of}" for name, layout_of in sorted(types.items())),
    ]
    (DATA / f"{version}-minestom.txt").write_text("\n".join([*header, "", *sorted(lines)]) + "\n")
    print("\n".join(missing), f"{version}: {len(lines)} packets, {len(missing)} not read", sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
