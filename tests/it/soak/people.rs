//! People who hold packets for a moment, on a page that comes and goes.

use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::page::Page;

/// Holds chat for a moment, forwards it and leaves, again and again.
pub(super) fn hold(url: &str, running: &RwLock<()>, over: &AtomicBool) {
    for turn in 0.. {
        if over.load(Ordering::Relaxed) {
            return;
        }
        let session = running.read().unwrap();
        let mut page = Page::open(url);
        let direction = ["serverbound", "clientbound"][turn % 2];
        let condition = format!("chat and {direction}");
        page.ask(json!({ "do": "break", "where": condition, "overtaken": turn % 4 < 2 }));
        std::thread::sleep(Duration::from_millis(100));
        page.ask(json!({ "do": "break", "where": "" }));
        page.ask(json!({ "do": "forward_all", "session": null }));
        drop(page);
        drop(session);
        std::thread::sleep(Duration::from_millis(300));
    }
}
