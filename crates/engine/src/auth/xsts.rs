use thiserror::Error;

use super::{AuthError, Response};

/// The reason why Xbox Live refuses an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum XboxError {
    /// The account is banned.
    #[error("Xbox Live has banned this account")]
    Banned,
    /// A parent has not allowed the account to play online.
    #[error(
        "a parent must allow this account to play online: sign in as the parent at \
         https://account.microsoft.com/family"
    )]
    ParentalConsent,
    /// The Microsoft account has no Xbox profile.
    #[error(
        "the Microsoft account has no Xbox profile yet: create one at https://www.xbox.com/live, or \
         start the game once with its own launcher"
    )]
    NoXboxProfile,
    /// The terms of use are not accepted.
    #[error("the account has not accepted Xbox's terms: sign in once at https://www.xbox.com")]
    Terms,
    /// Xbox Live does not exist in the account's country.
    #[error("Xbox Live is not available in the account's country")]
    Country,
    /// The age of the account's owner is not proved.
    #[error("the account needs a proof of age (in South Korea): sign in at https://www.xbox.com")]
    Age,
    /// The account is a child's that belongs to no family.
    #[error(
        "the account is a child's: an adult must add it to a family at \
         https://account.microsoft.com/family"
    )]
    Child,
    /// An error number without a known meaning.
    #[error("Xbox Live refuses the account")]
    Other,
}

/// Returns the error of a response in which Xbox Live gives no token.
pub(super) fn refusal(service: &str, response: &Response) -> AuthError {
    let json = response.json();
    let Some(number) = json["XErr"].as_u64() else { return AuthError::of(service, response) };
    let cause = match number {
        2_148_916_227 => XboxError::Banned,
        2_148_916_229 => XboxError::ParentalConsent,
        2_148_916_233 => XboxError::NoXboxProfile,
        2_148_916_234 => XboxError::Terms,
        2_148_916_235 => XboxError::Country,
        2_148_916_236 | 2_148_916_237 => XboxError::Age,
        2_148_916_238 => XboxError::Child,
        _ => XboxError::Other,
    };
    AuthError::Xbox { number, cause }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Secret;

    #[test]
    fn every_number_has_its_meaning() {
        for (number, words) in [
            (2_148_916_227_u64, "banned"),
            (2_148_916_229, "parent"),
            (2_148_916_233, "no Xbox profile"),
            (2_148_916_234, "terms"),
            (2_148_916_235, "country"),
            (2_148_916_236, "age"),
            (2_148_916_237, "age"),
            (2_148_916_238, "family"),
            (5, "refuses"),
        ] {
            let body = Secret::new(format!("{{\"Identity\":\"0\",\"XErr\":{number}}}"));
            let error = refusal("x", &Response { status: 401, retry_after: None, body });
            let message = error.to_string();
            let number = number.to_string();
            assert!(message.contains(words) && message.contains(&number), "{message}");
        }
        let down = Response { status: 503, retry_after: None, body: Secret::new("") };
        assert_eq!(refusal("x", &down), AuthError::Down { service: "x".into(), status: 503 });
    }
}
