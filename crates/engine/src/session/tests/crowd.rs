//! Ten hostile sessions beside ten good ones: what the good ones notice, counted in packets.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::desk::Desk;
use super::later::Game;
use super::*;
use crate::lang::Expr;
use crate::link::{Asking, Otherwise, Release};
use crate::pipe::{Broker, BrokerAction};
use mitmcraft_protocol::codec::MemoryBudget;

use Direction::Serverbound;

const HOSTILE: usize = 10;
const ALL: usize = 20;

fn game(config: Config) -> Game {
    let mut game = Game::with(47, "", config, fields([]));
    game.pair.size = 1 << 16;
    game
}

/// Puts a chat into the client's socket.
fn put(game: &mut Game, text: &str) {
    let body = game.encode(Serverbound, State::Play, "chat", chat(text));
    game.pair.client.encoder.send(&body);
}

fn texts(game: &Game) -> Vec<String> {
    let chats = game.pair.server_got.iter().filter(|body| body[0] == 1 && body.len() > 2);
    chats.map(|body| String::from_utf8_lossy(&body[2..]).into_owned()).collect()
}

/// Sessions with one program, which answers a few questions at a time.
struct Crowd {
    games: Vec<Game>,
    broker: Broker,
    read: VecDeque<Json>,
    /// The sessions that asked, in the order in which the program has read their questions.
    order: Vec<usize>,
}

impl Crowd {
    fn step(&mut self, answers: usize) {
        let now = Timestamp(1);
        for (number, game) in self.games.iter_mut().enumerate() {
            game.pair.run();
            while let Some(question) = game.pair.session.poll_question() {
                self.broker.ask(now, number as u64, question);
            }
        }
        let lines = String::from_utf8(self.broker.pending().to_vec()).unwrap();
        self.broker.advance(now, lines.len());
        for line in lines.lines() {
            let line: Json = serde_json::from_str(line).unwrap();
            let text = line["fields"]["message"].as_str().unwrap();
            self.order.push(text.split(' ').nth(1).unwrap().parse().unwrap());
            self.read.push_back(line);
        }
        for line in self.read.drain(..answers.min(self.read.len())) {
            let text = line["fields"]["message"].as_str().unwrap().replace("bad", "***");
            let answer = format!("{}\n", json!({"id": line["id"], "set": {"message": text}}));
            self.broker.on_output(now, answer.as_bytes());
        }
        while let Some(action) = self.broker.poll_action() {
            let BrokerAction::Answer { session, number, ruling } = action else {
                assert!(matches!(action, BrokerAction::Start), "{action:?}");
                continue;
            };
            self.games[usize::try_from(session).unwrap()].pair.input(Input::Ruled(number, ruling));
        }
    }
}

#[test]
fn a_program_gets_few_questions_of_hostile_sessions_between_two_of_a_good_one() {
    let (condition, _) = Expr::parse("chat and serverbound", Catalog::embedded()).unwrap();
    let asking = Some(Asking { condition, otherwise: Otherwise::Pass });
    let config = || Config { asking: asking.clone(), ..Config::default() };
    let games = (0..ALL).map(|_| game(config())).collect();
    let mut broker = Broker::new(Duration::from_secs(1));
    broker.on_started(Timestamp(1));
    let mut crowd = Crowd { games, broker, read: VecDeque::new(), order: Vec::new() };
    for (number, game) in crowd.games[..HOSTILE].iter_mut().enumerate() {
        (0..20_000).for_each(|count| put(game, &format!("bad {number} {count}")));
    }
    crowd.step(0);
    let mut said = [0; ALL];
    for _ in 0..2000 {
        for (number, said) in said.iter_mut().enumerate().skip(HOSTILE) {
            let game = &mut crowd.games[number];
            // It says the next thing when the last one has arrived.
            if texts(game).len() == *said && *said < 100 {
                put(game, &format!("bad {number} {said}"));
                *said += 1;
            }
        }
        crowd.step(7);
    }
    for number in HOSTILE..ALL {
        let wanted: Vec<_> = (0..100).map(|count| format!("*** {number} {count}")).collect();
        assert_eq!(texts(&crowd.games[number]), wanted, "filtered, and in order");
        assert_eq!(crowd.games[number].comments().matches("not decided").count(), 0);
        let places = crowd.order.iter().enumerate().filter(|(_, it)| **it == number);
        let places: Vec<_> = places.map(|(place, _)| place).collect();
        for pair in places.windows(2) {
            let between = crowd.order[pair[0]..pair[1]].iter().filter(|it| **it < HOSTILE);
            assert!(between.count() <= 100, "{pair:?}");
        }
    }
    for (number, game) in crowd.games[..HOSTILE].iter().enumerate() {
        let got = texts(game);
        assert!(!game.pair.client.encoder.pending().is_empty(), "they never stopped");
        assert!(got.iter().enumerate().all(|(count, it)| *it == format!("*** {number} {count}")));
    }
}

#[test]
fn what_is_held_of_a_good_session_stays_so_while_others_take_all_memory_that_they_get() {
    let memory = MemoryBudget::new(8 << 20);
    let mut desks: Vec<_> = (0..ALL)
        .map(|_| {
            let config = Config { memory: memory.clone(), ..Config::default() };
            let mut desk = Desk::of(game(config));
            desk.hold("chat and message == \"stop\"", false);
            put(&mut desk.game, "stop");
            desk.game.pair.run();
            desk
        })
        .collect();
    for round in 0..100 {
        for (number, desk) in desks.iter_mut().enumerate() {
            let size = if number < HOSTILE { 100_000 } else { 1000 };
            desk.game.pair.client.encoder.send(&vec![0x70; size]);
            desk.game.pair.run();
            desk.listen();
        }
        assert!(memory.used() <= memory.limit(), "{round}: {}", memory.used());
    }
    for (number, desk) in desks.iter_mut().enumerate() {
        if number < HOSTILE {
            assert_eq!(desk.released(), [Release::Memory]);
            continue;
        }
        assert_eq!(desk.held(), [1], "{number}");
        desk.done(crate::link::Action::ForwardAll);
        desk.pass(2);
        assert_eq!(desk.game.pair.server_got.iter().filter(|it| it.len() == 1000).count(), 100);
    }
}
