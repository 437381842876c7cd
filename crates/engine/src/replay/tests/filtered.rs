//! Rules and scripts between a replay and its peer.

use std::io;

use super::differential::{compare, offline, recorded};
use super::pair::{Pair, SIZES, client, client_options, game, reason, server, server_options};
use super::*;
use crate::capture::Sink as _;
use crate::filter::{Pipeline, RuleSet};
use crate::link::{Engine as _, Input, Notice, Output, Side};
use crate::regress::{Normalisation, Regression};
use crate::replay::{ClientReplay, Filtered, Pace, ServerOptions, ServerReplay, Tally};
use crate::script::Script;
use mitmcraft_protocol::packet::Cause;
use mitmcraft_protocol::schema::Direction::{self, Clientbound, Serverbound};

const RULES: &str = r#"
[[rule]]
name = "shout"
when = 'serverbound and chat'
set = { message = '=upper(message)' }

[[rule]]
name = "late"
when = 'clientbound and update_health'
delay = "40ms"

[[rule]]
name = "no arms"
when = 'arm_animation'
drop = true

[[rule]]
name = "greet"
when = 'clientbound and login'
send = [{ to = 'server', packet = 'chat', fields = { message = 'by a rule' } }]
"#;

const SCRIPT: &str = r#"
on('serverbound and chat', function(packet, session)
  packet.message = packet.message .. " from " .. session.player
  session:send("client", "chat", {message = {text = "heard"}, position = 0})
end)
on_open(function(session) log("open") end)
on_close(function(session) log("close", session.player, session.version) end)
"#;

fn sets(files: &[(&str, &str)]) -> Vec<RuleSet> {
    let set = |(name, text): &(&str, &str)| {
        let checked = match name.ends_with(".lua") {
            true => Script::parse_set(name, text, Catalog::embedded()),
            false => RuleSet::parse(text, Catalog::embedded()),
        };
        let faults: Vec<String> = checked.faults.iter().map(|fault| fault.render(name)).collect();
        checked.rules.unwrap_or_else(|| panic!("{}", faults.join("\n")))
    };
    files.iter().map(set).collect()
}

fn pipeline(files: &[(&str, &str)]) -> Pipeline {
    let mut pipeline = Pipeline::default();
    sets(files).iter().for_each(|set| pipeline.push(set.session_filter()));
    pipeline
}

fn alone(options: impl FnOnce(&mut ServerOptions)) -> ServerReplay {
    let mut plain = server_options(recording("session-1.8.jsonl"), Pace::LOCKSTEP);
    options(&mut plain);
    server(plain, &Tally::default())
}

fn behind(files: &[(&str, &str)], tally: &Tally) -> Filtered<ClientReplay> {
    let options = client_options(recording("session-1.8.jsonl"));
    client(options, "Somebody", tally).filtered(pipeline(files))
}

/// The rules but that which sends a packet.
fn without_greeting() -> &'static str {
    RULES.split("[[rule]]\nname = \"greet\"").next().unwrap()
}

/// Returns the chat in one direction, with marks for what became of it.
fn chats(entries: &[Entry], direction: Direction) -> Vec<String> {
    let records = entries.iter().filter_map(Entry::record);
    let chats = records.filter(|it| it.packet.direction() == direction && name(it) == "chat");
    chats.map(|it| format!("{} {}", marked(it), text(it, "message"))).collect()
}

#[test]
fn rules_and_scripts_of_a_client_judge_its_packets_in_their_order() {
    for (size, encrypt) in SIZES.into_iter().zip([true, false, true]) {
        for files in [[("rules", RULES), ("x.lua", SCRIPT)], [("x.lua", SCRIPT), ("rules", RULES)]]
        {
            let tally = Tally::default();
            let server = alone(|options| options.encrypt = encrypt);
            let mut pair = Pair::new(server, behind(&files, &tally), size);
            pair.run();
            let said = |message: &str| match files[0].0 {
                "rules" => format!("{} from Somebody", message.to_uppercase()),
                _ => format!("{message} from Somebody").to_uppercase(),
            };
            let then = chats(&capture("session-1.8.jsonl"), Serverbound);
            let then: Vec<&str> = then.iter().map(|it| it.trim_start_matches("chat ")).collect();
            assert_eq!(then.len(), 3);
            let mut got = chats(&pair.server_entries, Serverbound);
            assert_eq!(got.remove(0), "chat by a rule");
            let expected: Vec<String> =
                then.iter().map(|it| format!("chat {}", said(it))).collect();
            assert_eq!(got, expected);

            // The capture has what came and what went, with the player from its first entry on.
            let mut ours = chats(&pair.client_entries, Serverbound);
            assert_eq!(ours.remove(0), "+chat by a rule");
            let pairs =
                then.iter().flat_map(|it| [format!("~chat {it}"), format!("+chat {}", said(it))]);
            assert_eq!(ours, pairs.collect::<Vec<_>>());
            let heard = chats(&pair.client_entries, Clientbound);
            assert_eq!(heard.iter().filter(|it| **it == r#"+chat {"text":"heard"}"#).count(), 3);
            let arms = pair.client_entries.iter().filter_map(Entry::record).map(marked);
            assert_eq!(arms.filter(|it| it == "-arm_animation").count(), 1);
            let player = pair.client_entries[0].context().player.clone();
            assert_eq!(player.as_deref(), Some("Somebody"));
            assert_eq!(reason(&pair.client_entries), "disconnected by the server: see you");
            let counted = tally.counts();
            assert_eq!((counted.sessions, counted.playing, counted.finished), (1, 0, 1));
        }
    }
}

#[test]
fn rules_of_a_server_judge_its_packets_and_those_of_its_client() {
    for size in SIZES {
        let tally = Tally::default();
        let server = alone(|options| options.encrypt = true);
        let options = client_options(recording("session-1.8.jsonl"));
        let mut pair = Pair::new(
            server.filtered(pipeline(&[("rules", without_greeting()), ("x.lua", SCRIPT)])),
            client(options, "Somebody", &tally),
            size,
        );
        pair.run();
        let ours = chats(&pair.server_entries, Serverbound);
        let then = chats(&capture("session-1.8.jsonl"), Serverbound);
        let pairs = then.iter().flat_map(|it| {
            let said = it.trim_start_matches("chat ").to_uppercase();
            [format!("~{it}"), format!("+chat {said} from Somebody")]
        });
        assert_eq!(ours, pairs.collect::<Vec<_>>());
        let heard = chats(&pair.client_entries, Clientbound);
        assert_eq!(heard.iter().filter(|it| **it == r#"chat {"text":"heard"}"#).count(), 3);
        assert_eq!(reason(&pair.server_entries), "the recording has ended, as it did then");
        assert_eq!(reason(&pair.client_entries), "disconnected by the server: see you");
    }
}

#[test]
fn rules_do_live_to_a_replay_what_they_do_offline_to_its_capture() {
    // What a rule has sent stays in a capture.
    let rules = without_greeting();
    for size in SIZES {
        let files = [("rules", rules)];
        let mut pair = Pair::new(alone(|_| {}), behind(&files, &Tally::default()), size);
        pair.run();
        let live = pair.client_entries;
        compare(&live, &offline(recorded(&live), rules), rules).unwrap();
    }
}

#[test]
fn a_rule_that_closes_ends_both_connections_with_its_reason() {
    let rules = "[[rule]]\nwhen = 'serverbound and chat'\nclose = 'enough'\n";
    let script = "on('serverbound and chat', function(_, session) session:kick('enough') end)";
    for files in [[("rules", rules)], [("x.lua", script)]] {
        let tally = Tally::default();
        let mut pair = Pair::new(alone(|_| {}), behind(&files, &tally), 7);
        pair.run();
        assert_eq!(reason(&pair.client_entries), "closed by a rule: enough");
        assert_eq!(reason(&pair.server_entries), "closed by the client");
        assert_eq!(chats(&pair.server_entries, Serverbound), [""; 0]);
        let counted = tally.counts();
        assert_eq!((counted.sessions, counted.playing, counted.finished), (1, 0, 0));
    }
}

#[test]
fn a_replay_that_is_stopped_or_loses_its_peer_says_so_behind_filters_too() {
    let lost = || Input::Lost(Side::Server, io::ErrorKind::ConnectionReset.into());
    for (input, expected) in [
        (Input::Stop(Cause::new("stopped by the user")), "stopped by the user"),
        (lost(), "lost the server: connection reset"),
    ] {
        let mut client = behind(&[("rules", RULES)], &Tally::default());
        client.handle(crate::link::Engine::poll_timeout(&client).unwrap(), input);
        assert!(client.is_over());
        let mut entries = Vec::new();
        client.take_entries(&mut entries);
        assert_eq!(reason(&entries), expected);
        let requests: Vec<Output> = std::iter::from_fn(|| client.poll_output()).collect();
        assert_eq!(requests, [Output::Close(Side::Server)]);
    }
    // A server that never answers.
    let mut client = behind(&[("rules", RULES)], &Tally::default());
    let due = client.poll_timeout().unwrap();
    client.handle(due, Input::Timeout);
    let mut entries = Vec::new();
    client.take_entries(&mut entries);
    assert_eq!(reason(&entries), "the server did not let the client in within 30 s");
}

#[test]
fn what_rules_delay_is_still_sent_before_the_end() {
    let rules = "[[rule]]\nwhen = 'clientbound'\ndelay = '1s'\n";
    let mut pair = Pair::new(
        alone(|_| {}).filtered(pipeline(&[("rules", rules)])),
        client(client_options(recording("session-1.8.jsonl")), "Somebody", &Tally::default()),
        usize::MAX,
    );
    let begun = pair.clock;
    pair.run();
    assert_eq!(
        game(&pair.client_entries, Clientbound),
        game(&capture("session-1.8.jsonl"), Clientbound)
    );
    assert_eq!(reason(&pair.client_entries), "disconnected by the server: see you");
    assert!(pair.clock.since(begun).as_secs() >= 1);
}

#[test]
fn filters_can_be_replaced_while_a_replay_runs() {
    let mut client =
        behind(&[("x.lua", "on_open(function() log('first') end)")], &Tally::default());
    let said = |client: &mut Filtered<ClientReplay>| {
        let outputs = std::iter::from_fn(|| client.poll_output());
        let texts = outputs.filter_map(|output| match output {
            Output::Notice(Notice::Filter(message)) => Some(message.text),
            _ => None,
        });
        texts.collect::<Vec<_>>()
    };
    assert_eq!(said(&mut client), ["first"]);
    client.set_pipeline(pipeline(&[("x.lua", "on_open(function() log('second') end)")]));
    assert_eq!(said(&mut client), ["second"]);
    let close = "on_open(function(session) session:kick('over') end)";
    client.set_pipeline(pipeline(&[("x.lua", close)]));
    assert!(client.is_over());
    let mut entries = Vec::new();
    client.take_entries(&mut entries);
    assert_eq!(reason(&entries), "closed by a rule: over");
}

#[test]
fn what_a_server_sent_is_compared_and_not_what_filters_made_of_it() {
    let recorded = recording("session-1.8.jsonl");
    let mut regression = Regression::new(&recorded, None, None);
    let files =
        [("rules", "[[rule]]\nwhen = 'clientbound and chat'\nset = { message = '\"x\"' }\n")];
    let mut pair = Pair::new(alone(|_| {}), behind(&files, &Tally::default()), 7);
    pair.run();
    pair.client_entries.iter().for_each(|entry| regression.write(entry).unwrap());
    let runs = regression.take();
    let compared = regression.baseline.compare(&runs[0].behaviour, &Normalisation::default());
    assert_eq!((compared.deviations.len(), runs.len()), (0, 1), "{:?}", compared.deviations);
}
