use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A value of an option: its name, its help, and what it stands for.
pub(crate) type Choice<T> = (&'static str, &'static str, T);

/// Parses the name of one of `choices`.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(
    choices: &'static [Choice<T>],
) -> impl TypedValueParser<Value = T> {
    let names = choices.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names).try_map(move |word| {
        let chosen = choices.iter().find(|(name, ..)| *name == word);
        chosen.map(|(.., value)| value.clone()).ok_or("unknown value")
    })
}
