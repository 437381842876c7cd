use std::fmt::Write as _;
use std::sync::LazyLock;

use anyhow::bail;
use clap::{Args, Command, CommandFactory as _};
use mitmcraft_engine::lang::closest;

use super::Cli;
use super::args::Suggested;
use super::exit::Done;
use super::manual::{TOPICS, print_page};
use super::output::Output;

/// Print the help of a command, or a page of the manual
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft help
  mitmcraft help replay server
  mitmcraft help filters | less
  mitmcraft help disconnected")]
pub(crate) struct Arguments {
    /// A command, or a topic: `help` alone lists both
    #[arg(value_name = "COMMAND|TOPIC", value_parser = Suggested::new(words), hide_possible_values = true)]
    words: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    if let [word] = words[..]
        && let Some(topic) = TOPICS.iter().find(|topic| topic.name == word)
    {
        let page = print_page(topic.text, WIDTH, output.colors_stdout());
        output.lines(page.trim_end())?;
        return Ok(Done::Yes);
    }
    let mut command = Cli::command();
    command.build();
    let mut found = &mut command;
    for word in words {
        let known = names(found);
        match found.find_subcommand_mut(word) {
            Some(verb) => found = verb,
            None => bail!(unknown(word, &known)),
        }
    }
    let help = found.render_long_help();
    let text = if output.colors_stdout() { help.ansi().to_string() } else { help.to_string() };
    output.lines(text.trim_end())?;
    if found.get_name() == "mitmcraft" {
        let topics = TOPICS.iter().fold(String::from("\nTopics of `help`:"), |mut text, topic| {
            let _ = write!(text, "\n  {:<18}{}", topic.name, topic.about);
            text
        });
        output.lines(&topics)?;
    }
    Ok(Done::Yes)
}

/// Returns the verbs and topics.
fn words() -> &'static [String] {
    static WORDS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let verbs = names(&Cli::command());
        verbs.into_iter().chain(TOPICS.iter().map(|topic| topic.name.to_owned())).collect()
    });
    &WORDS
}

fn names(command: &Command) -> Vec<String> {
    command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect()
}

fn unknown(word: &str, known: &[String]) -> String {
    let topics = TOPICS.iter().map(|topic| topic.name);
    let all = known.iter().map(String::as_str).chain(topics);
    match closest(word, all) {
        Some(near) => format!("no command or topic `{word}`: did you mean `{near}`?"),
        None => format!("no command or topic `{word}`: `mitmcraft help` lists them"),
    }
}

/// Columns of a page.
const WIDTH: usize = 100;
