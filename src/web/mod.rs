//! The interface in a browser: a page of static files, and a WebSocket over which it asks a [`Viewer`].
//!
//! # Messages
//!
//! All messages are JSON objects. The first one from the page is `{"token":T}` with the token in the
//! fragment of the printed URL; the answer is `{"hello":{..}}`. Afterwards, a request has an `id`, which its answer
//! repeats, and a word in `do`. An answer has `error` if the request failed.
//!
//! | `do` | further keys | answer |
//! | --- | --- | --- |
//! | `view` | `filter`, `sessions` (numbers), `from` and `to` (ms since 1970) | selects the packets of the list; `error` has `message`, `hint`, `start`, `end` in UTF-16 units; `warnings` |
//! | `check` | `filter` | the same, and selects nothing |
//! | `complete` | `filter`, `at` | `start`, `names` |
//! | `rows` | `start`, `count` | `total`, `rows` from an index in the list |
//! | `details` | `row` | fields with their bytes, leg states, comment, `bytes` as base64 |
//! | `search` | `text`; empty ends it | finds text or bytes (`0a:1b`) in bodies |
//! | `find` | `row`, `back` | the next `row` of the list that the search finds, and its `index` |
//! | `index` | `row` | its `index` in the list |
//! | `sessions` | | `sessions` |
//! | `conversation` | `start`, `count` | `total`, `lines`: chat as players read it |
//! | `statistics` | | starts counting the list; the push `statistics` follows |
//! | `compare` | `a`, `b` | `fields` of two packets side by side |
//! | `annotate` | `row`, `marked`, `comment` | notes something about a packet, for all interfaces and exports |
//! | `export` | `format`: `pcapng`, `jsonl`, `json`, `hex`, `rule`, `command`; `rows` or `"marked"`, without them the list | `piece` as base64, `last` |
//! | `export_more` | | the next `piece` of the list |
//! | `expression` | `row` | an `expression` and a `rule` for packets like it |
//! | `packets` | `session`, `dir`, `state` (that of the session) | `names` of packets |
//! | `form` | the same, `packet`, `text` (fields as JSON; without them, the simplest); `set` with `raw`, `add`, `remove`: a change at a JSON pointer; or only `row` | `text`, `body`, and `lines`, which say what each value can hold; `error` with its `pointer` |
//! | `rules` | | `files` with `path` and `text`; `counts` of their rules |
//! | `rule_counts` | | `counts` |
//! | `check_rules` | `text` | `faults` |
//! | `save_rules` | `file`, `base` (the text that was read), `text` | `error` if the file is not `base` any more, with its `text`, or if there are `faults` |
//!
//! While a proxy runs, all other requests go to its controller: see [`control`](crate::control).
//!
//! Unasked, the page gets `{"push":"state",..}` when what is held or found has changed (at most ten times
//! a second, and only as fast as it reads), and `{"push":"statistics",..}`.

mod access;
mod answers;
mod client;
mod export;
mod files;
mod packet_form;
mod packet_requests;
mod request;
mod rules;
#[cfg(test)]
mod tests;
mod viewer;
mod web_server;

use access::Access;
use client::Client;
use export::Export;
use packet_requests::{FormPlace, FormRequest};
use request::{Exported, Request};
pub use viewer::Viewer;
pub use web_server::{WebOptions, WebServer};
