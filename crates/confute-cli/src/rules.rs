//! `confute rules` and `confute explain`: the catalogue of rules.

use std::io::Write;

use anyhow::{Context as _, Result};
use confute::lang::{Level, Rule};

use crate::args::{Explain, Format, Rules};
use crate::json;
use confute_record::Exit;
use confute_report::note::note;
use confute_report::style::{NOTE, STRONG};
use confute_report::text::{WIDTH, wrap};
use confute_run::Explanation;

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
    let explanation = confute_kits::explain(name);
    if let Some(more) = &explanation {
        note(out, "standard", &wrap(more.text, 64))?;
        if !more.clause.is_empty() {
            note(out, "clause", &wrap(more.clause, 64))?;
        }
    }
    let has_standard = explanation.as_ref().is_some_and(|more| !more.clause.is_empty());
    let meaning = meaning(rule.level, has_standard);
    note(out, "level", &wrap(&format!("{}: {meaning}", rule.level.name()), 64))?;
    if let Some(more) = &explanation {
        demonstrate(more, out)?;
    }
    let about = format!("{}: {}", book.name, book.summary);
    note(out, "model", &wrap(&about, 64))?;
    let relax = [
        format!("`{} --allow {name}`", book.command),
        "judges as if the server were free to break it: a refutation then".to_owned(),
        "has another reason.".to_owned(),
    ];
    note(out, "relax", &relax)?;
    // For a model with many rules, only those of the same clause.
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

/// Says why a rule matters, and shows an exchange that breaks it.
fn demonstrate(more: &Explanation, out: &mut dyn Write) -> Result<()> {
    if !more.why.is_empty() {
        note(out, "why", &wrap(more.why, 64))?;
    }
    if !more.example.is_empty() {
        note(out, "example", &more.example.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    }
    if !more.curl.is_empty() {
        note(out, "try", &[more.curl.to_owned()])?;
    }
    if !more.confused_with.is_empty() {
        note(out, "compare", &wrap(&more.confused_with.join(", "), 64))?;
    }
    Ok(())
}

/// Returns the meaning of a level, for a rule of a standard or of a model that has none.
fn meaning(level: Level, has_standard: bool) -> &'static str {
    match level {
        Level::Live => "a response must arrive; a violation shows only by waiting",
        Level::Should => "the standard recommends it",
        Level::Steady => {
            "the server is available, and its validators change only with the content; no standard requires it, so a \
             violation is a warning, unless --level steady or --no-survey makes it count"
        }
        Level::Store => {
            "a store with one copy, or a gateway, behaves so, though no standard requires it; premise: nobody else \
             writes to the tested resources"
        }
        Level::Must if has_standard => "the standard requires it",
        Level::Must => "a correct server never breaks it",
    }
}
