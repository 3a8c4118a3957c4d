//! The small models of the tutorial as a kit: they judge recorded histories and traces, and do not test live servers.

use confute::check::CheckModel;
use confute_models::registry;
use confute_run::{Book, Kit};

/// The kit of the tutorial models.
pub(crate) struct Tutorial;

impl Kit for Tutorial {
    fn name(&self) -> &'static str {
        "models"
    }

    fn books(&self) -> Vec<Book> {
        let book = |model: &&'static dyn CheckModel| Book {
            name: model.name(),
            summary: model.summary(),
            rules: model.rules(),
            command: "confute check FILE",
        };
        self.check_models().iter().map(book).collect()
    }

    fn check_models(&self) -> Vec<&'static dyn CheckModel> {
        registry::models().iter().map(|model| *model as &dyn CheckModel).collect()
    }
}
