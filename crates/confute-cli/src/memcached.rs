//! `confute memcached`: the text protocol against a live server.

use std::io::Write;

use anyhow::Result;
use confute_drive::{AnyGenerator, Target};
use confute_memcached::{Habits, Memcached, MemcachedModel, Traffic};

use crate::args::{self, Color};
use crate::live;
use confute_report::Exit;
use confute_report::{Secrets, Subject};
use confute_test::way::address;
use serde_json::json;

pub(crate) fn run(args: &args::Memcached, color: Color, out: &mut dyn Write) -> Result<Exit> {
    let protocol = Memcached::new(MemcachedModel { keeps: args.keeps });
    let shown =
        if args.address.contains(':') { args.address.clone() } else { format!("{}:11211", args.address) };
    let subject = Subject {
        model: "memcached",
        premise: "nobody else writes the keys of this run",
        shown: &shown,
        target: Target::new(address(&shown)?),
        rules: confute_memcached::rules::ALL,
        clause: |_| None,
        settings: json!({ "keeps": args.keeps }),
        secrets: Secrets::default(),
        bound: None,
    };
    let habits = Habits { large: args.large, nap: if args.expiry { 7_000 } else { 0 }, ..Habits::default() };
    let make = |_| AnyGenerator::new(Traffic::new(habits.clone()));
    live::run(&protocol, &subject, &args.flags, &make, color, out)
}
