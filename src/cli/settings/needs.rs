//! Options that have no effect without another: the one list of them.
//!
//! It is not clap's `requires`, which would also refuse an option that the configuration file sets for
//! the runs that need it: `rotate` in the file must not fail a `proxy` without `-w`. Nor can clap
//! require one of several options, of which a verb may lack some.

use anyhow::bail;

use super::Settings;

/// Options, and those of which at least one is needed, with any value or this one. A verb that has none
/// of the needed options is not concerned.
const NEEDS: [(&[&str], &[&str]); 12] = [
    // Rules write a capture too.
    (&["rotate"], &["write", "filters"]),
    (&["keep", "no-body", "write-where", "on-log-error"], &["write", "filters", "lake"]),
    (&["format"], &["write -"]),
    (&["overwrite"], &["write", "filters", "icon", "plot", "output", "install", "junit"]),
    (
        &["account", "access-token-file", "profile", "auth-endpoints", "auth-scope"],
        &["auth account", "auth verify"],
    ),
    (&["session-server"], &["auth client", "auth account", "auth verify"]),
    (&["pipe"], &["pipe-where"]),
    (&["pipe-where", "pipe-timeout", "on-pipe-error"], &["pipe"]),
    (&["recorder-when", "recorder-keep", "recorder-unredacted"], &["recorder"]),
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
        let find = |key: &str| {
            let name = format!("{}.{key}", self.verb);
            self.all.iter().position(|setting| setting.name == name)
        };
        for (options, needed) in NEEDS {
            let needed = needed.iter().filter_map(|need| {
                let (key, word) = need.split_once(' ').unwrap_or((need, ""));
                Some((need, find(key)?, word))
            });
            let needed: Vec<_> = needed.collect();
            let met = needed.iter().any(|(_, place, word)| {
                let words = self.value(*place).map(|value| &value.words);
                words.is_some_and(|words| word.is_empty() || words.iter().any(|it| it == word))
            });
            let typed = |key: &&&str| find(key).is_some_and(|it| self.typed.contains_key(&it));
            if let Some(option) = options.iter().find(typed)
                && !needed.is_empty()
                && !met
            {
                let needed = needed.iter().map(|(need, ..)| format!("`--{need}`"));
                let needed = needed.collect::<Vec<_>>().join(" or ");
                bail!("`--{option}` has no effect without {needed}");
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
            assert!(all.iter().any(|setting| setting.key() == key), "{key}");
        }
    }
}
