use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use mitmcraft::proxy::{ColorStore, ControlHandle, FilterFiles, NamedSink, RuleEditor, StoreSink};
use mitmcraft::store::{Limit, SavedNotes, Store, StoreOptions};
use mitmcraft::tui::App;
use mitmcraft::view::words;
use mitmcraft::web::WebOptions;
use mitmcraft_engine::capture::{BodyPlaces, CommentEditor};
use mitmcraft_engine::filter::RuleSet;
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::link::Breakpoint;
use mitmcraft_protocol::schema::Catalog;
use tokio::sync::watch;

use crate::cli::output::Output;
use crate::cli::terminal_interface::TerminalInterface;

/// The state that all user interfaces of a run share.
pub(super) struct Browsing {
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    control: ControlHandle,
    /// The colours of packets.
    colors: ColorStore,
    /// The captures of the run, as the user named them.
    captures: Vec<String>,
    /// The places of bodies in the capture from which the store reads what is older than its window.
    places: Option<BodyPlaces>,
}

impl Browsing {
    /// Starts the controller, which holds the packets that match `breakpoint`.
    pub(super) fn new(
        catalog: Catalog,
        breakpoint: Option<Breakpoint>,
        colors: ColorStore,
    ) -> Self {
        let catalog = Arc::new(catalog);
        Self {
            store: Arc::new(Store::new(StoreOptions::default())),
            control: ControlHandle::start(Arc::clone(&catalog), breakpoint),
            catalog,
            colors,
            captures: Vec::new(),
            places: None,
        }
    }

    /// Returns the way to the controller.
    pub(super) fn control(&self) -> ControlHandle {
        self.control.clone()
    }

    /// Returns the options of a page that also shows and changes the filter files of the run.
    pub(super) fn web(
        &self,
        files: FilterFiles,
        sets: watch::Receiver<Vec<RuleSet>>,
    ) -> WebOptions {
        let mut options = WebOptions::new(Arc::clone(&self.store), Arc::clone(&self.catalog));
        options.live = true;
        options.colors = Some(self.colors.clone());
        options.control = Some(self.control());
        options.rules = (!files.paths().is_empty()).then(|| RuleEditor::new(files, sets));
        options
    }

    /// Returns the interface in the terminal, which begins with the packets that match.
    pub(super) fn terminal(&self, shown: Option<Expr>, output: &Output) -> TerminalInterface {
        let app = App::new(Arc::clone(&self.store), Arc::clone(&self.catalog), true);
        let app = app.filtered(shown);
        let app = match output.colors_stdout() {
            true => app.highlighted(self.colors.clone()),
            false => app,
        };
        TerminalInterface::new(app, Some(self.control()))
    }

    /// Reads what is older than the store's window in the first of the captures that allows it; if none
    /// does, the store tells why.
    pub(super) fn read_older(&mut self, captures: &mut [NamedSink]) {
        self.captures = captures.iter().map(|(name, _)| name.clone()).collect();
        // Those of sessions and of rotation have other names.
        if let Some(name) = self.captures.iter().find(|name| Path::new(name).is_file()) {
            self.store.set_name(name);
        }
        for (name, sink) in captures.iter_mut() {
            if Path::new(&*name).is_file()
                && let Some(places) = sink.body_places()
                && let Ok(capture) = File::open(&*name)
            {
                self.store.set_capture(capture);
                self.store.set_limit(Limit::InCapture(name.clone()));
                self.places = Some(places);
                return;
            }
        }
        self.store.set_limit(match captures {
            [] => Limit::NoCapture,
            _ => Limit::UnreadableCaptures,
        });
    }

    /// Starts the sink that feeds the store; it follows the captures in the log.
    pub(super) fn sink(&mut self) -> std::io::Result<NamedSink> {
        let sink = StoreSink::new(Arc::clone(&self.store), self.places.take())?;
        Ok(("the interface".to_owned(), Box::new(sink)))
    }

    /// Saves the marks and comments of the run, which has ended, in its captures. Reading a capture
    /// takes at most `memory` bytes.
    pub(super) fn save_notes(&self, memory: usize, output: &Output) {
        for name in &self.captures {
            // Those of sessions and of rotation have other names.
            if let Ok(editor) = CommentEditor::open(name.as_ref(), &self.catalog, memory) {
                self.store.save_in(editor);
            }
        }
        match &*self.store.save_notes() {
            SavedNotes::Nothing | SavedNotes::AtEnd => {}
            saved => output.note(&words::saved(saved)),
        }
    }
}
