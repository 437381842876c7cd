use std::fmt;
use std::str::FromStr;

use serde_json::Value as Json;
use sha1::{Digest as _, Sha1};

use super::{AuthError, Response};
use mitmcraft_protocol::schema::parse_uuid;

/// Name and UUID of a player. `Debug` does not print the UUID.
#[derive(Clone, PartialEq, Eq)]
pub struct Profile {
    /// The name in the game.
    pub name: String,
    /// The account's UUID.
    pub id: u128,
}

impl Profile {
    /// Creates the profile of a player without an account. Its UUID is made from the name; servers in
    /// offline mode make their own.
    #[must_use]
    pub fn offline(name: &str) -> Self {
        let digest = Sha1::new().chain_update("OfflinePlayer:").chain_update(name).finalize();
        let bytes = digest.iter().take(16).fold(0, |id, byte| id << 8 | u128::from(*byte));
        // A UUID of version 5 (RFC 9562), which is made with SHA-1.
        let id = bytes & !(0xf << 76 | 0x3 << 62) | 0x5 << 76 | 0x2 << 62;
        Self { name: name.to_owned(), id }
    }

    /// Reads `{"id":..,"name":..}`, the form of all services.
    pub(super) fn from_json(json: &Json) -> Option<Self> {
        let id = parse_uuid(json.get("id")?.as_str()?)?;
        Some(Self { name: json.get("name")?.as_str()?.to_owned(), id })
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A profile as a user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// The profile with this name.
    Name(String),
    /// The profile with this UUID.
    Id(u128),
    /// Name and UUID: no look-up is needed.
    Known(Profile),
}

/// The error of a text that names no profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a name, a UUID, or `NAME:UUID`")]
pub struct WantedError;

impl FromStr for Wanted {
    type Err = WantedError;

    /// Parses `NAME`, a UUID with or without hyphens, or `NAME:UUID`.
    fn from_str(text: &str) -> Result<Self, WantedError> {
        let is_name = |name: &str| {
            let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            !name.is_empty() && name.len() <= NAME && name.bytes().all(known)
        };
        if let Some((name, id)) = text.split_once(':') {
            let id = parse_uuid(id).filter(|_| is_name(name)).ok_or(WantedError)?;
            return Ok(Self::Known(Profile { name: name.to_owned(), id }));
        }
        match parse_uuid(text) {
            Some(id) => Ok(Self::Id(id)),
            None if is_name(text) => Ok(Self::Name(text.to_owned())),
            None => Err(WantedError),
        }
    }
}

/// Reads the response to a request for a profile.
///
/// # Errors
/// If it contains no profile.
pub fn read_profile(service: &str, response: &Response) -> Result<Profile, AuthError> {
    match response.status {
        200 => Profile::from_json(&response.json())
            .ok_or_else(|| AuthError::Answer { service: service.to_owned(), status: 200 }),
        204 | 404 => Err(AuthError::NoProfile),
        _ => Err(AuthError::of(service, response)),
    }
}

/// Maximum length of a player name, in characters.
const NAME: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "b50ad385-829d-3141-a216-7e7d7539ba7f";

    #[test]
    fn a_profile_is_wanted_by_name_or_uuid_or_both() {
        let id = parse_uuid(ID).unwrap();
        assert_eq!("Notch".parse(), Ok(Wanted::Name("Notch".into())));
        assert_eq!(ID.parse(), Ok(Wanted::Id(id)));
        assert_eq!(ID.replace('-', "").parse(), Ok(Wanted::Id(id)));
        let known = Profile { name: "Notch".into(), id };
        assert_eq!(format!("Notch:{ID}").parse(), Ok(Wanted::Known(known)));
        for wrong in ["", "no name", "Notch:", ":1", "Notch:12", "seventeen_letters"] {
            assert!(wrong.parse::<Wanted>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_uuid_is_not_printed_for_debugging() {
        let profile = Profile { name: "Notch".into(), id: parse_uuid(ID).unwrap() };
        let wanted = Wanted::Known(profile.clone());
        let printed = format!("{profile:?} {wanted:?}");
        assert!(printed.contains("Notch"));
        assert!(!printed.contains("829d") && !printed.contains(&profile.id.to_string()));
    }
}
