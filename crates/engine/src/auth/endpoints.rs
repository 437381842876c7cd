use thiserror::Error;
use toml::de::DeTable;

use super::session_service::{check_url, escape};
use super::{Request, UrlError};

/// Addresses of the account services, and what to ask Microsoft for.
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
    /// The scope that Microsoft is asked for.
    pub scope: String,
}

/// The reason why a file of endpoints is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EndpointsError {
    /// The file is not valid TOML.
    #[error("invalid TOML: {0}")]
    Syntax(String),
    /// A key is not the name of an endpoint.
    #[error("unknown endpoint `{name}`: expected one of {known}, `scope`")]
    Unknown {
        /// The key.
        name: String,
        /// The names of all endpoints.
        known: String,
    },
    /// The scope is not text.
    #[error("`scope`: expected text, such as \"XboxLive.signin offline_access\"")]
    Scope,
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
            scope: "XboxLive.signin offline_access".into(),
        }
    }
}

impl Endpoints {
    /// Returns the endpoints of applications that ask for `scope`: those of login.live.com for a scope of
    /// old Xbox Live applications (`service::user.auth.xboxlive.com::MBI_SSL`), else those of Azure.
    #[must_use]
    pub fn of_scope(scope: &str) -> Self {
        let mut endpoints = Self { scope: scope.to_owned(), ..Self::default() };
        if endpoints.is_live() {
            endpoints.device_code = "https://login.live.com/oauth20_connect.srf".into();
            endpoints.token = "https://login.live.com/oauth20_token.srf".into();
        }
        endpoints
    }

    /// Parses a TOML file with a key per endpoint, and `scope`; the others keep their defaults. `scope`, if
    /// given, takes precedence over the one in the file.
    ///
    /// # Errors
    /// The first fault of the file.
    pub fn parse(text: &str, scope: Option<&str>) -> Result<Self, EndpointsError> {
        let table = DeTable::parse(text)
            .map_err(|error| EndpointsError::Syntax(error.message().to_owned()))?;
        let table = table.get_ref();
        let own = match table.get(SCOPE) {
            Some(own) => Some(own.get_ref().as_str().ok_or(EndpointsError::Scope)?),
            None => None,
        };
        let mut endpoints = scope.or(own).map_or_else(Self::default, Self::of_scope);
        for (name, value) in table.iter().filter(|(name, _)| name.get_ref() != SCOPE) {
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

    /// Returns whether the application is one of Xbox Live, older than those of Azure.
    pub(super) fn is_live(&self) -> bool {
        self.scope.starts_with("service::")
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

/// The key of a file for the scope.
const SCOPE: &str = "scope";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_missing_from_a_file_keep_their_defaults() {
        let read = Endpoints::parse("xsts = \"http://127.0.0.1:81/xsts/\"\n", None).unwrap();
        let expected =
            Endpoints { xsts: "http://127.0.0.1:81/xsts".into(), ..Endpoints::default() };
        assert_eq!(read, expected);
    }

    #[test]
    fn every_fault_is_told() {
        let fault = |text| Endpoints::parse(text, None).unwrap_err().to_string();
        assert!(fault("xsts =").starts_with("invalid TOML"));
        assert!(
            fault("xst = 'http://a'").contains("`xst`: expected one of `device_code`, `token`")
        );
        assert!(fault("xsts = 'a'").contains("`xsts`: expected `https://HOST"));
        assert!(fault("xsts = 1").contains("`xsts`"));
        assert!(fault("scope = 1").contains("`scope`: expected text"));
    }

    #[test]
    fn a_scope_selects_the_endpoints_of_its_kind_of_application() {
        let live = "service::user.auth.xboxlive.com::MBI_SSL";
        let file = format!("scope = '{live}'\nxbox = 'http://a'");
        let read = Endpoints::parse(&file, None).unwrap();
        assert_eq!(read.token, "https://login.live.com/oauth20_token.srf");
        assert_eq!((&*read.scope, &*read.xbox), (live, "http://a"));
        let read = Endpoints::parse(&file, Some("XboxLive.signin")).unwrap();
        assert_eq!(read.token, Endpoints::default().token);
        assert_eq!(read.scope, "XboxLive.signin");
    }
}
