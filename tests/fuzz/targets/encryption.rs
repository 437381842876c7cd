//! Encrypted sessions: what is sent with the ciphertext that it had is what encrypting it again gives, whatever
//! happens to a session after its login.

use std::sync::LazyLock;

use mitmcraft_engine::link::Side;

use super::Features;
use super::bytes::Bytes;
use super::session::{Talk, logins};

pub fn run(input: &[u8]) -> Features {
    let mut features = Features::default();
    let mut input = Bytes(input);
    let (options, rules, login) = (input.u8() & !0x40, input.u8(), usize::from(input.u8()));
    let counted = options & 0x80 != 0;
    let verifies = matches!(options & 7, 2 | 3);
    let login = &LOGINS[usize::from(verifies)][login % LOGINS[0].len()];
    let script = [&[options, rules], &login[..], input.rest()].concat();
    let [taking, always] = [false, true].map(|separate| Talk::play(&script, counted, separate));
    for side in Side::ALL {
        assert!(taking.got[side] == always.got[side], "{side:?} got other bytes");
        features.see((side == Side::Client, taking.got[side].len().checked_ilog2()));
    }
    let reason = |talk: &Talk| talk.summary().map(|it| it.reason.clone());
    assert_eq!(reason(&taking), reason(&always));
    if let Some(reason) = reason(&taking) {
        features.say(&reason);
    }
    features
}

/// Encrypted logins and some packets, without the end; then the same if the proxy asks the client before the server
/// does.
static LOGINS: LazyLock<[Vec<Vec<u8>>; 2]> = LazyLock::new(|| {
    let usual: Vec<Vec<u8>> = [4, 47, 340, 760, 764, 770]
        .into_iter()
        .flat_map(|version| logins(version).split_off(3))
        .map(|mut login| {
            login.truncate(login.len() - 2);
            login
        })
        .collect();
    let asked = |login: &Vec<u8>| {
        let mut login = login.clone();
        let exchanged = |it: &[u8]| matches!(it, [13, _, 11, _, 12]);
        let place = login.windows(5).position(exchanged).unwrap();
        login[place..][..4].rotate_left(2);
        login
    };
    let asked = usual.iter().map(asked).collect();
    [usual, asked]
});

pub fn seeds() -> Vec<Vec<u8>> {
    let frame = |side: u8, size: u16| {
        let [high, low] = size.to_be_bytes();
        [&[side, high, low, 0x7e][..], &vec![7; usize::from(size) - 1]].concat()
    };
    // Frames of both sides, a cut one, a rule that is set, time, a close.
    let cut = [&[1, 0, 3, 40, 1, 2][..], &[1, 0, 2, 3, 4]].concat();
    let steps = [
        frame(2, 30),
        frame(3, 100),
        frame(3, 5),
        frame(2, 60),
        [cut, frame(3, 50)].concat(),
        [&[14, 1][..], &frame(3, 20), &[8, 0, 90], &frame(3, 20)].concat(),
        [&frame(2, 20)[..], &[6, 0], &frame(3, 20)].concat(),
    ];
    let starts = [[0x04, 0xff], [0x84, 0xff], [0x02, 0xff], [0x00, 0xff], [0x84, 0], [0x04, 5]];
    let mut seeds = Vec::new();
    for (start, login) in starts.iter().zip((0..).step_by(5)) {
        for (step, number) in steps.iter().zip(login..) {
            seeds.push([&start[..], &[number], step, &steps[1]].concat());
        }
    }
    seeds
}
