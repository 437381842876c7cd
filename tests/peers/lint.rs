//! `lint` on packets of real servers: no finding but true ones.

use std::sync::Arc;

use mitmcraft_engine::capture::{Entry, Record, Sink as _};
use mitmcraft_engine::lint::Linter;
use mitmcraft_engine::text::LineOptions;
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State};

use crate::real_packets::packets;

/// The package has one of the two that a bundle is between.
const BUNDLE_DELIMITER: [u8; 1] = [0];

#[test]
fn packets_of_real_servers_have_no_finding() {
    let mut linter = Linter::default();
    let real = packets().into_iter().filter(|it| it.body != BUNDLE_DELIMITER);
    for (session, real) in (1..).zip(real) {
        // The packets of a file do not follow each other: each is a session of its own.
        linter.begin(&real.file.display().to_string());
        let protocol = Catalog::embedded().by_name(&real.version).unwrap();
        let context = Context {
            version: Some(protocol.version()),
            ..Context::new(session, Timestamp(0), ([192, 0, 2, 1], 50000).into(), protocol)
        };
        let content = Content::Frame(Frame::from_body(real.body.into()));
        let (direction, state) = (Direction::Clientbound, State::Play);
        let packet = Packet::new(Arc::new(context), 1, Timestamp(0), direction, state, content);
        linter.write(&Entry::Packet(Record::passed(packet))).unwrap();
    }
    linter.finish().unwrap();
    let report = linter.report();
    assert_eq!(report.versions().map(|(_, packets)| packets).sum::<u64>(), 3348);
    let mut text = String::new();
    report.write_text(&mut text, &LineOptions::default());
    assert!(report.findings().is_empty(), "{text}");
}
