use flate2::{Compress, Compression, FlushCompress};
use mitmcraft_protocol::codec::Leg;
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};
use mitmcraft_protocol::wire::write_varint;
use serde_json::{Value as Json, json};

/// The packets that a server sends in one round, framed and compressed with [`THRESHOLD`].
#[allow(dead_code, reason = "each of the two programs uses a part")]
pub struct Traffic {
    pub name: &'static str,
    bytes: Vec<u8>,
    frames: usize,
    bodies: usize,
}

/// Body size from which frames are compressed, that of the game's servers.
pub const THRESHOLD: usize = 256;

impl Traffic {
    /// Mostly packets of 10 to 60 bytes, and one chunk in 2,000.
    pub fn play_of(frames: usize) -> Self {
        Self::new("play", frames, 2000)
    }

    /// One chunk in 20 packets, as while a player flies.
    pub fn chunks_of(frames: usize) -> Self {
        Self::new("chunks", frames, 20)
    }

    fn new(name: &'static str, frames: usize, chunk_every: usize) -> Self {
        let mut leg = Leg::default();
        leg.set_compression(Some(THRESHOLD));
        let chunk = chunk();
        let framed = framed(&chunk);
        let kinds: Vec<Vec<u8>> = (0..997).map(small).collect();
        let mut bodies = 0;
        for frame in 0..frames {
            if frame % chunk_every == chunk_every - 1 {
                bodies += chunk.len();
                leg.encoder.put(&framed);
            } else {
                let body = &kinds[frame % kinds.len()];
                bodies += body.len();
                leg.encoder.send(body);
            }
        }
        Self { name, bytes: leg.encoder.pending().to_vec(), frames, bodies }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[allow(dead_code)]
    pub fn frames(&self) -> usize {
        self.frames
    }

    #[allow(dead_code)]
    pub fn mean_body(&self) -> f64 {
        self.bodies as f64 / self.frames as f64
    }
}

/// Frames a large body as the game's servers do, whose zlib has level 6. `Leg` deflates faster, and what it
/// makes takes twice as long to inflate.
fn framed(body: &[u8]) -> Vec<u8> {
    let mut content = Vec::with_capacity(body.len());
    write_varint(&mut content, i32::try_from(body.len()).unwrap());
    let mut zlib = Compress::new(Compression::new(6), true);
    zlib.compress_vec(body, &mut content, FlushCompress::Finish).unwrap();
    let mut frame = Vec::new();
    write_varint(&mut frame, i32::try_from(content.len()).unwrap());
    frame.extend(content);
    frame
}

/// Encodes a packet of protocol 47.
pub fn body(state: State, direction: Direction, name: &str, fields: &Json) -> Vec<u8> {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let packet = protocol.named(state, direction, name).unwrap();
    protocol.encode(packet, &Value::from_json(fields)).unwrap()
}

/// A small packet of the game, by what is usual in it.
pub fn small(number: usize) -> Vec<u8> {
    let entity = 200 + number % 150;
    let delta = (number * 7 % 120) as i64 - 60;
    let (name, fields) = match number % 20 {
        0..6 => (
            "rel_entity_move",
            json!({"entityId": entity, "dX": delta, "dY": 0, "dZ": -delta, "onGround": true}),
        ),
        6..10 => (
            "entity_move_look",
            json!({"entityId": entity, "dX": delta, "dY": 1, "dZ": 3, "yaw": delta, "pitch": 0,
                "onGround": false}),
        ),
        10..12 => ("entity_head_rotation", json!({"entityId": entity, "headYaw": delta})),
        12..14 => (
            "entity_velocity",
            json!({"entityId": entity, "velocity": {"x": delta * 30, "y": -78, "z": 8}}),
        ),
        14 => (
            "entity_teleport",
            json!({"entityId": entity, "x": delta * 320, "y": 2080, "z": 4004, "yaw": 1, "pitch": 2,
                "onGround": true}),
        ),
        15 => ("update_time", json!({"age": number * 20, "time": number * 20 % 24000})),
        16 => (
            "named_sound_effect",
            json!({"soundName": "mob.zombie.step", "x": delta * 8, "y": 520, "z": 77, "volume": 0.25,
                "pitch": 63}),
        ),
        17 => {
            let message = format!("{{\"text\":\"<Steve> hello for the {number}. time\"}}");
            ("chat", json!({"message": message, "position": 0}))
        }
        18 => ("block_change", json!({"location": {"x": delta, "y": 64, "z": 9}, "type": 35})),
        _ => ("keep_alive", json!({"keepAliveId": number * 1013})),
    };
    body(State::Play, Direction::Clientbound, name, &fields)
}

/// A column of four sections: stone with some ore, air above, light.
pub fn chunk() -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 24
    };
    let mut data = Vec::new();
    for section in 0..4 {
        for _ in 0..4096 {
            let block: u16 = match (section, next()) {
                (3, 0..200) => 0,
                (_, 0..8) => 14 << 4,
                (_, 8..24) => 16 << 4,
                (_, 24..40) => 3 << 4,
                _ => 1 << 4,
            };
            data.extend_from_slice(&block.to_le_bytes());
        }
    }
    data.resize(data.len() + 4 * 2048, 0);
    data.resize(data.len() + 4 * 2048, 0xff);
    data.resize(data.len() + 256, 1);
    use base64::Engine as _;
    let data = base64::prelude::BASE64_STANDARD.encode(data);
    let fields = json!({"x": 3, "z": -7, "groundUp": true, "bitMap": 15, "chunkData": data});
    body(State::Play, Direction::Clientbound, "map_chunk", &fields)
}
