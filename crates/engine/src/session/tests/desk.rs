use std::time::Duration;

use super::later::Game;
use super::*;
use crate::lang::Expr;
use crate::link::{Action, Breakpoint, Command, CommandError, Decision, Release, Report};

use Direction::{Clientbound, Serverbound};

/// A session in the game, and what a person who controls it is told.
pub(super) struct Desk {
    pub(super) game: Game,
    pub(super) reports: Vec<Report>,
    commands: u64,
}

impl Desk {
    pub(super) fn new(version: i32) -> Self {
        Self::of(Game::new(version, ""))
    }

    pub(super) fn of(game: Game) -> Self {
        Self { game, reports: Vec::new(), commands: 0 }
    }

    /// A session that holds what matches.
    pub(super) fn holding(version: i32, condition: &str) -> Self {
        let mut desk = Self::new(version);
        desk.hold(condition, false);
        desk
    }

    pub(super) fn hold(&mut self, condition: &str, overtaken: bool) {
        let (condition, _) = Expr::parse(condition, Catalog::embedded()).unwrap();
        self.done(Action::Break(Some(Breakpoint { condition, overtaken })));
    }

    /// Carries out a command; returns why it was refused, if it was.
    pub(super) fn order(&mut self, action: Action) -> Result<(), CommandError> {
        self.commands += 1;
        let number = self.commands;
        self.game.pair.input(Input::Command(Command { number, action }));
        self.listen();
        let answer = self.reports.iter().find_map(|report| match report {
            Report::Done { command } if *command == number => Some(Ok(())),
            Report::Refused { command, error } if *command == number => Some(Err(error.clone())),
            _ => None,
        });
        answer.unwrap()
    }

    pub(super) fn done(&mut self, action: Action) {
        assert_eq!(self.order(action), Ok(()));
    }

    pub(super) fn decide(&mut self, held: u64, decision: Decision) {
        self.done(Action::Decide { held: vec![held], decision });
    }

    pub(super) fn listen(&mut self) {
        while let Some(report) = self.game.pair.session.poll_report() {
            self.reports.push(report);
        }
    }

    /// Lets time pass, and tells the session of each moment that it asks for.
    pub(super) fn pass(&mut self, seconds: u64) {
        let end = Timestamp(self.game.pair.clock).plus(Duration::from_secs(seconds));
        while let Some(at) = self.game.pair.session.poll_timeout().filter(|at| *at <= end) {
            self.game.pair.clock = self.game.pair.clock.max(at.0);
            let now = Timestamp(self.game.pair.clock);
            self.game.pair.session.handle(now, Input::Timeout);
            self.game.pair.run();
        }
        self.game.pair.clock = end.0;
        self.listen();
    }

    /// Numbers of the packets that are held.
    pub(super) fn held(&mut self) -> Vec<u64> {
        self.listen();
        let mut held = Vec::new();
        for report in &self.reports {
            match report {
                Report::Held { held: number, .. } => held.push(*number),
                Report::Released { held: number, .. } => held.retain(|it| it != number),
                Report::Done { .. } | Report::Refused { .. } | Report::Repeating { .. } => {}
            }
        }
        held
    }

    pub(super) fn released(&mut self) -> Vec<Release> {
        self.listen();
        let how = |report: &Report| match report {
            Report::Released { how, .. } => Some(*how),
            _ => None,
        };
        self.reports.iter().filter_map(how).collect()
    }

    pub(super) fn keep_alive(&mut self, direction: Direction, state: State, number: i64) {
        let value = fields([("keepAliveId", Value::Int(number))]);
        self.game.says(direction, state, "keep_alive", value);
    }

    /// The numbers of the keep-alives among what a peer got last.
    pub(super) fn keep_alives(&self, side: Side, state: State, since: usize) -> Vec<i64> {
        let (got, direction) = match side {
            Side::Client => (&self.game.pair.client_got, Clientbound),
            Side::Server => (&self.game.pair.server_got, Serverbound),
        };
        let protocol = &self.game.protocol;
        let number = |body: &Bytes| {
            let (packet, start) = protocol.identify(state, direction, body).ok()?;
            let is_it = packet.role() == Some(mitmcraft_protocol::schema::Role::KeepAlive);
            let value = protocol.decode(packet, body, start).ok().filter(|_| is_it)?;
            value.get("keepAliveId")?.as_int()
        };
        got[since..].iter().filter_map(number).collect()
    }

    /// The outcomes of what is recorded of one packet type: `-` dropped, `~` rewritten, `+` sent.
    pub(super) fn seen(&self, name: &str) -> String {
        let seen = self.game.pair.seen();
        let marks = seen.iter().filter(|it| it.trim_start_matches(['-', '~', '+']) == name);
        marks.map(|it| if it == name { "." } else { &it[..1] }).collect()
    }
}

/// A packet that says nothing, which every version has in both directions.
pub(super) fn plain(desk: &mut Desk, direction: Direction, text: u8) {
    let name = match direction {
        Serverbound => "held_item_slot",
        Clientbound => "entity_destroy",
    };
    let value = match direction {
        Serverbound => fields([("slotId", i32::from(text).into())]),
        Clientbound => {
            let ids = Value::List(vec![i32::from(text).into()]);
            fields([("entityIds", ids)])
        }
    };
    desk.game.plays(direction, name, value);
}

pub(super) fn number(body: &Bytes) -> u8 {
    *body.last().unwrap()
}
