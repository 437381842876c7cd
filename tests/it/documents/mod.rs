//! The pages: every command on them runs, and every example of rules does what it says.

mod extent;
mod links;
mod page;
mod pictures;
mod place;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::thread;

use place::Place;

/// Commands that are only parsed, by the words that mark them, and why.
const PARSED: &[(&[&str], &str)] = &[
    (&["login"], "asks Microsoft"),
    (&["logout"], "asks Microsoft"),
    (&["wireshark", "--install"], "writes into the user's folders"),
    (&["--auth", "account"], "needs an account"),
    (&["--auth", "client"], "listens on a fixed port for the game's requests"),
    (&["show", "--follow"], "does not end"),
    (&["--web"], "serves until it is interrupted, on a fixed port"),
    (&["--tui"], "needs a terminal"),
    (&["view"], "needs a terminal"),
    (&["prove"], "needs packets of a version that is not out yet"),
    (&["demo"], "plays for seconds; the tests of the demo run it"),
];

#[test]
fn every_command_on_every_page_runs() {
    let mut commands: BTreeMap<page::Command, String> = BTreeMap::new();
    for (name, text) in page::pages() {
        for command in page::commands(&text) {
            commands.entry(command).or_insert_with(|| name.clone());
        }
    }
    assert!(commands.len() > 100, "{}", commands.len());
    let place = Place::new();
    let (waiting, faults) = (Mutex::new(commands.iter()), Mutex::new(Vec::new()));
    let used = Mutex::new(BTreeSet::new());
    let work = || {
        loop {
            let Some((command, page)) = waiting.lock().unwrap().next() else { return };
            let marks = |(_, (marks, _)): &(usize, &(&[&str], &str))| {
                marks.iter().all(|mark| command.words.iter().any(|word| word == mark))
            };
            let done = match PARSED.iter().enumerate().find(marks) {
                Some((index, _)) => {
                    used.lock().unwrap().insert(index);
                    place.parse(command)
                }
                None => place.run(command),
            };
            if let Err(why) = done {
                let command = command.words.join(" ");
                faults.lock().unwrap().push(format!("{page}: mitmcraft {command}\n    {why}"));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(work);
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), commands.len(), faults.join("\n"));
    assert_eq!(used.into_inner().unwrap().len(), PARSED.len(), "a line of PARSED has no command");
}

#[test]
fn a_wrong_command_is_a_fault() {
    let place = Place::new();
    let fault = |line: &str| {
        let commands = page::commands(&format!("```sh\n{line}\n```\n"));
        assert_eq!(commands.len(), 1, "{line}");
        (place.run(&commands[0]).is_err(), place.parse(&commands[0]).is_err())
    };
    assert_eq!(fault("mitmcraft show session.jsonl   # fine"), (false, false));
    assert_eq!(fault("mitmcraft show --no-such-option session.jsonl"), (true, true));
    assert_eq!(fault("mitmcraft show no-such-file.jsonl"), (true, false));
    assert_eq!(fault("mitmcraft proxy mc.example.org -f no-such-rules.toml"), (true, false));
    assert!(fault("mitmcraft show -Y 'no_such_packet' session.jsonl | less").0);
}

/// Commands that run at a time; most wait for a part of their time.
const WORKERS: usize = 4;
