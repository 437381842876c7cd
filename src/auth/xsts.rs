use super::{AuthError, Response};

/// What Xbox Live means when it gives no token: the reasons have numbers, and users need words.
pub(super) fn refusal(service: &str, response: &Response) -> AuthError {
    let json = response.json();
    let Some(number) = json["XErr"].as_u64() else { return AuthError::of(service, response) };
    let words = match number {
        2_148_916_227 => "Xbox Live has banned this account",
        2_148_916_229 => {
            "a parent has to allow this account to play online: sign in as the parent at \
             https://account.microsoft.com/family"
        }
        2_148_916_233 => {
            "the Microsoft account has no Xbox profile yet: make one at https://www.xbox.com/live, \
             or by starting the game once with its own launcher"
        }
        2_148_916_234 => {
            "the account has not accepted Xbox's terms: sign in once at https://www.xbox.com"
        }
        2_148_916_235 => "Xbox Live is not available in the account's country",
        2_148_916_236 | 2_148_916_237 => {
            "the account needs a proof of age (in South Korea): sign in at https://www.xbox.com"
        }
        2_148_916_238 => {
            "the account is a child's: an adult has to add it to a family at \
             https://account.microsoft.com/family"
        }
        _ => return AuthError::Refused(format!("Xbox Live refuses the account (XErr {number})")),
    };
    AuthError::Refused(format!("{words} (XErr {number})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Secret;

    #[test]
    fn every_number_has_its_words() {
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
            let told = error.to_string();
            assert!(told.contains(words) && told.contains(&number.to_string()), "{told}");
        }
        let down = Response { status: 503, retry_after: None, body: Secret::new("") };
        assert_eq!(refusal("x", &down), AuthError::Down { service: "x".into(), status: 503 });
    }
}
