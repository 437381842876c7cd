"""Imports the layouts of adepierre/Botcraft, whose headers declare the fields of each packet for the versions since 1.12.2.

    python tools/java_witnesses/botcraft.py CHECKOUT

writes `botcraft.txt`: `docs/protocol-tables.md` describes it. It needs `cpp`, which decides what a version has.
"""

import re
import subprocess
import sys
from pathlib import Path

from layout import Failure, Group, Leaf, Named, Switch, named_apart, written

DATA = Path(__file__).parents[2] / "crates/protocol/src/schema/tests/witnesses/data"
VERSIONS = [
    340, 393, 401, 404, 477, 480, 490, 498, 573, 575, 578, 735, 736, 751, 753, 754, 755, 756, 757, 758, 759, 760, 761,
    762, 763, 764, 765, 766, 767, 768, 769, 770, 771, 772, 773, 774, 775, 776,
]
WIRES = {
    "VarInt": "varint", "VarLong": "varlong", "bool": "bool", "char": "x8", "unsigned char": "x8", "short": "x16",
    "unsigned short": "x16", "int": "i32", "unsigned int": "x32", "long long int": "i64", "unsigned long long int": "x64",
    "float": "f32", "double": "f64", "std::string": "string", "Identifier": "string", "UUID": "uuid", "LpVec3": "lpvec3",
}
# Classes with a name that older versions lack.
RENAMED = {"DataComponentTypeIdentifier": "DataComponentTypeResourceLocation"}
STATES = {"Handshaking": "handshaking", "Status": "status", "Login": "login", "Configuration": "configuration",
          "Play": "play"}
# Packets of which the library knows less than the tables, by the versions from and to.
LEFT_OUT = {
    "chat_command": [(759, 759, "has no salt"), (761, 765, "reads a signature with a length")],
    "cookie_response": [(766, 776, "takes the payload's length for a part of it")],
    "cookie_response_configuration": [(766, 776, "takes the payload's length for a part of it")],
    "cookie_response_login": [(766, 776, "takes the payload's length for a part of it")],
    "store_cookie": [(766, 776, "takes the payload's length for a part of it")],
    "store_cookie_configuration": [(766, 776, "takes the payload's length for a part of it")],
    "custom_click_action": [(771, 776, "has no length of the data")],
    "custom_click_action_configuration": [(771, 776, "has no length of the data")],
    "login": [(735, 736, "has one name for two: the kind of the dimension and the world")],
    "respawn": [(735, 736, "has one name for two: the kind of the dimension and the world")],
    "resource_pack_pop_configuration": [(765, 776, "has no flag before the UUID, as in the game's state")],
    "update_recipes": [(393, 765, "chooses the data of a recipe by the name of its kind")],
    "spectator_action": [(776, 776, "has a flag and a number; ViaVersion and MCProtocolLib one number")],
}
FIELD = re.compile(r"(SERIALIZED_FIELD(?:_WITHOUT_GETTER_SETTER)?|DEFINE_CONDITION)\s*\(\s*(\w+)\s*,")
CLASS = re.compile(r"\b(?:class|struct)\s+(\w+)\s*(?:final\s*)?(?::[^{;]*)?\{")


class Type:
    """A C++ type: a name and the arguments of a template."""

    def __init__(self, name, arguments):
        self.name, self.arguments = name, arguments


def parse_type(text):
    text = text.strip()
    if not text.endswith(">"):
        return Type(text, [])
    name, rest = text.split("<", 1)
    return Type(name.strip(), [parse_type(part) for part in split(rest[:-1])])


def split(text, separator=","):
    """Splits at commas outside brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "<({") - (char in ">)}")
        if char == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def braces(text, start, pair="{}"):
    """What is between the bracket at `start` and the one that closes it."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == pair[0]) - (text[at] == pair[1])
        if depth == 0:
            return text[start + 1:at]
    raise Failure("a bracket is not closed")


class Version:
    """What one version has."""

    def __init__(self, sources, version):
        self.version = version
        command = ["cpp", "-P", "-w", "-undef", f"-DPROTOCOL_VERSION={version}", "-"]
        text = subprocess.run(command, input=sources, capture_output=True, text=True, check=True).stdout
        self.text = re.sub(r"\s+", " ", text)
        self.classes, self.enums = {}, {}
        for match in CLASS.finditer(self.text):
            self.classes.setdefault(match[1], braces(self.text, match.end() - 1))
        for match in re.finditer(r"\benum class (\w+)[^{;]*\{([^}]*)\}", self.text):
            self.enums[match[1]] = numbers(match[2])
        self.around, self.found, self.actions = [], {}, None
        self.recursive = {"Slot", "ItemStackTemplate", "Particle", "SlotDisplay", "Component"} if version >= 766 else set()

    def packets(self):
        """State, direction, id and class of each packet."""
        for match in re.finditer(r"using All(Clientbound|Serverbound)(\w+?)Packets = std::tuple<([^;]*)>;", self.text):
            for number, name in enumerate(split(match[3])):
                if name:
                    yield STATES[match[2]], match[1].lower(), number, name

    def layout(self, name):
        """The layout of a packet and those with names in it."""
        self.around, self.found = [], {}
        nodes = self.fields(name)
        layouts = {}
        while len(layouts) < len(self.found):
            for key, inner in list(self.found.items()):
                layouts.setdefault(key, written(inner))
        return written(nodes), layouts

    def reference(self, name):
        name = name if name in self.classes else RENAMED.get(name, name)
        if name in self.around:
            self.recursive.add(name)
        if name in self.recursive:
            if name not in self.found:
                self.found[name] = []
                around, self.around = self.around, []
                self.found[name] = self.fields(name)
                self.around = around
            return [Named(name)]
        nodes = self.fields(name)
        return self.reference(name) if name in self.recursive else nodes

    def fields(self, name):
        """The layout of a class."""
        special = getattr(self, f"read_{name}", None)
        if special is None and name not in self.classes:
            raise Failure(f"no class {name}")
        self.around.append(name)
        nodes = special() if special else self.declared(name, self.classes[name])
        self.around.pop()
        return nodes

    def declared(self, name, body):
        if "DECLARE_READ_WRITE_SERIALIZE" not in body and "DECLARE_EMPTY" not in body:
            raise Failure(f"{name} reads itself")
        conditions, values, nodes = {}, {}, []
        for match in FIELD.finditer(body):
            inside = braces(body, match.end(1) + body[match.end(1):].index("("), "()")
            inside = inside.split(",", 1)[1]
            if match[1] == "DEFINE_CONDITION":
                conditions[match[2]] = inside.strip()
                continue
            of = parse_type(inside)
            if of.name == "std::shared_ptr":
                nodes.extend(self.chosen(name, values))
                continue
            condition = None
            if of.name == "Internal::Conditioned":
                condition = conditions[of.arguments[1].name.split("::")[-1]]
                of = of.arguments[0]
            part = self.type(of, f"{name}.{match[2]}")
            if len(part) == 1 and isinstance(part[0], Leaf) and condition is None:
                values[match[2].rstrip("_")] = (part[0].variable, of.name.startswith("unsigned "))
            nodes.extend(part if condition is None else self.conditioned(condition, part, values))
        return nodes

    def conditioned(self, condition, part, values):
        cases, on = {}, None
        for one in condition.split("||"):
            match = re.fullmatch(r"(!?)Get(\w+)\(\)\s*(==|!=|>|&)?\s*(.*)", one.strip())
            if not match:
                raise Failure(f"a condition of an unknown form: {one}")
            no, field, operator, constant = match.groups()
            if constant == "nullptr":
                return part
            if field not in values:
                raise Failure(f"a condition on {field}")
            variable, unsigned = values[field]
            mask = int(constant, 0) if operator == "&" else None
            if on not in (None, (variable, mask)):
                raise Failure("a condition on two values")
            on = (variable, mask)
            key = self.constant(constant) if constant and operator != "&" else None
            if operator == "&" or operator is None:
                cases.update({0: part, "else": []} if no else {1: part, "else": []})
            elif operator == "==":
                cases.update({key: part, "else": []})
            elif operator == "!=":
                cases.update({key: [], "else": part})
            elif key == 0:
                cases.update({0: [], "else": part} if unsigned else {0: [], "negative": [], "else": part})
            else:
                raise Failure(f"a condition of an unknown form: {one}")
        return [Switch(*on, cases)]

    def constant(self, text):
        if text.startswith('"'):
            return text.strip('"')
        if "::" in text:
            enum, name = text.split("::")[-2:]
            return self.enums[enum][name]
        return int(text, 0)

    def chosen(self, name, values):
        """What the method that creates the data of a class chooses."""
        match = re.search(rf"\b{name}& {name}::Set\w*\(const [^)]*\) \{{", self.text)
        if not match or not values:
            raise Failure(f"{name} has data of an unknown form")
        (variable, _), = list(values.values())[-1:]
        return [self.cases(braces(self.text, match.end() - 1), variable)]

    def cases(self, body, variable):
        """A switch by a number whose cases create objects."""
        cases, keys = {"else": [Leaf("never")]}, []
        for match in re.finditer(r"case ([\w:]+)\s*:|(default)\s*:|make_shared<\s*([\w:]+)\s*>|nullptr;|throw ", body):
            if match[1]:
                keys.append(self.constant(match[1]))
            elif match[2]:
                keys.append("else")
            elif keys:
                if match[3]:
                    part = self.reference(match[3].split("::")[-1])
                elif match[0] == "nullptr;" and keys != ["else"]:
                    part = []
                else:
                    keys = []
                    continue
                cases.update(dict.fromkeys(keys, part))
                keys = []
        return Switch(variable, None, cases)

    def type(self, of, place):
        name, arguments = of.name, of.arguments
        if name in WIRES:
            return [Leaf(WIRES[name])]
        def each(index):
            return self.type(arguments[index], place)
        if name == "std::vector":
            return [Group("[", [each(0)], "varint")]
        if name == "std::optional":
            return [Group("?", [each(0)])]
        if name == "std::array":
            return [Group("[", [each(0)], int(arguments[1].name, 0))]
        if name == "std::map":
            return [Group("[", [each(0) + each(1)], "varint")]
        if name == "std::pair":
            return each(0) + each(1)
        if name == "std::bitset":
            size = (int(arguments[0].name, 0) + 7) // 8
            return [Leaf("x8")] if size == 1 else [Group("[", [[Leaf("x8")]], size)]
        if name == "Internal::Vector":
            size = int(arguments[2].name) if len(arguments) > 2 else None
            if arguments[1].name != "void":
                return [Group("[", [each(0)], WIRES[arguments[1].name])]
            if place.endswith(("Metadata", "PackedItems")):
                raise Failure("metadata is not read")
            return [Group("[", [each(0)], size)] if size else [Leaf("rest")]
        if name == "Internal::DiffType":
            return each(1)
        if name == "Internal::RecursiveWrapper":
            return each(0)
        if name == "Internal::CustomType":
            special = getattr(self, "custom_" + place.replace(".", "_"), None)
            if special is None:
                raise Failure(f"{place} has a method of its own")
            return special()
        if name == "Holder":
            return [Group("holder", [each(0)])]
        if name == "HolderSet":
            return [Group("set", [[Leaf("string")], [Leaf("varint")]])]
        if name == "Either":
            left = Leaf("bool")
            return [left, Switch(left.variable, None, {1: each(0), "else": each(1)})]
        if name == "Filterable":
            return [*each(0), Group("?", [each(0)])]
        if name.startswith("NBT::"):
            return [Leaf("nbt" if self.version >= 764 else "named_nbt")]
        if name == "Chat":
            return [Leaf("nbt" if self.version >= 765 else "string")]
        if name == "NetworkPosition":
            return [Leaf("position" if self.version >= 477 else "old_position")]
        if arguments:
            raise Failure(f"a type of an unknown form: {name}")
        if name in self.enums:
            return [Leaf("varint")]
        return self.reference(name.split("::")[-1])

    def read_Particle(self):
        if self.version < 765:
            raise Failure("a particle of another form")
        kind = Leaf("varint")
        match = re.search(r"Particle& Particle::SetParticleType\([^)]*\) \{", self.text)
        return [kind, self.cases(braces(self.text, match.end() - 1), kind.variable)]

    def read_DataComponentPatch(self):
        added, removed = Leaf("varint"), Leaf("varint")
        return [added, removed, Group("[", [self.reference("Component")], added.variable), Group("[", [[Leaf("varint")]], removed.variable)]

    def read_DataComponentPredicate(self):
        return [Group("[", [self.reference("Component")], "varint")]

    def read_LengthPrefixedDataComponentPatch(self):
        added, removed = Leaf("varint"), Leaf("varint")
        # The length in front of each component makes its data bytes.
        data = Group("[", [[Leaf("x8")]], "varint")
        parts = [Group("[", [[Leaf("varint"), data]], added.variable), Group("[", [[Leaf("varint")]], removed.variable)]
        return [added, removed, *parts]

    def read_Component(self):
        return self.made_by("CreateComponentType")

    def read_DebugSubscriptionUpdate(self):
        kind, choice = self.made_by("DebugSubscriptionDataFactory")
        return [kind, Group("?", [[choice]])]

    def read_DebugSubscriptionEvent(self):
        return self.made_by("DebugSubscriptionDataFactory")

    def made_by(self, function):
        """A number and what a function creates for it."""
        kind = Leaf("varint")
        return [kind, self.cases(self.function(function), kind.variable)]

    def function(self, name):
        match = re.search(rf"std::shared_ptr<\w+> (?:\w+::)?{name}\([^)]*\) \{{", self.text)
        return braces(self.text, match.end() - 1)

    def read_VibrationParticleOption(self):
        if self.version < 765:
            raise Failure("a vibration of another form")
        kind = Leaf("varint")
        cases = {0: self.reference("BlockPositionSource"), 1: self.reference("EntityPositionSource"), "else": [Leaf("never")]}
        return [kind, Switch(kind.variable, None, cases), Leaf("varint")]

    def read_CommandNode(self):
        flags = Leaf("x8")
        if self.version < 759:
            parser, body = Leaf("string"), self.function("CreateProperties")
            cases = {"else": []}
            for name, made in re.findall(r'== "([\w:]+)" ?\) \{ return std::make_shared<(\w+)>', body):
                cases[name] = self.reference(made)
            properties = [parser, Switch(parser.variable, None, cases)]
        else:
            properties = self.made_by("CreateProperties")
        suggestions = Switch(flags.variable, 16, {1: [Leaf("string")], "else": []})
        node = {1: [Leaf("string")], 2: [Leaf("string"), *properties, suggestions], "else": []}
        redirect = Switch(flags.variable, 8, {1: [Leaf("varint")], "else": []})
        return [flags, Group("[", [[Leaf("varint")]], "varint"), redirect, Switch(flags.variable, 3, node)]

    @staticmethod
    def custom_ClientboundAwardStatsPacket_Stats():
        return [Group("[", [[Leaf("varint"), Leaf("varint"), Leaf("varint")]], "varint")]

    def custom_ClientboundPlayerInfoUpdatePacket_Actions(self):
        self.actions = Leaf("x8")
        return [self.actions]

    def custom_ClientboundPlayerInfoUpdatePacket_Entries(self):
        """A UUID, and what each action adds, in the order of the actions."""
        body, added = self.classes["ClientboundPlayerInfoUpdatePacket"], {}
        for name, case in re.findall(r"case PlayerInfoUpdateAction::(\w+): (.*?)break;", body):
            added.setdefault(name, [of for it in re.finditer(r"ReadData<", case)
                                    for of in self.type(parse_type(braces(case, it.end() - 1, "<>")), name)])
        nodes = [Leaf("uuid")]
        for name, number in self.enums["PlayerInfoUpdateAction"].items():
            if not name.startswith("NUM_"):
                nodes.append(Switch(self.actions.variable, 1 << number, {1: added[name], "else": []}))
        return [Group("[", [nodes], "varint")]

    def custom_MobEffectInstanceDetails_HiddenEffect(self):
        return [Group("?", [self.reference("MobEffectInstanceDetails")])]

    def custom_ClientboundSetEquipmentPacket_Slots(self):
        return [Group("topbit", [[Leaf("x8"), *self.reference("Slot")]])]

    def custom_ClientboundExplodePacket_ToBlow(self):
        return [Group("[", [[Leaf("x8"), Leaf("x8"), Leaf("x8")]], "i32" if self.version < 755 else "varint")]

    def custom_RecipeBookSettings_States(self):
        return [Leaf("bool") for _ in range(8)]

    @staticmethod
    def nothing():
        return []

    custom_ClientboundCustomPayloadPacket_ParsedData = custom_ServerboundCustomPayloadPacket_ParsedData = nothing
    custom_ClientboundCustomPayloadConfigurationPacket_ParsedData = nothing
    custom_ServerboundCustomPayloadConfigurationPacket_ParsedData = nothing


def git(repository, *arguments):
    return subprocess.run(["git", "-C", repository, *arguments], capture_output=True, check=True, text=True).stdout


def numbers(body):
    """The constants of an enumeration."""
    values, last = {}, -1
    for part in filter(None, split(body)):
        name, _, value = (it.strip() for it in part.partition("="))
        last = int(value, 0) if value else last + 1
        values[name] = last
    return values


def snake(name):
    name = re.sub(r"^(Clientbound|Serverbound)|Packet$", "", name)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def runs(values):
    """`340-401:0x1f,404:0x20`: versions that follow each other with the same value."""
    done = []
    for index, version in enumerate(VERSIONS):
        if version not in values:
            continue
        if done and done[-1][2] == values[version] and done[-1][3] == index - 1:
            done[-1][1], done[-1][3] = version, index
        else:
            done.append([version, version, values[version], index])
    return done


def ranges(values):
    return ",".join(f"{first}-{last}:0x{value:02x}" if first != last else f"{first}:0x{value:02x}"
                    for first, last, value, _ in runs(values))


def main(checkout):
    commit = git(checkout, "rev-parse", "HEAD").strip()
    folder = "protocolCraft"
    names = git(checkout, "ls-tree", "-r", "--name-only", "HEAD", "--", folder).split("\n")
    sources = "".join(
        "\n".join(line for line in git(checkout, "show", f"HEAD:{name}").split("\n")
                  if not re.match(r"\s*#\s*(include|pragma|define)|.*\\$", line)) + "\n"
        for name in names if name.endswith((".hpp", ".cpp")) and "/Utilities/" not in name)
    packets, types, missing = {}, {}, {}
    for version in VERSIONS:
        it = Version(sources, version)
        named = {}
        for state, direction, number, name in list(it.packets()):
            place = (state, direction, snake(name))
            try:
                for first, last, why in LEFT_OUT.get(place[2], []):
                    if first <= version <= last:
                        raise Failure(why)
                layout, found = it.layout(name)
                layout = named_apart(named, found, layout)
            except Failure as failure:
                missing.setdefault((*place, str(failure)), []).append(version)
                continue
            packets.setdefault((*place, layout), {})[version] = number
        for name, layout in named.items():
            types.setdefault((name, layout), {})[version] = 0
    lines = ["# Imported by tools/java_witnesses/botcraft.py.", "versions " + " ".join(map(str, VERSIONS)),
             f"source botcraft adepierre/Botcraft@{commit}:{folder}", ""]
    for (name, layout), versions in sorted(types.items()):
        lines.append(f"type {re.sub(r':0x00', '', ranges(versions))} {name} = {layout}".rstrip())
    lines.append("")
    for (state, direction, name, layout), versions in sorted(packets.items(), key=lambda it: it[0]):
        lines.append(f"{state} {direction} {ranges(versions)} {name} botcraft = {layout}")
    for (state, direction, name, why), versions in sorted(missing.items()):
        lines.append(f"# Left out: {re.sub(r':0x00', '', ranges(dict.fromkeys(versions, 0)))} {state} {direction} {name}: {why}")
    (DATA / "botcraft.txt").write_text("\n".join(lines) + "\n")
    print(len(packets), "layouts", sum(map(len, packets.values())), "packets;", sum(map(len, missing.values())), "left out")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
