use thiserror::Error;
use toml::de::DeTable;

use super::session_service::{check_url, escape};
use super::{Request, UrlError};

/// Addresses of the account services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// Microsoft: issues device codes.
    pub device_code: String,
    /// Microsoft: issues tokens.
    pub token: String,
    /// Xbox Live: identifies the user.
    pub xbox: String,
    /// Xbox Live: authorizes the user (XSTS).
    pub xsts: String,
    /// Minecraft: issues access tokens.
    pub minecraft: String,
    /// Minecraft: returns the profile of an access token.
    pub profile: String,
    /// Minecraft: returns the profile of a name, which is appended after a slash.
    pub lookup: String,
}

/// The reason why a file of endpoints is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EndpointsError {
    /// The file is not valid TOML.
    #[error("invalid TOML: {0}")]
    Syntax(String),
    /// A key is not the name of an endpoint.
    #[error("unknown endpoint `{name}`: expected one of {known}")]
    Unknown {
        /// The key.
        name: String,
        /// The names of all endpoints.
        known: String,
    },
    /// A value is not a valid address.
    #[error("`{name}`: {cause}")]
    Url {
        /// The endpoint.
        name: String,
        /// Why.
        cause: UrlError,
    },
}

impl Default for Endpoints {
    fn default() -> Self {
        Self {
            device_code: "https://login.microsoftonline.com/consumers/oauth2/v2.0/devicecode"
                .into(),
            token: "https://login.microsoftonline.com/consumers/oauth2/v2.0/token".into(),
            xbox: "https://user.auth.xboxlive.com/user/authenticate".into(),
            xsts: "https://xsts.auth.xboxlive.com/xsts/authorize".into(),
            minecraft: "https://api.minecraftservices.com/authentication/login_with_xbox".into(),
            profile: "https://api.minecraftservices.com/minecraft/profile".into(),
            lookup: "https://api.minecraftservices.com/minecraft/profile/lookup/name".into(),
        }
    }
}

impl Endpoints {
    /// Parses a TOML file with a key per endpoint; the others keep their defaults.
    ///
    /// # Errors
    /// The first fault of the file.
    pub fn parse(text: &str) -> Result<Self, EndpointsError> {
        let table = DeTable::parse(text)
            .map_err(|error| EndpointsError::Syntax(error.message().to_owned()))?;
        let mut endpoints = Self::default();
        for (name, value) in table.get_ref() {
            let name = name.get_ref().to_string();
            let known = endpoints.all().map(|(name, _)| format!("`{name}`")).join(", ");
            let mut all = endpoints.all().into_iter();
            let Some((_, place)) = all.find(|(key, _)| *key == name) else {
                return Err(EndpointsError::Unknown { name, known });
            };
            let url = check_url(value.get_ref().as_str().unwrap_or_default());
            *place = url.map_err(|cause| EndpointsError::Url { name, cause })?.to_owned();
        }
        Ok(endpoints)
    }

    /// Returns the request for the profile of a name.
    #[must_use]
    pub fn look_up(&self, name: &str) -> Request {
        Request::get(format!("{}/{}", self.lookup, escape(name)))
    }

    /// Returns the request for the profile of an access token.
    #[must_use]
    pub fn own_profile(&self, token: &super::Secret) -> Request {
        Request { bearer: Some(token.clone()), ..Request::get(self.profile.clone()) }
    }

    fn all(&mut self) -> [(&'static str, &mut String); 7] {
        [
            ("device_code", &mut self.device_code),
            ("token", &mut self.token),
            ("xbox", &mut self.xbox),
            ("xsts", &mut self.xsts),
            ("minecraft", &mut self.minecraft),
            ("profile", &mut self.profile),
            ("lookup", &mut self.lookup),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_missing_from_a_file_keep_their_defaults() {
        let read = Endpoints::parse("xsts = \"http://127.0.0.1:81/xsts/\"\n").unwrap();
        let expected =
            Endpoints { xsts: "http://127.0.0.1:81/xsts".into(), ..Endpoints::default() };
        assert_eq!(read, expected);
    }

    #[test]
    fn every_fault_is_told() {
        let fault = |text| Endpoints::parse(text).unwrap_err().to_string();
        assert!(fault("xsts =").starts_with("invalid TOML"));
        assert!(
            fault("xst = 'http://a'").contains("`xst`: expected one of `device_code`, `token`")
        );
        assert!(fault("xsts = 'a'").contains("`xsts`: expected `https://HOST"));
        assert!(fault("xsts = 1").contains("`xsts`"));
    }
}
