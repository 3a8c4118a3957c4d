//! Exporter of a script for Python 3 that needs only the standard library.

use std::fmt::Write as _;

use confute_drive::Kept;

use super::criterion::{BodyCheck, Check, Criterion};
use super::head::{Template, template, variable};
use super::literal::{python_bytes, python_text};
use super::program::{Op, Program};
use crate::message::{Flaw, Message, Odd};
use crate::protocol::Http;
use confute_http1::text;

/// Python code that executes the steps.
const ENGINE: &str = include_str!("reproduce.py");

/// Returns the name of a flaw in the script.
fn flaw(flaw: Flaw) -> &'static str {
    match flaw {
        Flaw::Surplus | Flaw::Overlong => "surplus",
        Flaw::Chunks => "chunks",
        Flaw::Grammar => "grammar",
        Flaw::Framing => "framing",
        Flaw::AfterClose => "after-close",
        Flaw::Tag => "tag",
        Flaw::Stalled => "stalled",
        Flaw::Breaks(rule) => rule.name(),
    }
}

/// Returns the script, or `None` if a request cannot be expressed as a template.
pub(super) fn script(
    http: &Http,
    kept: &Kept<'_, Http>,
    program: &Program,
    criterion: Result<&Criterion, &str>,
    top: &super::Top,
) -> Option<String> {
    let mut out = String::from("#!/usr/bin/env python3\n");
    for line in &top.comment {
        out.push_str(format!("# {line}").trim_end());
        out.push('\n');
    }
    let flaws = if let Ok(Criterion::Flaws(flaws)) = criterion { &flaws[..] } else { &[] };
    let names: Vec<String> = flaws.iter().map(|one| python_text(flaw(*one))).collect();
    let check = |one: &Flaw| match one {
        Flaw::Breaks(rule) => {
            Some(format!("{}: lambda response: {}", python_text(rule.name()), rule.check().python))
        }
        _ => None,
    };
    let checks: Vec<String> = flaws.iter().filter_map(check).collect();
    let secrets: Vec<String> =
        http.target.fields.iter().map(|(name, _)| python_text(&variable(name))).collect();
    let _ = write!(
        out,
        "\nimport argparse\nimport calendar\nimport os\nimport random\nimport re\nimport socket\nimport sys\nimport time\n\
         from email.utils import formatdate, parsedate\nfrom urllib.parse import urlsplit\n\n\
         WHAT = {}\nURL = {}\n# Value of Host, if it differs from the URL.\nHOST = {}\n\
         # Resource names are random in every run, with the length of this one.\nNAME = {}\nRUNS = {}\n\
         # Environment variables that hold the values of request fields.\nSECRETS = [{}]\n\
         # Flaws that are a violation in any response.\nFLAWS = set([{}])\nCHECKS = {{{}}}\n\
         # Reason why this script cannot decide, or None.\nUNDECIDED = {}\n\n\ndef steps(t):\n",
        python_text(&top.what),
        python_text(kept.url),
        top.host.as_ref().map_or("None".to_owned(), |host| python_text(host)),
        python_text(kept.name),
        top.runs,
        secrets.join(", "),
        names.join(", "),
        checks.join(", "),
        criterion.err().map_or("None".to_owned(), python_text),
    );
    for op in &program.ops {
        match op {
            Op::Ask(ask) => send(&mut out, http, program, *ask, is_extra(program, *ask, criterion.ok()))?,
            Op::Answer(place) => answer(&mut out, program, *place, criterion.ok()),
            Op::End(conn) => {
                let _ = writeln!(out, "    t.end({conn})");
            }
            Op::Pause(millis) => {
                let _ = writeln!(out, "    t.pause({millis})");
            }
        }
    }
    out.push_str(ENGINE);
    Some(out)
}

/// Returns `true` if all responses to a request are ignored.
fn is_extra(program: &Program, ask: usize, criterion: Option<&Criterion>) -> bool {
    let Some(Criterion::Answers(checks)) = criterion else { return false };
    let mut answers =
        checks.iter().zip(&program.answers).filter(|(_, answered)| answered.to == ask).peekable();
    answers.peek().is_some() && answers.all(|(check, _)| check.is_extra())
}

fn send(out: &mut String, http: &Http, program: &Program, ask: usize, is_extra: bool) -> Option<()> {
    let asked = &program.asks[ask];
    let Template { head, body, recorded } = template(http, program, asked)?;
    let _ = writeln!(out, "    t.send({}, {},", ask + 1, asked.conn);
    let lines: Vec<&str> = head.split_inclusive("\r\n").collect();
    let more = !body.is_empty() || !asked.cuts.is_empty() || asked.request.close_twice || is_extra;
    for (place, line) in lines.iter().enumerate() {
        let end = if place + 1 < lines.len() {
            ""
        } else if more {
            ","
        } else {
            ")"
        };
        let _ = writeln!(out, "           {}{end}", python_text(line));
    }
    let mut arguments = Vec::new();
    if !body.is_empty() {
        arguments.push(python_bytes(&body));
    }
    if !asked.cuts.is_empty() {
        let from_head = |at: usize| i64::try_from(at).unwrap_or(0) - i64::try_from(recorded).unwrap_or(0);
        let cuts: Vec<String> =
            asked.cuts.iter().map(|(at, millis)| format!("({}, {millis})", from_head(*at))).collect();
        arguments.push(format!("cuts=[{}]", cuts.join(", ")));
    }
    if asked.request.close_twice {
        arguments.push("times=2".to_owned());
    }
    if is_extra {
        arguments.push("extra=True".to_owned());
    }
    if more {
        let _ = writeln!(out, "           {})", arguments.join(", "));
    }
    Some(())
}

fn answer(out: &mut String, program: &Program, place: usize, criterion: Option<&Criterion>) {
    let answered = &program.answers[place];
    let then = Message::from(answered.response.clone()).to_string();
    let _ = write!(out, "    t.answer({}, {}", answered.to + 1, python_text(&then));
    let request = &program.asks[answered.to].request;
    let is_last = place + 1 == program.answers.len() && program.ends_with_answer;
    let stalls = matches!(request.odd, Some(Odd::HugeChunk | Odd::VastChunk));
    if is_last && (request.close_twice || stalls) {
        out.push_str(", optional=True");
    }
    if is_last {
        out.push_str(", last=True");
    }
    if request.odd.is_some() {
        out.push_str(", odd=True");
    }
    if answered.response.incomplete {
        out.push_str(", broken=True");
    }
    if is_extra(program, answered.to, criterion) {
        out.push_str(", extra=True");
    }
    let compared = match criterion {
        Some(Criterion::Answers(checks)) => arguments(&checks[place]),
        // The status is compared to notice refusals: a server that refuses the request does not show the flaw.
        Some(Criterion::Flaws(_)) => vec![format!("status=[{}]", answered.response.status)],
        None => Vec::new(),
    };
    for check in compared {
        let _ = write!(out, ",\n             {check}");
    }
    out.push_str(")\n");
}

fn list<T>(all: &[T], one: impl Fn(&T) -> String) -> String {
    format!("[{}]", all.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// Returns the compared properties as arguments of `answer`.
fn arguments(check: &Check) -> Vec<String> {
    let none = || "None".to_owned();
    let mut out = Vec::new();
    if !check.status.is_empty() {
        out.push(format!("status={}", list(&check.status, u16::to_string)));
    }
    if let Some(tag) = &check.tag {
        let told = tag.as_ref().map_or_else(none, |tag| {
            let same = tag.same.map_or_else(none, |place| place.to_string());
            let weak = if tag.weak { "True" } else { "False" };
            format!("({weak}, {same}, {})", list(&tag.other, usize::to_string))
        });
        out.push(format!("tag={told}"));
    }
    if let Some(date) = check.date {
        out.push(format!("date={}", date.map_or_else(none, |date| date.to_string())));
    }
    if let Some(length) = check.length {
        out.push(format!("length={}", length.map_or_else(none, |length| length.to_string())));
    }
    if let Some(range) = check.range {
        out.push(format!("part={}", range.map_or_else(none, |told| python_text(&told.to_string()))));
    }
    let bodies = |all: &[_]| list(all, |body: &std::sync::Arc<str>| python_bytes(&text::bytes(body)));
    match &check.body {
        None => {}
        Some(BodyCheck::In(all)) => out.push(format!("body_in={}", bodies(all))),
        Some(BodyCheck::NotIn(all)) => out.push(format!("body_not_in={}", bodies(all))),
    }
    if check.no_allow {
        out.push("no_allow=True".to_owned());
    }
    if check.no_continue {
        out.push("no_continue=True".to_owned());
    }
    if check.cut {
        out.push("cut=True".to_owned());
    }
    out
}
