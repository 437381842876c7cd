//! The whole way, answer by answer.

use super::*;
use crate::auth::{Profile, XboxError};

const START: Timestamp = Timestamp(1_700_000_000_000_000_000);

fn answer(status: u16, body: &Json) -> Response {
    Response { status, retry_after: None, body: Secret::new(body.to_string()) }
}

fn chain() -> Chain {
    Chain::login(Endpoints::default(), "my-app".into())
}

fn tell(chain: &mut Chain, status: u16, body: &Json) -> Result<Step, AuthError> {
    chain.handle(START, "service", &answer(status, body))
}

fn sent(chain: &Chain) -> String {
    match chain.request().body {
        Body::Json(json) => json.expose().to_owned(),
        Body::Form(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| format!("{name}={}", value.expose())).collect();
            fields.join("&")
        }
        Body::None => String::new(),
    }
}

fn code() -> Json {
    json!({
        "device_code": "dev-secret", "user_code": "ABCD-EFGH", "expires_in": 600, "interval": 3,
        "verification_uri": "https://example.org/link",
    })
}

fn microsoft() -> Json {
    json!({ "access_token": "ms-secret", "refresh_token": "refresh-secret", "expires_in": 3600 })
}

fn xbox(token: &str) -> Json {
    json!({ "Token": token, "DisplayClaims": { "xui": [{ "uhs": "user" }] } })
}

/// Continues from Microsoft's tokens to the account.
fn finish(chain: &mut Chain) -> Account {
    assert!(sent(chain).contains("\"RpsTicket\":\"d=ms-secret\""), "{}", sent(chain));
    assert_eq!(tell(chain, 200, &xbox("xbl-secret")), Ok(Step::Ask));
    assert!(sent(chain).contains("\"UserTokens\":[\"xbl-secret\"]"));
    assert_eq!(tell(chain, 200, &xbox("xsts-secret")), Ok(Step::Ask));
    assert_eq!(sent(chain), r#"{"identityToken":"XBL3.0 x=user;xsts-secret"}"#);
    let game = json!({ "access_token": "game-secret", "expires_in": 86400 });
    assert_eq!(tell(chain, 200, &game), Ok(Step::Ask));
    assert_eq!(chain.request().bearer, Some(Secret::new("game-secret")));
    assert!(!format!("{chain:?} {:?}", chain.request()).contains("-secret"));
    let profile = json!({ "id": "00000000000000000000000000000007", "name": "Steve" });
    match tell(chain, 200, &profile) {
        Ok(Step::Done(account)) => account,
        other => panic!("{other:?}"),
    }
}

fn account() -> Account {
    Account {
        profile: Profile { name: "Steve".into(), id: 7 },
        access: Secret::new("game-secret"),
        expires: START.plus(Duration::from_secs(86400)),
        refresh: Secret::new("refresh-secret"),
        client_id: "my-app".into(),
    }
}

#[test]
fn a_code_in_the_browser_leads_to_the_account() {
    let mut chain = chain();
    assert_eq!(sent(&chain), "client_id=my-app&scope=XboxLive.signin offline_access");
    let shown = DeviceCode {
        code: "ABCD-EFGH".into(),
        url: "https://example.org/link".into(),
        lives: Duration::from_secs(600),
    };
    assert_eq!(tell(&mut chain, 200, &code()), Ok(Step::Show(shown, Duration::from_secs(3))));
    assert!(sent(&chain).ends_with("device_code&device_code=dev-secret"), "{}", sent(&chain));
    let pending = json!({ "error": "authorization_pending" });
    assert_eq!(tell(&mut chain, 400, &pending), Ok(Step::Wait(Duration::from_secs(3))));
    let slow = json!({ "error": "slow_down" });
    assert_eq!(tell(&mut chain, 400, &slow), Ok(Step::Wait(Duration::from_secs(8))));
    assert_eq!(tell(&mut chain, 400, &pending), Ok(Step::Wait(Duration::from_secs(8))));
    assert_eq!(tell(&mut chain, 200, &microsoft()), Ok(Step::Ask));
    assert_eq!(finish(&mut chain), account());
}

#[test]
fn what_an_earlier_login_has_left_leads_there_without_the_user() {
    let mut chain = Chain::refresh(Endpoints::default(), &account());
    assert!(sent(&chain).contains("grant_type=refresh_token"), "{}", sent(&chain));
    assert!(sent(&chain).ends_with("refresh_token=refresh-secret"));
    assert_eq!(tell(&mut chain, 200, &microsoft()), Ok(Step::Ask));
    assert_eq!(finish(&mut chain), account());
    let mut chain = Chain::refresh(Endpoints::default(), &account());
    let gone = json!({ "error": "invalid_grant" });
    assert_eq!(tell(&mut chain, 400, &gone), Err(AuthError::LoginExpired));
}

#[test]
fn a_user_who_declines_or_takes_too_long_is_told() {
    let polling = || {
        let mut chain = chain();
        tell(&mut chain, 200, &code()).unwrap();
        chain
    };
    let declined = json!({ "error": "authorization_declined" });
    assert_eq!(tell(&mut polling(), 400, &declined), Err(AuthError::Declined));
    let expired = json!({ "error": "expired_token" });
    assert_eq!(tell(&mut polling(), 400, &expired), Err(AuthError::CodeExpired));
    let pending = answer(400, &json!({ "error": "authorization_pending" }));
    let late = START.plus(Duration::from_secs(600));
    assert_eq!(polling().handle(late, "service", &pending), Err(AuthError::CodeExpired));
}

#[test]
fn every_step_reports_its_error() {
    let unknown = json!({ "error": "unauthorized_client" });
    assert_eq!(tell(&mut chain(), 400, &unknown), Err(AuthError::UnknownClient));
    let down = AuthError::Down { service: "service".into(), status: 502 };
    assert_eq!(tell(&mut chain(), 502, &Json::Null), Err(down));
    let nonsense = AuthError::Answer { service: "service".into(), status: 200 };
    assert_eq!(tell(&mut chain(), 200, &json!({})), Err(nonsense.clone()));

    let mut chain = Chain::refresh(Endpoints::default(), &account());
    tell(&mut chain, 200, &microsoft()).unwrap();
    assert_eq!(tell(&mut chain, 200, &json!({})), Err(nonsense));
    tell(&mut chain, 200, &xbox("a")).unwrap();
    let child = json!({ "XErr": 2_148_916_238_u64 });
    let child_account = AuthError::Xbox { number: 2_148_916_238, cause: XboxError::Child };
    assert_eq!(tell(&mut chain, 401, &child), Err(child_account));
    tell(&mut chain, 200, &xbox("b")).unwrap();
    assert_eq!(tell(&mut chain, 403, &Json::Null), Err(AuthError::UnapprovedClient));
    tell(&mut chain, 200, &json!({ "access_token": "c" })).unwrap();
    assert_eq!(tell(&mut chain, 404, &Json::Null), Err(AuthError::NoProfile));
}

#[test]
fn an_old_xbox_application_asks_for_its_own_scope_at_login_live_com() {
    let scope = "service::user.auth.xboxlive.com::MBI_SSL";
    let mut chain = Chain::login(Endpoints::of_scope(scope), "0000".into());
    assert_eq!(chain.request().url, "https://login.live.com/oauth20_connect.srf");
    assert_eq!(sent(&chain), format!("client_id=0000&scope={scope}&response_type=device_code"));
    assert!(matches!(tell(&mut chain, 200, &code()), Ok(Step::Show(..))));
    assert_eq!(chain.request().url, "https://login.live.com/oauth20_token.srf");
    assert_eq!(tell(&mut chain, 200, &microsoft()), Ok(Step::Ask));
    assert!(sent(&chain).contains("\"RpsTicket\":\"t=ms-secret\""), "{}", sent(&chain));
}
