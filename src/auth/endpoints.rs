use thiserror::Error;
use toml::de::DeTable;

use super::session_service::{check_url, escape};
use super::{Request, UrlError};

/// Where the services are that know of accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// Microsoft's: gives a code to be typed in a browser.
    pub device_code: String,
    /// Microsoft's: gives tokens.
    pub token: String,
    /// Xbox Live's: who the user is.
    pub xbox: String,
    /// Xbox Live's: what the user may do.
    pub xsts: String,
    /// Minecraft's: gives the access token.
    pub minecraft: String,
    /// Minecraft's: whose access token it is.
    pub profile: String,
    /// Minecraft's: which UUID a name has; the name is added behind a slash.
    pub lookup: String,
}

/// Why a file says no endpoints. Its text is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EndpointsError {
    /// It is no TOML.
    #[error("no TOML: {0}")]
    Syntax(String),
    /// There is no such endpoint.
    #[error("no endpoint is called `{name}`; there are {known}")]
    Unknown {
        /// What stands there.
        name: String,
        /// What could.
        known: String,
    },
    /// It is no address.
    #[error("`{name}`: {cause}")]
    Url {
        /// Of which endpoint.
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
    /// Reads a file in TOML, a line an endpoint; those that it does not say stay.
    ///
    /// # Errors
    /// [`EndpointsError`] at the first fault.
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

    /// Asks which UUID a name has.
    #[must_use]
    pub fn look_up(&self, name: &str) -> Request {
        Request::get(format!("{}/{}", self.lookup, escape(name)))
    }

    /// Asks whose access token it is.
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
    fn what_a_file_does_not_say_stays() {
        let read = Endpoints::parse("xsts = \"http://127.0.0.1:81/xsts/\"\n").unwrap();
        let expected =
            Endpoints { xsts: "http://127.0.0.1:81/xsts".into(), ..Endpoints::default() };
        assert_eq!(read, expected);
    }

    #[test]
    fn every_fault_is_told() {
        let fault = |text| Endpoints::parse(text).unwrap_err().to_string();
        assert!(fault("xsts =").starts_with("no TOML"));
        assert!(fault("xst = 'http://a'").contains("`xst`; there are `device_code`, `token`"));
        assert!(fault("xsts = 'a'").contains("`xsts`: expected `https://HOST"));
        assert!(fault("xsts = 1").contains("`xsts`"));
    }
}
