use serde_json::{Map, Value as Json, json};

use super::report::{lasted, mean};
use super::{CountedPacket, PacketCounts, Report, RoundTrip, SessionCounts};
use mitmcraft_protocol::schema::Direction;

/// The members of an object.
type JsonObject = Map<String, Json>;

impl Report<'_> {
    /// Returns all statistics as JSON, with sizes in bytes and times in seconds.
    #[must_use]
    pub fn json(&self) -> Json {
        let stats = self.stats;
        let seconds = stats.seconds();
        let totals = stats.totals();
        let packets =
            self.rows().into_iter().map(|row| with_rates(row.json(), &row.counts, seconds));
        let channels = self.channel_rows().into_iter().map(|(direction, name, counts)| {
            let head = [("dir", direction.name()), ("channel", name)];
            with_rates(with_head(head, &counts), &counts, seconds)
        });
        let directions = Direction::ALL.into_iter().map(|direction| {
            let counts = totals.direction(direction);
            with_rates(with_head([("dir", direction.name())], &counts), &counts, seconds)
        });
        json!({
            "v": 1,
            "begin": stats.span.map(|(first, _)| first.to_string()),
            "end": stats.span.map(|(_, last)| last.to_string()),
            "seconds": seconds,
            "total": with_rates(totals.total().json(), &totals.total(), seconds),
            "directions": directions.collect::<Vec<_>>(),
            "packets": packets.collect::<Vec<_>>(),
            "channels": channels.collect::<Vec<_>>(),
            "round_trips": self.round_trips(),
            "undecoded": self.undecoded(),
            "diagnostics": self.diagnostics(),
            "entities": named(stats.named.entities()),
            "blocks": named(stats.named.blocks()),
            "sessions": stats.sessions().map(|(place, it)| session(place, it)).collect::<Vec<_>>(),
            "sessions_left_out": stats.forgotten(),
            "timeline": self.timeline(),
        })
    }

    fn round_trips(&self) -> Vec<Json> {
        let trips = self.stats.round_trips.iter();
        let trips = trips.map(|(name, asked, trip)| {
            let mut row = round_trip(&trip);
            row["name"] = name.into();
            row["asked"] = asked.name().into();
            row["unanswered"] = trip.unanswered.into();
            row
        });
        trips.collect()
    }

    fn undecoded(&self) -> Vec<Json> {
        let rows = self.stats.undecoded.rows().into_iter();
        let rows = rows.map(|(fault, count, (session, seq))| {
            json!({
                "dir": fault.direction.name(),
                "state": fault.state.name(),
                "packet": fault.packet,
                "reason": fault.reason,
                "packets": count,
                "first": { "session": session, "seq": seq },
            })
        });
        rows.collect()
    }

    fn diagnostics(&self) -> Vec<Json> {
        let rows = self.stats.diagnostics.rows().into_iter();
        let rows = rows.map(|(diagnostic, direction, count, (session, seq))| {
            json!({
                "dir": direction.name(),
                "diagnostic": diagnostic.name(),
                "packets": count,
                "first": { "session": session, "seq": seq },
            })
        });
        rows.collect()
    }

    fn timeline(&self) -> Json {
        let timeline = &self.stats.timeline;
        let series = Direction::ALL.into_iter().map(|direction| {
            let sum = timeline.sum(direction);
            json!({
                "dir": direction.name(),
                "packets": sum.bins.iter().map(|bin| bin.packets).collect::<Vec<_>>(),
                "wire": sum.bins.iter().map(|bin| bin.wire).collect::<Vec<_>>(),
            })
        });
        json!({
            "begin": timeline.begin().map(|begin| begin.to_string()),
            "step": timeline.step().as_secs_f64(),
            "directions": series.collect::<Vec<_>>(),
        })
    }
}

fn named(rows: Vec<(&str, u64)>) -> Vec<Json> {
    rows.into_iter().map(|(name, count)| json!({ "name": name, "count": count })).collect()
}

impl CountedPacket {
    /// Returns the kind and its counts as JSON, with sizes in bytes.
    #[must_use]
    pub fn json(&self) -> JsonObject {
        let (dir, state) = (self.direction.name(), self.state.name());
        with_head([("dir", dir), ("state", state), ("packet", &self.name)], &self.counts)
    }
}

impl PacketCounts {
    /// Returns the counts as JSON, with sizes in bytes.
    #[must_use]
    pub fn json(&self) -> JsonObject {
        let counts = [
            ("packets", self.packets),
            ("bytes", self.bytes),
            ("wire", self.wire),
            ("smallest", self.smallest),
            ("mean", mean(self)),
            ("largest", self.largest),
            ("dropped", self.dropped),
            ("rewritten", self.rewritten),
            ("made", self.made),
        ];
        counts.into_iter().map(|(key, count)| (key.to_owned(), count.into())).collect()
    }
}

/// Returns counts as JSON behind what they are the counts of.
fn with_head<const N: usize>(head: [(&str, &str); N], counts: &PacketCounts) -> JsonObject {
    let head = head.into_iter().map(|(key, text)| (key.to_owned(), text.into()));
    head.chain(counts.json()).collect()
}

/// Adds the rates of counts over `seconds` to an object.
fn with_rates(mut object: JsonObject, counts: &PacketCounts, seconds: f64) -> Json {
    if seconds > 0.0 {
        for (key, count) in
            [("packets_per_second", counts.packets), ("wire_per_second", counts.wire)]
        {
            object.insert(key.to_owned(), (count as f64 / seconds).into());
        }
    }
    object.into()
}

/// The answered requests and their times in seconds.
fn round_trip(trip: &RoundTrip) -> Json {
    let mean = trip.mean();
    json!({
        "answered": trip.answered,
        "shortest": mean.map(|_| trip.shortest.as_secs_f64()),
        "mean": mean.map(|mean| mean.as_secs_f64()),
        "longest": mean.map(|_| trip.longest.as_secs_f64()),
    })
}

fn session(capture: usize, session: &SessionCounts) -> Json {
    let context = &session.context;
    let total = session.totals.total();
    json!({
        "capture": capture + 1,
        "session": context.session,
        "player": context.player,
        "client": context.client.to_string(),
        "server": context.server.map(|server| server.to_string()),
        "upstream": context.upstream,
        "protocol": context.version,
        "version": context.game_version(),
        "opened": context.opened.to_string(),
        "seconds": lasted(session).as_secs_f64(),
        "packets": total.packets,
        "bytes": total.bytes,
        "wire": total.wire,
        "keep_alives": round_trip(&session.keep_alives),
        "closed": session.closed.as_ref().map(|(_, summary)| &summary.reason),
    })
}
