#![allow(unsafe_code)]
use std::{borrow::Cow, hint::black_box, sync::Arc};
unsafe extern "C" {
    fn clock_gettime(id: i32, ts: *mut [i64; 2]) -> i32;
}
#[derive(Clone, Copy)]
struct Instant(i64);
impl Instant {
    fn now() -> Self {
        let mut t = [0; 2];
        unsafe { clock_gettime(3, &mut t) };
        Self(t[0] * 1_000_000_000 + t[1])
    }
    fn elapsed(self) -> std::time::Duration {
        std::time::Duration::from_nanos((Self::now().0 - self.0) as u64)
    }
}
use mitmcraft::{filter::*, schema::*};
struct P {
    protocol: Arc<Protocol>,
    state: State,
    dir: Direction,
    body: bytes::Bytes,
}
impl View for P {
    fn protocol(&self) -> &Arc<Protocol> {
        &self.protocol
    }
    fn state(&self) -> State {
        self.state
    }
    fn direction(&self) -> Direction {
        self.dir
    }
    fn packet(&self) -> Option<&PacketType> {
        self.protocol.identify(self.state, self.dir, &self.body).ok().map(|it| it.0)
    }
    fn id(&self) -> Option<i32> {
        None
    }
    fn size(&self) -> usize {
        self.body.len()
    }
    fn wire(&self) -> usize {
        self.body.len()
    }
    fn time(&self) -> f64 {
        1.0
    }
    fn number(&self) -> u64 {
        1
    }
    fn origin(&self) -> &str {
        "server"
    }
    fn verdict(&self) -> &str {
        "pass"
    }
    fn error(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn body(&self) -> Option<bytes::Bytes> {
        Some(self.body.clone())
    }
    fn fields_at(&self) -> usize {
        1
    }
    fn session(&self) -> u64 {
        1
    }
    fn player(&self) -> Option<&str> {
        Some("Notch")
    }
    fn client(&self) -> Cow<'_, str> {
        "a".into()
    }
    fn server(&self) -> Cow<'_, str> {
        "b".into()
    }
}
fn main() {
    let c = Catalog::embedded();
    let protocol = c.find(47).unwrap().protocol;
    let mk = |dir, name: &str, json: &str| {
        let packet = protocol.named(State::Play, dir, name).unwrap();
        let body = protocol
            .encode(packet, &Value::from_json(&serde_json::from_str(json).unwrap()))
            .unwrap();
        P { protocol: protocol.clone(), state: State::Play, dir, body: body.into() }
    };
    use Direction::*;
    let chat = mk(Serverbound, "chat", r#"{"message":"hello everybody out there"}"#);
    let pos = mk(
        Clientbound,
        "position",
        r#"{"x":1.5,"y":64.0,"z":-3.5,"yaw":0.0,"pitch":0.0,"flags":3}"#,
    );
    let chunk = mk(
        Clientbound,
        "map_chunk",
        &format!(
            r#"{{"x":-9,"z":12,"groundUp":true,"bitMap":255,"chunkData":"{}"}}"#,
            "A".repeat(65536)
        ),
    );
    let items = mk(
        Clientbound,
        "window_items",
        &format!(
            r#"{{"windowId":0,"items":[{}]}}"#,
            vec![r#"{"blockId":1,"itemCount":64,"itemDamage":0}"#; 45].join(",")
        ),
    );
    let cases: Vec<(&str, &P)> = vec![
        ("serverbound and play", &chat),
        ("pkt.size > 40", &chunk),
        ("chat", &chunk),
        ("chat", &chat),
        ("entity_* and not entity_velocity", &chunk),
        ("pkt.id in {0x15, 0x17..0x19}", &chunk),
        ("message == \"x\"", &chunk),
        ("chat and serverbound and message == \"hello\"", &chat),
        ("message contains \"out\"", &chat),
        ("message matches \"(?i)EVERY\"", &chat),
        ("message matches \"^!\"", &chat),
        ("x == 1.5", &pos),
        ("flags == 3", &pos),
        ("x > 1 and z < 0 and flags in {1..3}", &pos),
        ("abs(z) * 2 == 7", &pos),
        ("map_chunk.x == -9", &chunk),
        ("bitMap == 255 and x == -9", &chunk),
        ("items[*].blockId == 264", &items),
        ("items[0].blockId == 1", &items),
        ("items[-1].blockId == 1", &items),
        ("len(items) == 45", &items),
        ("len(message) > 3", &chat),
        ("lower(message) contains \"out\"", &chat),
        ("text(message) contains \"out\"", &chat),
        ("session.player == \"Notch\" and message == \"x\"", &chat),
    ];
    if let Some(text) = std::env::args().nth(1) {
        let n: u32 = std::env::args().nth(3).unwrap().parse().unwrap();
        let p = match &*std::env::args().nth(2).unwrap() {
            "chat" => &chat,
            "pos" => &pos,
            "chunk" => &chunk,
            _ => &items,
        };
        if text == "walk" {
            let packet = p.packet().unwrap();
            for _ in 0..n {
                let _ = black_box(p.protocol.walk(packet, &p.body, 1, &mut Measure));
            }
            return;
        }
        let expr = Expr::parse(&text, c).unwrap().0;
        for _ in 0..n {
            black_box(black_box(&expr).matches(black_box(p)));
        }
        return;
    }
    let slopes = [
        ("message == \"w#\"", &chat),
        ("message contains \"w#\"", &chat),
        ("message matches \"w#\"", &chat),
        ("x == #", &pos),
        ("flags == 10#", &pos),
        ("flags in {10#, 2000..3000}", &pos),
        ("flags * 2 + 1 == 1#", &pos),
        ("lower(message) == \"w#\"", &chat),
        ("len(message) == 10#", &chat),
        ("text(message) == \"w#\"", &chat),
    ];
    for (text, p) in slopes {
        let time = |k: usize| {
            let text: Vec<String> =
                (0..k).map(|i| text.replace('#', &(i + 2).to_string())).collect();
            let expr = Expr::parse(&text.join(" or "), c).unwrap().0;
            (0..5)
                .map(|_| {
                    let t = Instant::now();
                    for _ in 0..100_000 {
                        assert!(!black_box(&expr).matches(black_box(p)));
                    }
                    t.elapsed().as_nanos() as f64 / 1e5
                })
                .fold(f64::MAX, f64::min)
        };
        let (one, many) = (time(1), time(51));
        println!(
            "{:8.1} ns each on decoded fields, {one:8.1} ns alone: {text}",
            (many - one) / 50.0
        );
    }
    for (text, p) in cases {
        let t0 = Instant::now();
        let expr = Expr::parse(text, c).unwrap().0;
        let parse = t0.elapsed();
        let n = 2_000_000u32;
        let mut best = f64::MAX;
        let mut hits = 0;
        for _ in 0..5 {
            let t = Instant::now();
            for _ in 0..n / 5 {
                hits += black_box(&expr).matches(black_box(p)) as u32;
            }
            best = best.min(t.elapsed().as_nanos() as f64 / f64::from(n / 5));
        }
        println!("{best:8.1} ns  {:5}  parse {parse:?}  {text}", hits > 0);
    }
    for p in [&pos, &chat, &items, &chunk] {
        let n = 400_000u32;
        let packet = p.packet().unwrap();
        let t = Instant::now();
        for _ in 0..n {
            let _ = black_box(p.protocol.walk(packet, &p.body, 1, &mut Measure));
        }
        println!("walk {} {:.1} ns", packet.name(), t.elapsed().as_nanos() as f64 / f64::from(n));
        let t = Instant::now();
        for _ in 0..n {
            black_box(p.packet());
        }
        println!("  identify {:.1} ns", t.elapsed().as_nanos() as f64 / f64::from(n));
    }
    let rules: Vec<Expr> = (0..200)
        .map(|i| Expr::parse(&format!("chat and message contains \"w{i}\""), c).unwrap().0)
        .collect();
    let n = 20_000;
    let t = Instant::now();
    for _ in 0..n {
        for r in &rules {
            black_box(r.matches(black_box(&chunk)));
        }
    }
    println!(
        "200 rules on a chunk: {:.1} ns a packet",
        t.elapsed().as_nanos() as f64 / f64::from(n)
    );
}
