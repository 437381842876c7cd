"""GeyserMC/MCProtocolLib: which packets it has, and what its methods read."""

import re
import signal
import sys
from pathlib import Path

from interpret import Interpreter
from layout import Failure, Group, Leaf, named_apart, written
from source import Class, Sources, git, named, text
from values import (
    Element, Flags, Items, Merged, Number, Object, Opaque, Read, Stream, is_symbolic, number, same, type_of,
)

DATA = Path(__file__).parents[2] / "crates/protocol/src/schema/tests/witnesses/data"
WIRES = {
    "readBoolean": "bool", "readByte": "i8", "readUnsignedByte": "u8", "readShort": "i16", "readUnsignedShort": "u16",
    "readChar": "u16", "readInt": "i32", "readUnsignedInt": "u32", "readVarInt": "varint", "readLong": "i64",
    "readVarLong": "varlong", "readFloat": "f32", "readDouble": "f64", "readString": "string", "readUUID": "uuid",
    "readLpVec3": "lpvec3",
}
ELEMENTS = {"readBytes": "x8", "readShorts": "i16", "readInts": "i32", "readLongs": "i64"}
# Methods that parse what was read.
COMPUTES = {"idToEffect", "valueToData", "dataToChunks", "readColumn", "fromString", "toJsonString"}
LISTS = {"ArrayList", "LinkedList", "ObjectArrayList"}
# Packets whose layout in the library says less than, or something else than, the tables.
SHORT = "reads a VarInt, whose values are below 128, as a byte"
LEFT_OUT = {
    47: {
        "ServerEntityMovementPacket": "reads what only the packets with a movement have (the document of 1.8)",
        "ServerUpdateScorePacket": SHORT,
        "ClientPlayerActionPacket": SHORT,
        "ClientPlayerStatePacket": SHORT,
        "ClientRequestPacket": SHORT,
    },
    765: {"ClientboundExplodePacket": "reads the interaction with blocks after the particles, ViaVersion before them"},
    769: {"ClientboundPlayerInfoUpdatePacket": "has the last two actions the other way round, which 28add941 corrects"},
    754: {
        "ServerUpdateLightPacket": "the tables have the arrays as bytes",
        "ServerDeclareCommandsPacket": "knows fewer parsers than the tables, and suggestions for all nodes",
    },
}
# For a packet at most.
SECONDS = 60
STATES = {"HANDSHAKE": "handshaking", "STATUS": "status", "LOGIN": "login", "CONFIGURATION": "configuration",
          "GAME": "play"}


class Library:
    """What is not interpreted: the methods of streams, lists and of the library itself that are known."""

    lazy = False

    @staticmethod
    def static(of, name):
        return None

    def __init__(self, version):
        self.version, self.magic = version, None
        self.nbt = "gzip_nbt" if version < 47 else "named_nbt" if version < 764 else "nbt"

    def reads(self, interpreter, it, name, arguments):
        """What does the work of a method, or None to interpret it."""
        stream = isinstance(it, Stream)
        from_stream = not stream and bool(arguments) and isinstance(arguments[0], Stream)
        rest = arguments[1:] if from_stream else arguments
        if stream or from_stream:
            if name in WIRES and not rest:
                return lambda: interpreter.read(WIRES[name])
            if name == "readPrefixedBytes":
                return lambda: self.elements(interpreter, "x8", [interpreter.read("i16")])
            if name in ("readString",):
                return lambda: interpreter.read("string")
            if name in ELEMENTS and stream:
                return lambda: self.elements(interpreter, ELEMENTS[name], rest)
            if (name == "readPosition" or name == "read" and getattr(it, "simple", "") == "Position") and not rest:
                return lambda: interpreter.read(self.position(interpreter, it, name))
            if name == "read" and getattr(it, "simple", "") == "NBT":
                return lambda: interpreter.read(self.nbt)
            if name in ("readNBT", "readNbt", "readTag", "readAnyTag", "readCompoundTag", "readCompoundTagOrThrow"):
                return lambda: interpreter.read(self.nbt)
            if name == "readComponent" and self.version >= 765:
                return lambda: interpreter.read("nbt")
            if name == "readEnumSet":
                return lambda: self.flags(interpreter, rest[0])
            if name in ("available", "readableBytes"):
                return lambda: Opaque("available")
            if stream:
                raise Failure(f"the stream's {name}")
        if isinstance(it, Class):
            if it.simple == "MagicValues" and name == "key":
                return lambda: self.key(interpreter, it, arguments)
            if it.simple == "MagicValues":
                return lambda: Opaque("magic value")
        if name == "formalize":
            return lambda: arguments[0]
        if any(isinstance(argument, Opaque) and argument.what == "nested" for argument in arguments):
            return lambda: Opaque("nested")
        if isinstance(it, Opaque) and (it.what, name) in (("Arrays", "asList"), ("List", "of")):
            return lambda: interpreter.new(Items(arguments))
        if name in COMPUTES and not from_stream and not stream:
            return lambda: Opaque(name)
        if isinstance(it, Opaque) and it.what == "Math" and name == "min" and is_symbolic(arguments[0]):
            return lambda: arguments[0]
        if isinstance(it, Opaque) and it.what == "Math" and name == "floorDiv":
            return lambda: arguments[0] // arguments[1]
        if isinstance(it, Opaque) and it.what == "NBTIO":
            return lambda: interpreter.read(self.nbt)
        if isinstance(it, Items):
            return lambda: self.of_items(interpreter, it, name, arguments)
        return None

    @staticmethod
    def plain(this):
        """Whether an object makes no difference for what its methods read."""
        return not isinstance(this, Object) or not this.of.fields or "Helper" in this.of.simple

    @staticmethod
    def name(method, of):
        return method.removeprefix("read") or of.simple

    def method(self, interpreter, it, name, arguments):
        if isinstance(it, (Read, Number)) and name in ("intValue", "byteValue", "trim", "toString"):
            return it
        if isinstance(it, (Read, Number)) and name == "equals":

            return same(it, arguments[0])
        if isinstance(it, (str, int, Read, Number, Flags)) or is_symbolic(it):
            return Opaque(name)
        raise Failure(f"{name} of {type(it).__name__}")

    def of_items(self, interpreter, it, name, arguments):
        if name == "add" or name == "addAll":
            if it.items is not None:
                it.items = [*it.items, arguments[-1]]
            else:
                it.sample = arguments[-1]
            return True
        if name in ("size",):
            return interpreter.size(it)
        if name in ("get", "byId"):
            return interpreter.at(it, arguments[0])
        if name in ("toArray", "clone", "copyOf", "stream", "iterator"):
            return it
        return Opaque(name)

    def elements(self, interpreter, wire, arguments):
        count = arguments[0] if arguments else Opaque("available")
        target = count if isinstance(count, Items) else None
        if target is not None:
            count = interpreter.size(target)
        if isinstance(count, Merged):
            return interpreter.branch(
                count.condition,
                lambda: self.elements(interpreter, wire, [count.yes]),
                lambda: self.elements(interpreter, wire, [count.no]),
            )
        if isinstance(count, Opaque):
            if count.what != "available":
                raise Failure(f"a length that is {count.what}")
            interpreter.read("rest")
            return Opaque("bytes")
        leaf = Leaf(wire)
        of = count if isinstance(count, int) else interpreter.length(number(count))
        interpreter.out.append(Group("[", [[leaf]], of))
        return Items(None, count)

    def flags(self, interpreter, values):
        if len(values.items) > 8:
            raise Failure("a set of more than 8 constants")
        return Flags(interpreter.read("x8").variable, values.items)

    def position(self, interpreter, it, name):
        """The order of the parts, which are 26, 26 and 12 bits."""
        helpers = interpreter.sources.by_simple.get("MinecraftCodecHelper", [None])
        within = it if isinstance(it, Class) else it.of if isinstance(it, Object) else helpers[0]
        of, method = interpreter.method(within, name, [Stream()])
        y = re.search(r"\by = (.*);", text(method)).group(1)
        for _ in range(3):
            for name, value in of.static_fields.items():
                y = re.sub(rf"\b{name}\b", f"({text(value)})", y) if value is not None else y
        y = re.sub(r"\((?:int|long)\)|(?<=\d)L", "", y)
        for order, at in (("old_position", 26), ("position", 0)):
            val = Long(3 << 38 | 5 << (12 if at == 0 else 0) | 7 << at)
            if eval(y, {"val": val, **POWERS}).value == 7:
                return order
        raise Failure(f"a position with {y}")

    def key(self, interpreter, magic, arguments):
        if self.magic is None:
            self.magic = {}
            content = text(magic.node)
            for of, constant, value in re.findall(r"register\(([\w.]+)\.(\w+), (.+?)(?:, (?:true|false))?\);", content):
                value = value.strip()
                key = value[1:-1] if value.startswith('"') else int(value, 0) if re.fullmatch(r"-?(0x)?[0-9A-Fa-f]+", value) else None
                if key is not None:
                    self.magic.setdefault((of.rsplit(".", 1)[-1], constant), []).append(key)
        of, value = arguments
        if isinstance(value, Merged):
            yes, no = (self.key(interpreter, magic, [of, it]) for it in (value.yes, value.no))
            return Merged(value.condition, yes, no)
        if not is_symbolic(value):
            return Opaque("magic value")
        constants = interpreter.constants(of)
        wire = number(value).variable.wire
        kind = str if wire == "string" else int
        keys = {id(it): [key for key in self.magic.get((of.simple, it.name), []) if isinstance(key, kind)]
                for it in constants}
        return Element(number(value), constants, keys)

    def create(self, interpreter, name, of, arguments):
        if of is None and name in LISTS:
            if arguments and isinstance(arguments[0], Items):
                return interpreter.new(Items(arguments[0].items, arguments[0].count, arguments[0].sample))
            return interpreter.new(Items([]))
        if name in ("StreamNetInput", "ByteArrayInputStream"):
            return Opaque("nested")
        return None


POWERS = {
    "nextPowerOfTwo": lambda value: 1 << (value - 1).bit_length(),
    "lastExponentOfTwo": lambda value: value.bit_length() - 1,
}


class Long:
    """A number of 64 bits with a sign, for the parts of positions."""

    def __init__(self, value):
        value &= (1 << 64) - 1
        self.value = value - (1 << 64) if value >> 63 else value

    def __lshift__(self, bits):
        return Long(self.value << bits)

    def __rshift__(self, bits):
        return Long(self.value >> bits)

    def __and__(self, bits):
        return Long(self.value & bits)


def packets(sources):
    """State, direction, id and class of each packet."""
    codec = next((it for it in sources.by_simple.get("MinecraftCodec", []) if it.path.endswith("MinecraftCodec.java")), None)
    if codec is not None:
        content, state, next_id = text(codec.node), None, {}
        pattern = r"\.state\(ProtocolState\.(\w+)|register(Clientbound|Serverbound)Packet\(\s*(?:(0x[0-9A-Fa-f]+|\d+)\s*,\s*)?(\w+)\.class"
        for new_state, direction, explicit, name in re.findall(pattern, content):
            if new_state:
                state = STATES[new_state]
                continue
            direction = direction.lower()
            number = int(explicit, 0) if explicit else next_id.get((state, direction), 0)
            next_id[(state, direction)] = number + 1
            yield state, direction, number, sources.find(name, codec)
        return
    protocol = sources.by_simple["MinecraftProtocol"][0]
    states = {"Handshake": "handshaking", "Login": "login", "Status": "status", "Game": "play"}
    for short, state in states.items():
        for method in protocol.methods[f"initClient{short}"]:
            for way, number, name in re.findall(r"register(Incoming|Outgoing)\((\w+), (\w+)\.class", text(method)):
                direction = "clientbound" if way == "Incoming" else "serverbound"
                yield state, direction, int(number, 0), sources.find(name, protocol)


def layout(sources, of, version, types):
    """The layout that a packet's class reads. Adds the layouts with names to `types`."""
    interpreter = Interpreter(sources, Library(version))
    reads(interpreter, sources, of)
    found = {name: written(nodes) for name, nodes in interpreter.named.items()}
    return named_apart(types, found, written(interpreter.out))


def reads(interpreter, sources, of):
    this = interpreter.new(Object(of))
    read = interpreter.method(of, "read", [Stream()])
    if read is not None:
        interpreter.defaults(of, this)
        interpreter.construct(of, this, [])
        interpreter.out = []
        interpreter.call(read[0], read[1], this, [Stream()])
        return
    helpers = [it for key in ("MinecraftCodecHelper", "MinecraftTypes") for it in sources.by_simple.get(key, [])]
    for constructor in of.constructors:
        parameters = [type_of(it) for it in named(constructor.child_by_field_name("parameters"))]
        if parameters and parameters[0] == "ByteBuf":
            arguments = [Stream(), Object(helpers[0])][: len(parameters)]
            interpreter.constructor(of, constructor, this, arguments)
            return
    if not of.constructors or "NoArgsConstructor" in of.annotations:
        if not of.fields:
            return
    raise Failure("no constructor that reads")


def too_long(*_):
    raise Failure("takes too long")


def main():
    """Writes the file of a version, and to stderr what could not be read."""
    sys.setrecursionlimit(20000)
    signal.signal(signal.SIGALRM, too_long)
    repository, commit, version = sys.argv[1], sys.argv[2], int(sys.argv[3])
    commit = git(repository, "rev-parse", f"{commit}^{{commit}}").decode().strip()
    sources = Sources(repository, commit)
    lines, types, missing, folder = [], {}, [], None
    for state, direction, place_of, of in packets(sources):
        place = f"{state} {direction} 0x{place_of:02x} {of.simple}"
        if of.simple in LEFT_OUT.get(version, {}):
            missing.append(f"# Left out: {place}: {LEFT_OUT[version][of.simple]}")
            continue
        folder = folder or of.path[: of.path.index("/java/") + len("/java")]
        signal.alarm(SECONDS)
        try:
            lines.append(f"{place} mcprotocollib = {layout(sources, of, version, types)}")
        except (Failure, RecursionError) as failure:
            missing.append(f"# Not read: {place}: {failure}")
        signal.alarm(0)
    header = [
        "# Imported by tools/java_witnesses/mcprotocollib.py.",
        f"source mcprotocollib GeyserMC/MCProtocolLib@{commit}:{folder}",
        *sorted(missing),
        "",
        *(f"type {name} = {layout_of}" for name, layout_of in sorted(types.items())),
    ]
    path = DATA / f"{version}-mcprotocollib.txt"
    path.write_text("\n".join([*header, "", *sorted(lines)]) + "\n")
    print("\n".join(missing), f"{version}: {len(lines)} packets, {len(missing)} not read", sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
