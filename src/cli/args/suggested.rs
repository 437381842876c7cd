use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};

/// Parses any text, and has shells complete it by a list.
#[derive(Debug, Clone)]
pub(crate) struct Suggested {
    words: fn() -> &'static [String],
}

impl Suggested {
    pub(crate) fn new(words: fn() -> &'static [String]) -> Self {
        Self { words }
    }
}

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.words)().iter().map(|it| PossibleValue::new(&**it))))
    }
}
