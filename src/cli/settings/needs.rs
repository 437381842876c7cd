//! Options that have no effect without another: the one list of them.
//!
//! It is not clap's `requires`, which would also refuse an option that the configuration file sets for
//! the runs that need it: `rotate` in the file must not fail a `proxy` without `-w`. Nor can clap
//! require one of several options, of which a verb may lack some.

use super::Settings;
use super::value::Origin;

/// Options, and those of which at least one is needed, with any value or this one. A verb that has none
/// of the needed options is not concerned.
const NEEDS: [(&[&str], &[&str]); 11] = [
    // Rules write a capture too.
    (&["rotate"], &["write", "filters"]),
    (&["keep", "no-body", "write-where", "on-log-error"], &["write", "filters", "lake"]),
    (&["format"], &["write -"]),
    (&["overwrite"], &["write", "filters", "icon", "plot", "output", "junit"]),
    (
        &["account", "access-token-file", "profile", "auth-endpoints", "auth-scope"],
        &["auth account", "auth verify"],
    ),
    (&["session-server"], &["auth client", "auth account", "auth verify"]),
    (&["pipe"], &["pipe-where"]),
    (&["pipe-where", "pipe-timeout", "on-pipe-error"], &["pipe"]),
    (&["auth-listen"], &["auth client"]),
    (&["as-account"], &["auth verify"]),
    (&["plain-client"], &["auth account"]),
];

impl Settings {
    /// Checks that each typed option has an effect. Options of the file and of variables may wait for
    /// others.
    ///
    /// # Errors
    /// The first option that has none, in words for the user.
    pub(in crate::cli) fn check_effects(&self) -> anyhow::Result<()> {
        let values = self.values(|it| it.is_of(&self.line.verb))?;
        for (options, needed) in NEEDS {
            let needed = needed.iter().map(|it| it.split_once(' ').unwrap_or((it, "")));
            let known = |(key, _): &(&str, &str)| {
                self.all.iter().any(|it| it.verb == self.line.verb && it.key == *key)
            };
            let needed: Vec<(&str, &str)> = needed.filter(known).collect();
            let met = values.iter().any(|(place, value)| {
                let is = |text: &str| text.is_empty() || value.values.iter().any(|it| it == text);
                needed.iter().any(|(key, text)| self.all[*place].key == *key && is(text))
            });
            let typed = values.iter().filter(|(_, value)| value.origin == Origin::Flag);
            let mut typed = typed.map(|(place, _)| &self.all[*place].key);
            if let Some(option) = typed.find(|key| options.contains(&key.as_str()))
                && !needed.is_empty()
                && !met
            {
                let needed = needed.iter().map(|(key, text)| format!("--{key} {text}"));
                let needed: Vec<_> = needed.map(|it| format!("`{}`", it.trim_end())).collect();
                anyhow::bail!("`--{option}` has no effect without {}", needed.join(" or "));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::setting::Setting;
    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_name_of_the_list_is_an_option() {
        let all = Setting::all(&Cli::command());
        for key in NEEDS.iter().flat_map(|(options, needed)| options.iter().chain(*needed)) {
            let (key, _) = key.split_once(' ').unwrap_or((key, ""));
            assert!(all.iter().any(|setting| setting.key == key), "{key}");
        }
    }
}
