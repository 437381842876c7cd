use serde_json::{Map, Value as Json};

use super::channels::{CHANNELS, add_channels, built_in_channels};
use super::compile::Compiler;
use super::decode::ValueVisitor;
use super::encode::Encode;
use super::number::parse_int;
use super::outline::Outline;
use super::packet_places::PacketPlaces;
use super::partial::object;
use super::registry::{OwnRegistries, REGISTRIES};
use super::stop::Stop;
use super::types::{Count, Type, TypeId};
use super::walk::{FREE_FIELDS, Walk};
use super::{
    Catalog, DecodeCause, DecodeError, Description, Direction, EncodeError, Family, Measure, Name,
    PacketType, PerDirection, Release, Role, SchemaError, State, Value, Visitor,
};
use crate::wire::{Reader, VarInt, write_varint};

/// The compiled description of one protocol version: packet ids, names and layouts.
#[derive(Debug)]
pub struct Protocol {
    release: Release,
    name: String,
    /// `None` if it is built in.
    description: Option<Description>,
    ids: Ids,
    pub(crate) types: Vec<Type>,
    /// Lower bound of each type's size in bytes, against which counts are checked.
    sizes: Vec<u32>,
    packets: Vec<PacketType>,
    /// The layouts of payloads. Of those of one channel, the first that fits applies.
    channels: Vec<PacketType>,
    /// The outlines of the packets that have one, by place.
    outlines: Vec<Option<Outline>>,
    /// The names of numbers that the description has itself.
    registries: Option<&'static OwnRegistries>,
    /// The places of packets, indexed by state.
    places: [PerDirection<PacketPlaces>; State::ALL.len()],
}

/// The encoding of packet ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ids {
    VarInt,
    Byte,
}

impl Protocol {
    /// Compiles a ProtoDef description: an object with `types`, and for each state `toClient` and
    /// `toServer` with a type `packet` that maps ids to names and names to types.
    ///
    /// `version` is the protocol number (47), `name` the game version (`1.8`).
    ///
    /// # Errors
    /// [`SchemaError`] with the place in the description.
    pub fn from_json(version: i32, name: &str, description: &Json) -> Result<Self, SchemaError> {
        let protocol = Self::built_in(version, name, description)?;
        Ok(Self { description: Some(Description::new(description)), ..protocol })
    }

    /// Compiles a description that every copy of the program contains.
    pub(super) fn built_in(
        version: i32,
        name: &str,
        description: &Json,
    ) -> Result<Self, SchemaError> {
        check_outline(description)?;
        let none = Map::new();
        let global = description.get("types").and_then(Json::as_object).unwrap_or(&none);
        let mut compiler = Compiler::new(description, global);
        built_in_channels().iter().for_each(|built_in| compiler.collect_symbols(built_in));
        let mut packets = Vec::new();
        let mut ids = Ids::VarInt;
        for state in State::ALL {
            for direction in Direction::ALL {
                let side = direction.side();
                let types = &description[state.name()][side]["types"];
                let Some(local) = types.as_object() else { continue };
                compiler.enter(format!("{state}.{side}.types"), local);
                ids = collect(&mut compiler, state, direction, types, &mut packets)?;
            }
        }
        let mut channels = Vec::new();
        add_channels(&mut compiler, description, &mut channels)?;
        if packets.iter().any(|packet| packet.role == Some(Role::PluginMessage)) {
            for built_in in built_in_channels() {
                add_channels(&mut compiler, built_in, &mut channels)?;
            }
        }
        let types = compiler.finish()?;
        let sizes = smallest(&types);
        check_packets(&packets, &channels, &types, &sizes)?;
        let outlines = packets.iter().map(|packet| Outline::of(&types, packet.ty)).collect();
        let mut places: [PerDirection<PacketPlaces>; State::ALL.len()] = Default::default();
        for packet in &packets {
            places[packet.state as usize][packet.direction].insert(packet);
        }
        let (release, name) = (Release::new(Family::Java, version), name.to_owned());
        let registries = description.get(REGISTRIES).map(OwnRegistries::read).transpose()?;
        let description = None;
        Ok(Self {
            release,
            name,
            description,
            ids,
            types,
            sizes,
            packets,
            channels,
            outlines,
            registries,
            places,
        })
    }

    /// Returns the protocol number, for example 47, as packets and captures have it. Which version comes before
    /// which, only its [`release`](Self::release) tells.
    #[must_use]
    pub fn version(&self) -> i32 {
        self.release.number()
    }

    /// Returns the version's place in the history of the game.
    #[must_use]
    pub fn release(&self) -> Release {
        self.release
    }

    /// Returns the game version, for example `1.8`: the oldest of those with the protocol.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the newest game version with the protocol, for example `1.8.9`, by which people are told of it. A
    /// protocol that is not built in has one name.
    #[must_use]
    pub fn newest_name(&self) -> &str {
        let mut versions = Catalog::embedded().versions();
        let names = versions.find(|(number, _)| *number == self.version()).map(|(_, names)| names);
        let names = names.filter(|names| names.iter().any(|name| **name == *self.name));
        let newest = names.filter(|_| self.family() == Family::Java).and_then(<[Name]>::last);
        newest.map_or(&self.name, |name| name)
    }

    /// Returns the family, within which [`version`](Self::version) is unique.
    #[must_use]
    pub fn family(&self) -> Family {
        self.release.family()
    }

    /// Returns the source of a protocol that is not built in; `None` for one that is.
    #[must_use]
    pub fn description(&self) -> Option<&Description> {
        self.description.as_ref()
    }

    /// Returns the protocol as a member of another family.
    pub(super) fn in_family(self, family: Family) -> Self {
        Self { release: Release::new(family, self.version()), ..self }
    }

    /// Returns all packets, by state, direction and place in the description.
    #[must_use]
    pub fn packets(&self) -> &[PacketType] {
        &self.packets
    }

    /// Returns the index of a packet in [`packets`](Self::packets).
    #[must_use]
    pub fn place(&self, packet: &PacketType) -> u16 {
        packet.place
    }

    /// Returns the packet with this id.
    #[must_use]
    #[inline]
    pub fn packet(&self, state: State, direction: Direction, id: i32) -> Option<&PacketType> {
        let place = self.places[state as usize][direction].by_id(id)?;
        Some(&self.packets[usize::from(place)])
    }

    /// Returns the packet with this name.
    #[must_use]
    pub fn named(&self, state: State, direction: Direction, name: &str) -> Option<&PacketType> {
        let place = self.places[state as usize][direction].by_name(name)?;
        Some(&self.packets[usize::from(place)])
    }

    /// Returns the first packet that has `role` in this state and direction.
    #[must_use]
    pub fn role(&self, state: State, direction: Direction, role: Role) -> Option<&PacketType> {
        self.packets.iter().find(|packet| {
            packet.state == state && packet.direction == direction && packet.role == Some(role)
        })
    }

    /// Changes the states of both directions as a packet with `role` does.
    pub fn follow(&self, role: Role, direction: Direction, states: &mut PerDirection<State>) {
        if let Some(next) = role.next_state() {
            states[direction] = next;
        } else if role == Role::LoginSuccess {
            let acknowledged = Role::LoginAcknowledged;
            if self.role(State::Login, Direction::Serverbound, acknowledged).is_some() {
                states.clientbound = State::Configuration;
            } else {
                *states = PerDirection::new(State::Play, State::Play);
            }
        }
    }

    /// Reads the packet id of a body. Returns the packet and the offset of its first field.
    ///
    /// # Errors
    /// [`DecodeError`] if the body is empty, or its id is invalid or unknown in this state and
    /// direction.
    // A tenth of what an unrecorded packet takes is the call.
    #[inline(always)]
    pub fn identify(
        &self,
        state: State,
        direction: Direction,
        body: &[u8],
    ) -> Result<(&PacketType, usize), DecodeError> {
        let read = match self.ids {
            Ids::VarInt => VarInt::read(body).ok().map(|id| (id.value, id.length)),
            Ids::Byte => body.first().map(|&id| (id.into(), 1)),
        };
        match read.and_then(|(id, length)| Some((self.packet(state, direction, id)?, length))) {
            Some(found) => Ok(found),
            None => Err(self.unidentified(state, direction, body)),
        }
    }

    /// Returns why no packet has the id of `body`.
    #[cold]
    fn unidentified(&self, state: State, direction: Direction, body: &[u8]) -> DecodeError {
        let id = match self.ids {
            _ if body.is_empty() => Err(DecodeCause::Empty),
            Ids::VarInt => VarInt::read(body).map(|id| id.value).map_err(DecodeCause::from),
            Ids::Byte => Ok(body[0].into()),
        };
        let unknown = |id| DecodeCause::UnknownId { id, state, direction };
        DecodeError::new(0, id.map_or_else(|cause| cause, unknown))
    }

    /// Reports the fields of a packet to `visitor`, reading `body` from offset `start` (after the
    /// id). Returns the offset after the last field, or `start` if the visitor stopped the walk.
    /// Bytes after the last field are an error.
    ///
    /// # Errors
    /// [`DecodeError`] with the field and its offset; the visitor has seen everything before it.
    pub fn walk(
        &self,
        packet: &PacketType,
        body: &[u8],
        start: usize,
        visitor: &mut (impl Visitor + ?Sized),
    ) -> Result<usize, DecodeError> {
        let Some(end) = self.run(packet, body, start, visitor)? else { return Ok(start) };
        if end < body.len() {
            return Err(DecodeError::new(end, DecodeCause::Trailing(body.len() - end)));
        }
        Ok(end)
    }

    /// Reports the fields of a packet as [`walk`](Self::walk) does. It is compiled once for all visitors, so
    /// that each call of a method is indirect: for visitors whose speed does not matter.
    ///
    /// # Errors
    /// [`DecodeError`], as for [`walk`](Self::walk).
    pub fn walk_dyn(
        &self,
        packet: &PacketType,
        body: &[u8],
        start: usize,
        visitor: &mut dyn Visitor,
    ) -> Result<usize, DecodeError> {
        self.walk(packet, body, start, visitor)
    }

    /// Returns `true` if the body of a packet, whose fields begin at offset `start`, decodes to its last
    /// byte. `false` means that only [`walk`](Self::walk) can tell.
    #[must_use]
    pub fn fits(&self, packet: &PacketType, body: &[u8], start: usize) -> bool {
        let place = usize::from(packet.place);
        // Layouts of payloads have places of their own.
        let is_packet = self.packets.get(place).is_some_and(|it| std::ptr::eq(it, packet));
        let outline = self.outlines.get(place).and_then(Option::as_ref).filter(|_| is_packet);
        let fields = body.get(start..);
        outline.zip(fields).is_some_and(|(outline, fields)| outline.fits(fields))
    }

    /// Returns the end of an unframed packet whose fields begin at offset `start` of `bytes`.
    ///
    /// # Errors
    /// [`DecodeError`]; if its cause is
    /// [`WireError::Incomplete`](crate::wire::WireError::Incomplete), more bytes are needed.
    pub fn measure(
        &self,
        packet: &PacketType,
        bytes: &[u8],
        start: usize,
    ) -> Result<usize, DecodeError> {
        let mut visitor = Measure;
        let walk = Walk::new(&self.types, &self.sizes, Reader::at(bytes, start), &mut visitor);
        match walk.in_stream().run(packet.ty) {
            Ok(end) => Ok(end),
            Err(Stop::Done) => Ok(start),
            Err(Stop::Fault(fault) | Stop::Unknown(fault, _)) => Err(*fault),
        }
    }

    /// Decodes the fields of a body from offset `start` (after the id).
    ///
    /// # Errors
    /// [`DecodeError`] with the field and its offset.
    pub fn decode(
        &self,
        packet: &PacketType,
        body: &[u8],
        start: usize,
    ) -> Result<Value, DecodeError> {
        let mut visitor = ValueVisitor::default();
        self.walk(packet, body, start, &mut visitor)?;
        Ok(visitor.finish())
    }

    /// Decodes the fields of a body as [`decode`](Self::decode) does, but for lists of single bytes, which
    /// become [`Value::Bytes`]: the light of a chunk is 100,000 numbers.
    pub(crate) fn decode_packed(
        &self,
        packet: &PacketType,
        body: &[u8],
        start: usize,
    ) -> Result<Value, DecodeError> {
        let mut visitor = ValueVisitor::packing();
        self.walk(packet, body, start, &mut visitor)?;
        Ok(visitor.finish())
    }

    /// Encodes a body: the packet id and the fields of `value`, a [`Value::Map`].
    ///
    /// # Errors
    /// [`EncodeError`] with the field that is missing, unknown or out of range.
    pub fn encode(&self, packet: &PacketType, value: &Value) -> Result<Vec<u8>, EncodeError> {
        let mut body = Vec::new();
        match self.ids {
            Ids::VarInt => write_varint(&mut body, packet.id),
            // Checked when the description was compiled.
            Ids::Byte => body.push(packet.id as u8),
        }
        self.write(packet, value, &mut body)?;
        Ok(body)
    }

    /// Returns the layouts of the payloads of plugin channels. Each has the name of its channel, the
    /// state login or play, and no id.
    #[must_use]
    pub fn channels(&self) -> &[PacketType] {
        &self.channels
    }

    /// Returns the names of numbers that the description has itself; `None` for one without.
    pub(crate) fn own_registries(&self) -> Option<&'static OwnRegistries> {
        self.registries
    }

    /// Returns a lower bound of the size of a type, in bytes.
    pub(crate) fn smallest(&self, id: TypeId) -> u32 {
        self.sizes[id.0 as usize]
    }

    /// Appends the fields of a packet or payload to `out`.
    pub(super) fn write(
        &self,
        packet: &PacketType,
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        Encode::new(&self.types, out).run(packet.ty, value)
    }

    pub(super) fn run(
        &self,
        packet: &PacketType,
        body: &[u8],
        start: usize,
        visitor: &mut (impl Visitor + ?Sized),
    ) -> Result<Option<usize>, DecodeError> {
        let reader = Reader::at(body, start);
        match Walk::new(&self.types, &self.sizes, reader, visitor).run(packet.ty) {
            Ok(end) => Ok(Some(end)),
            Err(Stop::Done) => Ok(None),
            Err(Stop::Fault(fault) | Stop::Unknown(fault, _)) => Err(*fault),
        }
    }
}

/// Checks the outermost levels of a description: states, directions, types.
fn check_outline(description: &Json) -> Result<(), SchemaError> {
    let parts = |at: &str, json: &Json, known: &[&str]| {
        let is_known = |key: &str| known.contains(&key);
        // A text beside the parts is a remark.
        let mut parts = object(at, json)?.iter();
        let Some((key, _)) = parts.find(|(key, part)| !is_known(key) && !part.is_string()) else {
            return Ok(());
        };
        let cause = format!("unknown key `{key}`, not one of {}", known.join(", "));
        Err(SchemaError { at: at.to_owned(), cause })
    };
    let states = State::ALL.map(State::name);
    let sides = Direction::ALL.map(Direction::side);
    parts(
        SchemaError::TOP,
        description,
        &[&["types", CHANNELS, REGISTRIES], &states[..]].concat(),
    )?;
    for (key, part) in description.as_object().into_iter().flatten() {
        match key.as_str() {
            "types" | CHANNELS | REGISTRIES => {
                object(key, part)?;
            }
            key if states.contains(&key) => parts(key, part, &sides)?,
            _ => continue,
        }
        for side in sides {
            let Some(part) = part.get(side).filter(|_| states.contains(&key.as_str())) else {
                continue;
            };
            let at = format!("{key}.{side}");
            parts(&at, part, &["types"])?;
            object(&format!("{at}.types"), &part["types"])?;
        }
    }
    Ok(())
}

/// Checks that there are packets, and that each packet and payload can be read in reasonable time.
fn check_packets(
    packets: &[PacketType],
    channels: &[PacketType],
    types: &[Type],
    sizes: &[u32],
) -> Result<(), SchemaError> {
    if packets.is_empty() || packets.len() > usize::from(u16::MAX) {
        let cause = match packets.len() {
            0 => "no packets: expected states with `toClient` or `toServer`".to_owned(),
            count => format!("{count} packets: at most {} are possible", u16::MAX),
        };
        return Err(SchemaError { at: SchemaError::TOP.into(), cause });
    }
    let fewest = fewest_fields(types, sizes);
    let endless = |packet: &&PacketType| fewest[packet.ty.0 as usize] > FREE_FIELDS;
    let place = |packet: &PacketType| {
        format!("{}.{}.types.{}", packet.state, packet.direction.side(), packet.name)
    };
    let channel = |channel: &PacketType| format!("{CHANNELS}.{}", channel.name);
    let at = packets.iter().find(endless).map(place);
    let at = at.or_else(|| channels.iter().find(endless).map(channel));
    let cause = || format!("always has more than {FREE_FIELDS} fields");
    at.map_or(Ok(()), |at| Err(SchemaError { at, cause: cause() }))
}

/// Computes how many fields of containers a value of each type has at least; a type that is nested
/// in itself without end has more than [`FREE_FIELDS`].
fn fewest_fields(types: &[Type], sizes: &[u32]) -> Vec<usize> {
    const ENDLESS: usize = FREE_FIELDS + 1;
    let mut fewest = vec![ENDLESS; types.len()];
    loop {
        let mut changed = false;
        // Most definitions stand after those that they use.
        for place in 0..types.len() {
            let of = |id: &TypeId| fewest[id.0 as usize];
            let count = match &types[place] {
                Type::Container(fields) => {
                    fields.iter().fold(0, |sum: usize, field| sum.saturating_add(1 + of(&field.ty)))
                }
                Type::Switch(switch) => switch.cases().map(|case| of(&case)).min().unwrap_or(0),
                Type::Array { count: Count::Fixed(count), element } => {
                    let empty = usize::from(sizes[element.0 as usize] == 0);
                    count.saturating_mul(of(element).max(empty))
                }
                Type::IfMore { some, otherwise: Some(otherwise), .. } => {
                    of(some).min(of(otherwise))
                }
                Type::TopBit(element) => of(element),
                _ => 0,
            };
            let count = count.min(ENDLESS);
            changed |= count != fewest[place];
            fewest[place] = count;
        }
        if !changed {
            return fewest;
        }
    }
}

/// Compiles the `packet` definition of one state and direction.
fn collect<'j>(
    compiler: &mut Compiler<'j>,
    state: State,
    direction: Direction,
    types: &'j Json,
    packets: &mut Vec<PacketType>,
) -> Result<Ids, SchemaError> {
    let fields = &types["packet"][1];
    let (mapper, switch) = (&fields[0]["type"][1], &fields[1]["type"][1]);
    let form = if mapper["type"] == "u8" { Ids::Byte } else { Ids::VarInt };
    let (Json::Object(ids), Json::Object(params)) = (&mapper["mappings"], &switch["fields"]) else {
        return Err(compiler.fault("`packet` must be a mapper of ids and a switch on their names"));
    };
    for (id, name) in ids {
        let number = parse_int(id).and_then(|it| i32::try_from(it).ok());
        let number = number.filter(|it| form == Ids::VarInt || u8::try_from(*it).is_ok());
        let number = number.ok_or_else(|| compiler.fault(format!("packet id `{id}`")))?;
        let name = name.as_str().ok_or_else(|| compiler.fault(format!("`{id}` has no name")))?;
        if name == LEGACY_PING && form == Ids::VarInt {
            continue;
        }
        let ty = params.get(name).ok_or_else(|| compiler.fault(format!("`{name}` has no type")))?;
        packets.push(PacketType {
            id: number,
            name: compiler.name(name),
            state,
            direction,
            role: Role::of(state, direction, name),
            ty: compiler.compile(ty)?,
            place: packets.len() as u16,
        });
    }
    Ok(form)
}

/// Computes a lower bound of the size of each type. Recursive types are followed to a few levels.
fn smallest(types: &[Type]) -> Vec<u32> {
    let mut sizes = vec![0; types.len()];
    for _ in 0..SIZE_ROUNDS {
        sizes = types.iter().map(|ty| smallest_of(ty, &sizes)).collect();
    }
    sizes
}

fn smallest_of(ty: &Type, sizes: &[u32]) -> u32 {
    let of = |id: TypeId| sizes[id.0 as usize];
    let counted = |count: &Count| match count {
        Count::Prefix(prefix) => of(*prefix),
        Count::Fixed(_) | Count::Field(_) => 0,
    };
    match ty {
        Type::Void | Type::Rest | Type::RestText | Type::RestTexts | Type::IfMore { .. } => 0,
        Type::Between(_) => 0,
        Type::Bool | Type::VarInt | Type::VarLong | Type::Option(_) | Type::Nbt { .. } => 1,
        Type::Terminated(_) | Type::Metadata { .. } | Type::Vec3 => 1,
        Type::Holder { .. } | Type::HolderSet { .. } | Type::TopBit(_) => 1,
        Type::Int(int) => u32::from(int.bytes),
        Type::F32 => 4,
        Type::F64 => 8,
        Type::Uuid => 16,
        Type::CompressedNbt { .. } => 2,
        Type::TextForms(forms) => counted(&forms.count),
        Type::Buffer(Count::Fixed(fixed)) => u32::try_from(*fixed).unwrap_or(u32::MAX),
        Type::Text { count, .. }
        | Type::Buffer(count)
        | Type::Sized { count, .. }
        | Type::Array { count, .. } => counted(count),
        Type::Container(fields) => {
            fields.iter().fold(0, |sum: u32, field| sum.saturating_add(of(field.ty)))
        }
        Type::Switch(switch) => switch.cases().map(of).min().unwrap_or(0),
        Type::Bitfield(bits) => bits.iter().map(|it| it.size).sum::<u32>() / 8,
        Type::Flags { base, .. } | Type::Mapper { base, .. } => of(*base),
        Type::CountFor { base, .. } | Type::RestLength { base } => of(*base),
    }
}

/// A packet that the tables list among the framed packets, although it is unframed.
const LEGACY_PING: &str = "legacy_server_list_ping";

/// Levels of nested types that count towards the size of a type.
const SIZE_ROUNDS: usize = 8;
