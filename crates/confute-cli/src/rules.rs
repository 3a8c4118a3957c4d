//! `confute rules` and `confute explain`: the catalogue.

use std::io::Write;

use anyhow::{Context as _, Result};
use confute::lang::{Level, Rule};

use crate::args::{Explain, Format, Rules};
use crate::json;
use confute_record::Exit;
use confute_report::note::note;
use confute_report::style::{NOTE, STRONG};
use confute_report::text::{WIDTH, wrap};

pub(crate) fn list(args: &Rules, out: &mut dyn Write) -> Result<Exit> {
    let books: Vec<_> =
        confute_kits::books().filter(|book| args.model.is_none_or(|name| name == book.name)).collect();
    if args.format == Format::Json {
        for book in books {
            book.rules.iter().try_for_each(|rule| json::rule(book.name, rule, out))?;
        }
        return Ok(Exit::Unrefuted);
    }
    let rules = || books.iter().flat_map(|book| book.rules);
    let widest = rules().map(|rule| rule.name.len()).max().unwrap_or(0).max(4);
    writeln!(out, "{STRONG}{:widest$}  {:6}  summary{STRONG:#}", "rule", "level")?;
    for Rule { name, level, summary, .. } in rules() {
        let level = level.name();
        let mut lines = wrap(summary, WIDTH.saturating_sub(widest + 10).max(30)).into_iter();
        let first = lines.next().unwrap_or_default();
        writeln!(out, "{NOTE}{name:widest$}{NOTE:#}  {level:6}  {first}")?;
        for line in lines {
            writeln!(out, "{:widest$}  {:6}  {line}", "", "")?;
        }
    }
    Ok(Exit::Unrefuted)
}

pub(crate) fn explain(args: &Explain, out: &mut dyn Write) -> Result<Exit> {
    let (book, rule) = confute_kits::rule(args.rule).context("the rule was looked up before")?;
    let name = rule.name;
    writeln!(out, "{STRONG}{name}{STRONG:#}")?;
    for line in wrap(rule.summary, WIDTH - 2) {
        writeln!(out, "  {line}")?;
    }
    writeln!(out)?;
    if let Some(more) = confute_kits::explain(name) {
        note(out, "standard", &wrap(more.text, 64))?;
        if !more.clause.is_empty() {
            note(out, "clause", &wrap(more.clause, 64))?;
        }
    }
    note(out, "level", &wrap(&format!("{}: {}", rule.level.name(), meaning(rule.level)), 64))?;
    let about = format!("{}: {}", book.name, book.summary);
    note(out, "model", &wrap(&about, 64))?;
    let relax = [
        format!("`{} --allow {name}`", book.command),
        "judges as if the server were free to break it: what is refuted".to_owned(),
        "then, is refuted for another reason.".to_owned(),
    ];
    note(out, "relax", &relax)?;
    // Of many rules, those of the same clause.
    let group = |name: &'static str| name.split('/').next().filter(|_| book.rules.len() > 30);
    let others: Vec<&str> = book
        .rules
        .iter()
        .map(|rule| rule.name)
        .filter(|other| *other != name && group(other) == group(name))
        .collect();
    if !others.is_empty() {
        note(out, "see also", &wrap(&others.join(", "), 64))?;
    }
    Ok(Exit::Unrefuted)
}

fn meaning(level: Level) -> &'static str {
    match level {
        Level::Live => "an answer must come at all, which is seen only by waiting",
        Level::Should => "the protocol recommends it",
        Level::Steady => {
            "requests are served, and validators change only with the content; no standard demands it, so a violation \
             is a warning unless --level steady, or a promise such as --no-survey, has it count"
        }
        Level::Store => {
            "what a store with one copy does, though no standard says so; the premise is that nobody \
             else changes what the tester looks at"
        }
        Level::Must => "the protocol demands it",
    }
}
