//! Query: messages, the client, the server, and the relay.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes as Shared;
use mitmcraft_engine::capture::{Entry, EventKind};
use mitmcraft_engine::filter::Pipeline;
use mitmcraft_engine::query::{
    Answer, FullStat, Kind, Query, QueryOptions, QueryServer, Relay, RelayOptions, RelayOutput,
    Request, Stat,
};
use mitmcraft_protocol::packet::{Cause, Timestamp};

use super::Features;
use super::bytes::Bytes;
use super::files::check;

pub fn run(input: &[u8]) -> Features {
    let mut features = Features::default();
    let mut input = Bytes(input);
    let options = input.u8();
    match options % 3 {
        0 => messages(input.rest(), &mut features),
        1 => client(&mut input, &mut features),
        _ => relay(&mut input, &mut features),
    }
    features
}

fn messages(bytes: &[u8], features: &mut Features) {
    match Request::decode(bytes) {
        Ok(request) => {
            let encoded = request.encode().unwrap();
            assert_eq!(Request::decode(&encoded), Ok(request));
            features.see(std::mem::discriminant(&request));
        }
        Err(error) => features.say(error),
    }
    match Answer::decode(bytes) {
        Ok(answer) => {
            let encoded = answer.encode().unwrap();
            let again = Answer::decode(&encoded).unwrap();
            assert_eq!(again.encode().unwrap(), encoded, "{answer:?}, then {again:?}");
            features.see(std::mem::discriminant(&answer));
            if let Answer::Stat { stat: Stat::Full(full), .. } = &answer {
                features.see((full.values.len().min(20), full.players.len().min(4)));
                let _ = full.to_basic();
            }
        }
        Err(error) => features.say(error),
    }
    let client = SocketAddr::from(([127, 0, 0, 1], 5));
    let server = QueryServer::new(7);
    if let Some(answer) = server.answer(Timestamp(0), client, bytes, &FullStat::default()) {
        Answer::decode(&answer).unwrap();
    }
}

/// A client that receives these datagrams.
fn client(input: &mut Bytes<'_>, features: &mut Features) {
    let mut now = Timestamp(5);
    let kind = if input.u8() & 1 == 0 { Kind::Basic } else { Kind::Full };
    let mut query = Query::new(now, kind, 0x0101_0101, QueryOptions::default()).unwrap();
    let mut sent = 0;
    for _ in 0..100 {
        sent += usize::from(query.take_output().is_some());
        if input.is_empty() {
            now = query.poll_timeout();
            if let Err(error) = query.handle_timeout(now) {
                return features.say(error);
            }
            continue;
        }
        match query.handle_received(now, input.chunk()) {
            Ok(None) => {}
            Ok(Some(stat)) => return features.see((sent, matches!(stat, Stat::Full(_)))),
            Err(error) => return features.say(error),
        }
    }
}

/// A relay between clients and a server, without rules: every datagram is forwarded and recorded.
fn relay(input: &mut Bytes<'_>, features: &mut Features) {
    let options = RelayOptions {
        server: SocketAddr::from(([192, 0, 2, 1], 25565)),
        upstream: "mc.example.org:25565".to_owned(),
        clients: 2,
        idle: Duration::from_secs(60),
    };
    let mut relay = Relay::new(options);
    let mut now = Timestamp(1_700_000_000_000_000_000);
    let mut sessions = 0;
    let mut forwarded = Vec::new();
    let mut entries = Vec::new();
    let mut came = 0_u64;
    while !input.is_empty() {
        let step = input.u8();
        now = now.plus(Duration::from_millis(u64::from(step >> 4) * 3000));
        if relay.poll_timeout().is_some_and(|due| due <= now) {
            relay.handle_timeout(now);
        }
        let datagram = Shared::copy_from_slice(input.chunk());
        let before = forwarded.len();
        if step & 1 == 0 {
            let client = SocketAddr::from(([127, 0, 0, 1], 1000 + u16::from(step >> 1 & 3)));
            relay.handle_client(now, client, datagram.clone(), || {
                sessions += 1;
                (sessions, Pipeline::default())
            });
            came += 1;
        } else {
            relay.handle_server(now, sessions, datagram.clone());
        }
        while let Some(output) = relay.poll_output() {
            match output {
                RelayOutput::ToServer(_, bytes) | RelayOutput::ToClient(_, bytes) => {
                    forwarded.push(bytes);
                }
                RelayOutput::Close(_) => {}
            }
        }
        let new = &forwarded[before..];
        assert!(step & 1 == 1 || new.len() == 1, "{} datagrams out of one", new.len());
        assert!(new.iter().all(|it| *it == datagram), "{new:?}, not {datagram:?}");
        assert!(relay.clients() <= 2);
        entries.extend(relay.take_entries());
    }
    relay.handle_stop(now, &Cause::new("stopped"));
    entries.extend(relay.take_entries());
    let packets = entries.iter().filter(|entry| entry.record().is_some()).count();
    assert_eq!(packets, forwarded.len(), "{came} of clients");
    let is_close = |entry: &&Entry| match entry {
        Entry::Event(event) => matches!(event.kind, EventKind::Close(_)),
        Entry::Packet(_) => false,
    };
    assert_eq!(entries.iter().filter(is_close).count() as u64, sessions);
    check(&entries, features);
}

pub fn seeds() -> Vec<Vec<u8>> {
    let full =
        b"\0\x01\x01\x01\x01splitnum\0\x80\0hostname\0A Server\0map\0\0\0\x01player_\0\0Notch\0\0";
    let basic = b"\0\x01\x01\x01\x01A Server\0SMP\0world\x001\x0020\0\xdd\x63127.0.0.1\0";
    let datagrams: [&[u8]; 7] = [
        b"\xfe\xfd\x09\x01\x01\x01\x01",
        b"\xfe\xfd\0\x01\x01\x01\x01\0\0\0\x07",
        b"\xfe\xfd\0\x01\x01\x01\x01\0\0\0\x07\0\0\0\0",
        b"\x09\x01\x01\x01\x017\0",
        basic,
        full,
        b"garbage",
    ];
    let chunk = |bytes: &[u8]| {
        let [high, low] = u16::try_from(bytes.len()).unwrap().to_be_bytes();
        [&[high, low], bytes].concat()
    };
    let mut seeds: Vec<Vec<u8>> = datagrams.iter().map(|it| [&[0], *it].concat()).collect();
    for answer in [&basic[..], full] {
        seeds.push([vec![1, 1], chunk(datagrams[3]), chunk(answer)].concat());
    }
    let mut talk = vec![2];
    for (place, datagram) in datagrams.iter().enumerate() {
        let step =
            if (3..6).contains(&place) { 1 } else { (place as u8) << 1 | (place as u8) << 4 };
        talk.push(step);
        talk.extend(chunk(datagram));
    }
    seeds.push(talk);
    seeds
}
