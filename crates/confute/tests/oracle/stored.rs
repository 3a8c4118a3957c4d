//! Triples in files: traces that the engine once judged wrongly, and traces that show a planted fault.
//!
//! A seed loses its meaning when a generator changes; a stored triple contains its model, as data.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use confute::network::{Tcp, Udp};
use confute::trace::Event;
use serde::{Deserialize, Serialize};

use super::mini::{Mini, Msg, RULE_NAME};
use super::random::{Net, Triple};

/// A triple as it is stored.
#[derive(Serialize, Deserialize)]
pub struct Stored {
    mini: Mini,
    net: Wire,
    /// `true` if the only rule of the model is relaxed.
    relaxed: bool,
    most_deviations: Option<u32>,
    events: Vec<Event<Msg>>,
}

const RELAXED: &[&str] = &[RULE_NAME];

/// A network as it is stored.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wire {
    Direct,
    Tcp { breaks: bool },
    Udp { loss: bool, duplication: bool, reordering: bool },
}

impl Stored {
    pub fn of(triple: &Triple, events: &[Event<Msg>]) -> Self {
        let net = match triple.net {
            Net::Direct => Wire::Direct,
            Net::Tcp(Tcp { breaks }) => Wire::Tcp { breaks },
            Net::Udp(Udp { loss, duplication, reordering }) => Wire::Udp { loss, duplication, reordering },
        };
        let relaxed = !triple.relaxed.is_empty();
        let most_deviations = triple.most_deviations;
        Self { mini: Mini::clone(&triple.mini), net, relaxed, most_deviations, events: events.to_vec() }
    }

    pub fn triple(self) -> Triple {
        let net = match self.net {
            Wire::Direct => Net::Direct,
            Wire::Tcp { breaks } => Net::Tcp(Tcp { breaks }),
            Wire::Udp { loss, duplication, reordering } => Net::Udp(Udp { loss, duplication, reordering }),
        };
        Triple {
            seed: 0,
            mini: Rc::new(self.mini),
            net,
            relaxed: if self.relaxed { RELAXED } else { &[] },
            most_deviations: self.most_deviations,
            events: self.events,
            damaged: true,
        }
    }
}

/// Returns the folder of stored triples.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored").join(name)
}

/// Returns the stored triples of a folder, each with its name, in order of names.
pub fn all(name: &str) -> Vec<(String, Triple)> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |file: PathBuf| {
        let stored: Stored = serde_json::from_str(&std::fs::read_to_string(&file).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        (file.file_stem().unwrap().to_string_lossy().into_owned(), stored.triple())
    };
    files.into_iter().map(read).collect()
}

/// Stores a triple.
pub fn store(folder_name: &str, name: &str, triple: &Triple, events: &[Event<Msg>]) {
    let stored = Stored::of(triple, events);
    std::fs::create_dir_all(folder(folder_name)).unwrap();
    let file = folder(folder_name).join(format!("{name}.json"));
    std::fs::write(file, serde_json::to_string(&stored).unwrap() + "\n").unwrap();
}
