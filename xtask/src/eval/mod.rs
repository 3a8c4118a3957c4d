//! `cargo xtask eval`: the paper's evaluation on servers built here, and on those that Debian ships.
//!
//! | module | contents |
//! |---|---|
//! | [`source`], [`mutant`], [`workshop`] | building programs from Debian's sources and files of changes |
//! | [`apache`] | evaluation of those programs and of the baseline, seed by seed |
//! | [`shipped`] | evaluation of servers as Debian ships them, with all violations |
//! | [`rest`] | Confute beside Schemathesis on a REST service |
//! | [`attempt`] | one run |
//! | [`record`], [`report`], [`figure`] | recorded runs, tables, the figure |

#![allow(clippy::cast_precision_loss, reason = "medians and pictures are for people")]

pub(crate) mod apache;
mod attempt;
mod figure;
mod mutant;
mod record;
pub(crate) mod report;
pub(crate) mod rest;
mod shipped;
mod source;
mod workshop;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;

use crate::{again_in_release, root};

#[derive(Subcommand)]
pub(crate) enum Eval {
    /// Apache: the paper's mutants and ours on a corrected baseline, built from Debian's sources
    Apache(apache::Args),
    /// Debian's nginx as an origin server
    Nginx(Common),
    /// Debian's lighttpd as an origin server
    Lighttpd(Common),
    /// Gateways as Debian ships them: apache, nginx, haproxy, squid
    Proxies(Common),
    /// Confute beside Schemathesis: the bugs of the to-do service of `examples/todo`
    Rest(rest::Args),
}

#[derive(clap::Args)]
pub(crate) struct Common {
    /// Number of seeds
    #[arg(long, default_value = "25")]
    seeds: u64,
    /// Only this server or mutant; can be given several times
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// Maximum time of a run, in seconds [default: 60 until the first violation, 10 where all are listed]
    #[arg(long, value_name = "SECONDS")]
    max_time: Option<u64>,
    /// Discard recorded runs and run again
    #[arg(long)]
    fresh: bool,
}

impl Common {
    fn max_time(&self, default: u64) -> Duration {
        Duration::from_secs(self.max_time.unwrap_or(default))
    }

    fn wants(&self, id: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == id)
    }
}

pub(crate) fn run(what: &Eval) -> Result<bool> {
    if let Eval::Rest(args) = what {
        // The programs that it runs are built like those of the tests: most of the time is waiting.
        return rest::run(args);
    }
    if cfg!(debug_assertions) {
        return again_in_release();
    }
    match what {
        Eval::Apache(args) => apache::run(args),
        Eval::Nginx(args) => shipped::origin("nginx", args),
        Eval::Lighttpd(args) => shipped::origin("lighttpd", args),
        Eval::Proxies(args) => shipped::proxies(args),
        Eval::Rest(args) => rest::run(args),
    }
}

/// Returns the directory of a part of the evaluation.
fn home(part: &str) -> Result<PathBuf> {
    Ok(root()?.join("target/eval").join(part))
}
