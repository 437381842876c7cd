use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{Profile, Secret};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::format_uuid;

/// A logged-in account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The player.
    pub profile: Profile,
    /// The access token, which joins servers.
    pub access: Secret,
    /// The time at which the access token expires.
    pub expires: Timestamp,
    /// The refresh token, which obtains the next access token.
    pub refresh: Secret,
    /// Client id of the application that the user has authorized.
    pub client_id: String,
}

impl Account {
    /// Returns whether the access token has expired or is about to.
    #[must_use]
    pub fn is_stale(&self, now: Timestamp) -> bool {
        now.plus(MARGIN) >= self.expires
    }

    pub(super) fn to_json(&self) -> Json {
        json!({
            "name": self.profile.name,
            "id": format_uuid(self.profile.id),
            "access_token": self.access.expose(),
            "expires": self.expires.0 / NANOS,
            "refresh_token": self.refresh.expose(),
            "client_id": self.client_id,
        })
    }

    pub(super) fn from_json(json: &Json) -> Option<Self> {
        let text = |key: &str| json[key].as_str();
        Some(Self {
            profile: Profile::from_json(json)?,
            access: Secret::new(text("access_token")?),
            expires: Timestamp(json["expires"].as_u64()?.checked_mul(NANOS)?),
            refresh: Secret::new(text("refresh_token")?),
            client_id: text("client_id")?.to_owned(),
        })
    }
}

/// Time before its expiry at which a token is renewed: clocks differ, and a login takes time.
const MARGIN: Duration = Duration::from_secs(300);

/// Nanoseconds per second.
const NANOS: u64 = 1_000_000_000;
