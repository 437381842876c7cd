use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::proxy::response;

/// Returns a file of the page.
pub(super) fn file(path: &str) -> Option<Response<Full<Bytes>>> {
    let path = if path == "/" { "/index.html" } else { path };
    let (_, text) = FILES.iter().find(|(name, _)| path.strip_prefix('/') == Some(*name))?;
    let kind = match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    };
    Some(response(StatusCode::OK, kind, *text))
}

/// Returns a response that says why there is nothing.
pub(super) fn refusal(status: StatusCode, why: &'static str) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", why)
}

/// Adds the headers of every response: nothing may come from elsewhere, be embedded elsewhere, or be kept, and
/// a connection has one request. Clients of WebSockets refuse any other word beside `Upgrade`.
pub(super) fn guarded<B>(mut response: Response<B>) -> Response<B> {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let connection = response.headers_mut().entry(header::CONNECTION);
    connection.or_insert(HeaderValue::from_static("close"));
    response
}

const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Includes the files of the page, each with its name.
macro_rules! files {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("page/", $name)))),*] };
}

pub(super) const FILES: &[(&str, &str)] = files![
    "index.html",
    "style.css",
    "icon.svg",
    "main.js",
    "clipboard.js",
    "colors.js",
    "columns.js",
    "connection.js",
    "context_menus.js",
    "control.js",
    "conversation.js",
    "dialogs.js",
    "dom.js",
    "export.js",
    "form.js",
    "held.js",
    "held_strip.js",
    "keys.js",
    "listing.js",
    "map.js",
    "memory.js",
    "menu.js",
    "notice.js",
    "open_capture.js",
    "packet_commands.js",
    "palette.js",
    "rules.js",
    "packets.js",
    "pages.js",
    "pair.js",
    "details.js",
    "field_rule.js",
    "filter.js",
    "filter_help.js",
    "finder.js",
    "go_to.js",
    "selected_packet.js",
    "sent.js",
    "sessions.js",
    "sought.js",
    "splitter.js",
    "state_line.js",
    "statistics.js",
    "tabs.js",
    "tail.js",
    "theme.js",
    "timeline.js",
    "virtual_list.js",
    "wrapped_list.js",
];
