//! Control of running sessions by people, sans-IO.
//!
//! A [`Controller`] connects user interfaces with sessions. Interfaces send requests and get answers
//! and pushes, all of them JSON, so that every interface and the tests use the same protocol. Sessions
//! get [`Command`](crate::link::Command)s and return [`Report`](crate::link::Report)s.
//!
//! | request | meaning |
//! | --- | --- |
//! | `{"do":"break","where":"chat","overtaken":false}` | holds packets that match from now on, in all sessions; `"where":""` holds no more |
//! | `{"do":"forward","session":1,"held":3}`, `"drop"` | decides on a held packet |
//! | `{"do":"edit","session":1,"held":3,"fields":{..}}` | sends these fields, or `"body":"0a1b"`, instead of it |
//! | `{"do":"forward_all"}` | forwards everything that is held, of one `"session"` or of all |
//! | `{"do":"held","session":1,"held":3}` | asks for the fields and the body of a held packet |
//! | `{"do":"send","session":1,"to":"server","packet":"chat","fields":{..}}` | sends a packet, or `"body"`; `"times":5,"interval":"50ms"` repeats it; `"resent":7` names the packet that it repeats |
//! | `{"do":"kick","session":1,"text":"Bye"}` | ends a session |
//!
//! A request may have an `id` of any kind. Its answer has the same `id`, and `error` with `message` and,
//! if a field is to blame, `path`. All interfaces get pushes:
//!
//! | push | meaning |
//! | --- | --- |
//! | `{"push":"control",..}` | the break condition, its `by`, the number of interfaces |
//! | `{"push":"held","session":1,"held":3,"since":1700000000000,..}` | a packet is held, since a time in milliseconds |
//! | `{"push":"decided","session":1,"held":3,"as":"drop"}` | what becomes of it when its turn comes |
//! | `{"push":"message","session":1,"text":".."}` | a command could not be carried out to its end |
//! | `{"push":"released","session":1,"held":3,"how":"then dropped"}` | it is not held any more |

mod controller;
mod held_packet;
mod packet_expression;
mod request;
#[cfg(test)]
mod tests;

pub use controller::Controller;
use held_packet::HeldPacket;
pub use packet_expression::{packet_expression, packet_rule};
use request::{Request, RequestError, Target};
