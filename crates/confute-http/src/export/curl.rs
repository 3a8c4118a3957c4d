//! A script for bash and curl, where curl can send what was sent.
//!
//! It uses a connection for each request. As none was sent while another had no answer on its connection, that makes no
//! difference to the model: what was answered before a request was sent came before it, on whatever connection.

use std::fmt::Write as _;

use confute_drive::Kept;

use super::criterion::{BodyCheck, Check, Criterion};
use super::head::{template, variable};
use super::literal::{escaped, repeated};
use super::program::{Op, Program};
use crate::message::{Method, Msg, Told};
use crate::protocol::Http;
use crate::text;

/// What does the steps.
const ENGINE: &str = include_str!("reproduce.sh");

/// The whole script, or why there is none.
pub(super) fn script(
    http: &Http,
    kept: &Kept<'_, Http>,
    program: &Program,
    criterion: Result<&Criterion, &str>,
    top: &super::Top,
) -> Result<String, &'static str> {
    let checks = match criterion {
        Ok(Criterion::Answers(checks)) => checks,
        Ok(Criterion::Flaws(_)) => return Err("curl does not tell where an answer ends"),
        Err(_) => return Err("it could not decide"),
    };
    can_be_sent(program)?;
    let mut out = String::from("#!/usr/bin/env bash\n");
    for line in &top.comment {
        out.push_str(format!("# {line}").trim_end());
        out.push('\n');
    }
    let secrets: Vec<String> = http.target.fields.iter().map(|(name, _)| variable(name)).collect();
    let _ = write!(
        out,
        "\nWHAT={}\nURL={}\n# What Host says, if not what the URL does.\nHOST={}\nRUNS={}\n\
         # Fields whose values are taken from the environment.\nSECRETS=({})\n\nsteps() {{\n",
        quoted(&top.what),
        quoted(kept.url),
        quoted(top.host.as_deref().unwrap_or_default()),
        top.runs,
        secrets.join(" "),
    );
    for (place, op) in program.ops.iter().enumerate() {
        match op {
            Op::Ask(ask) => {
                let is_alone = is_alone(program, place, *ask);
                send(&mut out, http, program, *ask, is_alone)?;
            }
            Op::Answer(answer) => {
                let to = program.answers[*answer].to;
                if !place.checked_sub(1).is_some_and(|before| program.ops[before] == Op::Ask(to)) {
                    let _ = writeln!(out, "  wait \"$P{}\"", to + 1);
                }
                check(&mut out, program, *answer, &checks[*answer])?;
            }
            Op::End(_) => {}
            Op::Pause(millis) => {
                let _ = writeln!(out, "  pause {}.{:03}", millis / 1000, millis % 1000);
            }
        }
    }
    out.push_str("}\n");
    out.push_str(ENGINE);
    Ok(out)
}

/// Whether its answer is the next thing to wait for.
fn is_alone(program: &Program, place: usize, ask: usize) -> bool {
    matches!(program.ops.get(place + 1), Some(Op::Answer(answer)) if program.answers[*answer].to == ask)
}

/// Whether curl can send it all, or what it cannot.
fn can_be_sent(program: &Program) -> Result<(), &'static str> {
    let mut open: Vec<usize> = Vec::new();
    for op in &program.ops {
        match op {
            Op::Ask(ask) => {
                let asked = &program.asks[*ask];
                if open.iter().any(|other| program.asks[*other].conn == asked.conn) {
                    return Err(
                        "requests were sent before the one before them on their connection was answered",
                    );
                }
                if asked.request.odd.is_some() || asked.request.close_twice {
                    return Err("a request is wrong on purpose");
                }
                if !asked.cuts.is_empty() || asked.request.expect.is_some() {
                    return Err("a request was sent in pieces");
                }
                open.push(*ask);
            }
            Op::Answer(answer) => open.retain(|ask| *ask != program.answers[*answer].to),
            Op::End(conn) if open.iter().any(|ask| program.asks[*ask].conn == *conn) => {
                return Err("a connection ended before its answer came");
            }
            Op::End(_) | Op::Pause(_) => {}
        }
    }
    if program.has_dates() {
        return Err("dates would have to be calculated");
    }
    Ok(())
}

/// A text that stands for itself.
fn quoted(text: &str) -> String {
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:".contains(c));
    if is_plain { text.to_owned() } else { format!("$'{}'", escaped(text.as_bytes(), '\'')) }
}

/// Content as a file: the arguments of `content`.
fn content(name: &str, body: &str) -> Result<String, &'static str> {
    let bytes = text::bytes(body);
    if bytes.contains(&0) {
        return Err("bash cannot hold content with zero bytes");
    }
    let (unit, times, rest) = repeated(&bytes);
    let quote = |bytes: &[u8]| format!("$'{}'", escaped(bytes, '\''));
    Ok(format!("  content {name} {} {times} {}\n", quote(unit), quote(rest)))
}

fn send(
    out: &mut String,
    http: &Http,
    program: &Program,
    ask: usize,
    is_alone: bool,
) -> Result<(), &'static str> {
    let asked = &program.asks[ask];
    let number = ask + 1;
    let head = template(http, program, asked).ok_or("a request cannot be written down")?.head;
    let path = if http.is_read_only() {
        quoted(&asked.request.path)
    } else {
        format!("\"$CASE-{}\"", asked.ask.name)
    };
    let mut options = match asked.request.method {
        Method::Head => vec!["--head".to_owned()],
        Method::Get => Vec::new(),
        ref other => vec![format!("-X {}", other.name())],
    };
    for line in head.split("\r\n").skip(1).filter(|line| !line.is_empty()) {
        let name = line.split(':').next().unwrap_or_default();
        if !["Host", "Content-Length", "Accept-Encoding"].contains(&name) {
            options.push(format!("-H {}", filled(line)));
        }
    }
    if let Some(body) = &asked.request.body {
        out.push_str(&content(&format!("{number}.sent"), body)?);
        options.push(format!("--data-binary \"@$DIR/{number}.sent\""));
    }
    let end = if is_alone { String::new() } else { format!(" &\n  P{number}=$!") };
    let _ = writeln!(out, "  ask {number} {path} {}{end}", options.join(" "));
    Ok(())
}

/// A field between double quotes, with what is known only in a run.
fn filled(line: &str) -> String {
    let mut text = String::new();
    for each in line.chars() {
        if matches!(each, '"' | '\\' | '$' | '`') {
            text.push('\\');
        }
        text.push(each);
    }
    let mut out = String::new();
    let mut rest = &*text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((place, behind)) = after.split_once('}') else { break };
        out.push_str(before);
        let _ = match place.split_once(':') {
            Some(("tag", number)) => write!(out, "$(opaque {number})"),
            Some(("env", name)) => write!(out, "${{{name}}}"),
            _ => write!(out, "{{{place}}}"),
        };
        rest = behind;
    }
    format!("\"{out}{rest}\"")
}

fn check(out: &mut String, program: &Program, place: usize, check: &Check) -> Result<(), &'static str> {
    let answered = &program.answers[place];
    if answered.response.incomplete {
        return Err("an answer broke off, and curl keeps nothing of it");
    }
    let number = answered.to + 1;
    let numbered = |place: usize| program.answers[place].to + 1;
    let then = Msg::Response(answered.response.clone()).to_string();
    let _ = writeln!(out, "  answer {number} {}", quoted(&then));
    let is_last = place + 1 == program.answers.len();
    let statuses: Vec<String> = check.status.iter().map(u16::to_string).collect();
    if !statuses.is_empty() {
        let method = &program.asks[answered.to].request.method;
        let has_written = !method.is_safe() && (200..300).contains(&answered.response.status);
        let looks = match method {
            _ if is_last => "status '301 302 303 307 308 401 407 429'",
            Method::Delete if has_written => "wrote '404 410 412'",
            _ if has_written => "wrote '412'",
            _ => "status '301 302 303 307 308 401 403 405 407 408 429'",
        };
        let _ = writeln!(out, "  {looks} {}", statuses.join(" "));
    }
    match &check.tag {
        None => {}
        Some(None) => {
            let _ = writeln!(out, "  lacks {number} ETag");
        }
        Some(Some(tag)) => {
            if !is_last {
                let _ = writeln!(out, "  has {number} ETag");
            }
            let _ = writeln!(out, "  {} {number}", if tag.weak { "weak" } else { "strong" });
            if let Some(same) = tag.same {
                let _ = writeln!(out, "  same_tag {number} {}", numbered(same));
            }
            for other in &tag.other {
                let _ = writeln!(out, "  other_tag {number} {}", numbered(*other));
            }
        }
    }
    if check.date.is_some() {
        return Err("dates would have to be compared");
    }
    if check.length.is_some() || check.body.is_some() {
        let _ = writeln!(out, "  plain {number}");
    }
    match check.length {
        None => {}
        Some(None) => {
            let _ = writeln!(out, "  lacks {number} Content-Length");
        }
        Some(Some(length)) => {
            let _ = writeln!(out, "  is {number} Content-Length {length}");
        }
    }
    match check.range {
        None => {}
        Some(None) => {
            let _ = writeln!(out, "  lacks {number} Content-Range");
        }
        Some(Some(Told::Invalid)) => return Err("what is not valid would have to be recognised"),
        Some(Some(told)) => {
            let _ = writeln!(out, "  is {number} Content-Range {}", quoted(&told.to_string()));
        }
    }
    if let Some(body) = &check.body {
        let (word, all) = match body {
            BodyCheck::In(all) => ("in", all),
            BodyCheck::NotIn(all) => ("not_in", all),
        };
        let mut names = Vec::new();
        for (place, one) in all.iter().enumerate() {
            let name = format!("{number}.then{place}");
            out.push_str(&content(&name, one)?);
            names.push(name);
        }
        let _ = writeln!(out, "  body {number} {word} {}", names.join(" "));
    }
    if check.no_allow {
        let _ = writeln!(out, "  lacks {number} Allow");
    }
    if check.no_continue {
        return Err("curl does not wait for 100 as the tester does");
    }
    Ok(())
}
