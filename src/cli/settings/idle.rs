//! Options that have no effect without another: the one list of them.

use super::Settings;
use super::setting::Setting;

/// An option that has no effect alone.
struct Need {
    /// The options, by their keys.
    options: &'static [&'static str],
    /// The options of which at least one is needed. A verb that has none of them is not concerned.
    any: &'static [&'static str],
    /// What the needed option must be; anything if it is empty.
    values: &'static [&'static str],
}

const NEEDS: [Need; 8] = [
    Need {
        options: &["rotate", "keep", "no-body", "write-where", "on-log-error"],
        // Rules write a capture too.
        any: &["write", "filters"],
        values: &[],
    },
    Need { options: &["format"], any: &["write"], values: &["-"] },
    Need {
        options: &["overwrite"],
        any: &["write", "filters", "icon", "plot", "output"],
        values: &[],
    },
    Need {
        options: &["account", "access-token-file", "profile", "auth-endpoints", "auth-scope"],
        any: &["auth"],
        values: &["account", "verify"],
    },
    Need { options: &["session-server"], any: &["auth"], values: &["client", "account", "verify"] },
    Need { options: &["auth-listen"], any: &["auth"], values: &["client"] },
    Need { options: &["as-account"], any: &["auth"], values: &["verify"] },
    Need { options: &["plain-client"], any: &["auth"], values: &["account"] },
];

impl Settings {
    /// Checks that each typed option has an effect. Options of the file and of variables may wait for
    /// others.
    ///
    /// # Errors
    /// The first option that has none, in words for the user.
    pub(in crate::cli) fn check_effects(&self) -> anyhow::Result<()> {
        let values = self.values()?;
        let verb = self.line.verb();
        let of_verb = |key: &str| -> Option<(usize, &Setting)> {
            let own = |(_, it): &(usize, &Setting)| it.verb == verb && it.key == key;
            self.all.iter().enumerate().find(own)
        };
        for need in &NEEDS {
            let known: Vec<_> = need.any.iter().filter_map(|key| of_verb(key)).collect();
            let fits = |value: &String| need.values.is_empty() || need.values.contains(&&**value);
            let met = values.iter().any(|(place, value)| {
                known.iter().any(|(it, _)| it == place) && value.values.iter().any(fits)
            });
            if known.is_empty() || met {
                continue;
            }
            let typed = |key: &&&str| {
                of_verb(key).is_some_and(|(_, setting)| self.line.typed(setting).is_some())
            };
            if let Some(option) = need.options.iter().find(typed) {
                let wanted = known.iter().flat_map(|(_, setting)| {
                    let flag = format!("`--{}", setting.key);
                    let values = need.values.iter().map(|value| format!("{flag} {value}`"));
                    let values: Vec<_> = values.collect();
                    if values.is_empty() { vec![format!("{flag}`")] } else { values }
                });
                let wanted = wanted.collect::<Vec<_>>().join(" or ");
                anyhow::bail!("`--{option}` has no effect without {wanted}");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_name_of_the_list_is_an_option() {
        let all = Setting::all(&Cli::command());
        for need in &NEEDS {
            for key in need.options.iter().chain(need.any) {
                assert!(all.iter().any(|setting| setting.key == *key), "{key}");
            }
        }
    }
}
