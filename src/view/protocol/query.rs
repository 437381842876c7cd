use serde_json::{Map, Value as Json};

use super::{Failure, Request};

/// A request of a user interface, with the number that its answer repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The number.
    pub id: Option<u64>,
    /// The request.
    pub request: Request,
}

impl Query {
    /// Reads a request.
    ///
    /// # Errors
    /// If it is not JSON, or not a request: with its number, if it has one, and what is wrong with which of its keys.
    pub fn read(text: &str) -> Result<Self, (Option<u64>, Failure)> {
        let mut object = serde_json::from_str::<Map<String, Json>>(text)
            .map_err(|error| (None, Failure::new(format!("not a JSON object: {error}"))))?;
        let id = match object.remove("id") {
            None | Some(Json::Null) => None,
            Some(id) => {
                Some(id.as_u64().ok_or_else(|| (None, Failure::new("`id`: not a number")))?)
            }
        };
        match Request::read(object) {
            Ok(request) => Ok(Self { id, request }),
            Err(failure) => Err((id, failure)),
        }
    }
}

impl Request {
    /// Reads a request from an object without `id`.
    ///
    /// # Errors
    /// If it is not a request: with what is wrong with which of its keys.
    pub fn read(mut object: Map<String, Json>) -> Result<Self, Failure> {
        let read = |object: &Map<String, Json>| {
            serde_json::from_value::<Self>(object.clone().into()).map_err(|error| error.to_string())
        };
        read(&object).map_err(|reason| {
            // That key is to blame without which the reason is another one.
            let missing = |reason: &str| reason.starts_with("missing field");
            let keys: Vec<String> = object.keys().filter(|key| *key != "do").cloned().collect();
            let culprit = keys.into_iter().find(|key| {
                let Some(value) = object.remove(key) else { return false };
                let without = read(&object).err();
                object.insert(key.clone(), value);
                without
                    .is_none_or(|other| other != reason && !(missing(&other) && missing(&reason)))
            });
            match culprit {
                Some(key) if !reason.contains(&format!("`{key}`")) => {
                    Failure::new(format!("`{key}`: {reason}"))
                }
                _ => Failure::new(reason),
            }
        })
    }
}
