//! Exporter of a script for bash and curl, if curl can send the recorded requests.
//!
//! The script uses a connection for each request. This makes no difference to the model, because no request was sent
//! while another on its connection had no response: a request whose response arrived before another request was sent
//! came before that request, on whichever connections they were.

use std::fmt::Write as _;

use confute_drive::Kept;

use super::criterion::{BodyCheck, Check, Criterion};
use super::head::{template, variable};
use super::literal::{escaped, repeated};
use super::program::{Asked, Op, Program};
use crate::message::{Message, Method, RangeSent};
use crate::protocol::Http;
use confute_http1::text;

/// Maximum number of bytes of content in a command of one line.
const SHORT: usize = 40;
/// Shell functions that execute the steps.
const ENGINE: &str = include_str!("reproduce.sh");

/// Returns the script, or the reason why there is none.
pub(super) fn script(
    http: &Http,
    kept: &Kept<'_, Http>,
    program: &Program,
    criterion: Result<&Criterion, &str>,
    top: &super::Top,
) -> Result<String, &'static str> {
    let checks = match criterion {
        Ok(Criterion::Answers(checks)) => checks,
        Ok(Criterion::Flaws(_)) => return Err("curl does not report where a response ends"),
        Err(_) => return Err("it could not decide whether the violation is reproduced"),
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
        "\nWHAT={}\nURL={}\n# Value of Host, if it differs from the URL.\nHOST={}\nRUNS={}\n\
         # Environment variables that hold the values of request fields.\nSECRETS=({})\n\nsteps() {{\n",
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

/// Returns a command of one line if a single request shows the violation in every run: it prints a response that a correct
/// server does not send.
pub(super) fn command(
    http: &Http,
    kept: &Kept<'_, Http>,
    program: &Program,
    criterion: Result<&Criterion, &str>,
    top: &super::Top,
) -> Option<String> {
    let ([asked], Ok(Criterion::Answers(_))) = (&program.asks[..], criterion) else { return None };
    let is_steady = kept.again.is_some_and(|(shown, runs)| runs > 0 && shown == runs);
    if !is_steady || can_be_sent(program).is_err() {
        return None;
    }
    let root = kept.url.find("://").map(|scheme| scheme + 3)?;
    let root = &kept.url[..kept.url[root..].find('/').map_or(kept.url.len(), |path| root + path)];
    let mut path = &*asked.request.path;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:~%@+,=".contains(c);
    if !path.chars().chain(root.chars()).all(is_plain) || path.contains("/.") {
        return None;
    }
    let mut fresh = "";
    if !http.is_read_only() {
        // The resource did not exist in the case, nor may it now.
        (path, fresh) = (path.strip_suffix(&format!("-{}", asked.ask.name))?, "-$RANDOM");
    }
    let mut options = match asked.request.method {
        Method::Head => vec!["-I".to_owned()],
        Method::Get => vec!["-i".to_owned()],
        ref other => vec![format!("-i -X {}", other.name())],
    };
    // A server may prefer HTTP/2 if there is TLS.
    options.extend(kept.url.starts_with("https:").then(|| "--http1.1".to_owned()));
    options.extend(top.host.as_ref().map(|host| format!("-H {}", quoted(&format!("Host: {host}")))));
    options.extend(fields(http, program, asked)?);
    if let Some(body) = &asked.request.body {
        let bytes = text::bytes(body);
        if bytes.iter().any(|byte| b"\0\r\n".contains(byte)) || bytes.starts_with(b"@") || bytes.len() > SHORT
        {
            return None;
        }
        options.push(format!("-d {}", quoted(body)));
    }
    Some(format!("curl {} {root}{path}{fresh}", options.join(" ")))
}

/// Returns `true` if the next operation waits for the response to this request.
fn is_alone(program: &Program, place: usize, ask: usize) -> bool {
    matches!(program.ops.get(place + 1), Some(Op::Answer(answer)) if program.answers[*answer].to == ask)
}

/// Checks that curl can send all requests; the error is the reason why it cannot.
fn can_be_sent(program: &Program) -> Result<(), &'static str> {
    let mut open: Vec<usize> = Vec::new();
    for op in &program.ops {
        match op {
            Op::Ask(ask) => {
                let asked = &program.asks[*ask];
                if open.iter().any(|other| program.asks[*other].conn == asked.conn) {
                    return Err("requests were pipelined on a connection");
                }
                if asked.request.odd.is_some() || asked.request.close_twice {
                    return Err("a request is malformed on purpose");
                }
                if !asked.cuts.is_empty() || asked.request.expect.is_some() {
                    return Err("a request was sent in pieces");
                }
                open.push(*ask);
            }
            Op::Answer(answer) => open.retain(|ask| *ask != program.answers[*answer].to),
            Op::End(conn) if open.iter().any(|ask| program.asks[*ask].conn == *conn) => {
                return Err("a connection ended before its response arrived");
            }
            Op::End(_) | Op::Pause(_) => {}
        }
    }
    if program.has_dates() {
        return Err("a request contains a date that is computed from a response");
    }
    Ok(())
}

/// Returns a bash word that evaluates to `text`.
fn quoted(text: &str) -> String {
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:".contains(c));
    if is_plain { text.to_owned() } else { format!("$'{}'", escaped(text.as_bytes(), '\'')) }
}

/// Returns a call of the shell function `content`, which writes `body` into a file.
fn content(name: &str, body: &str) -> Result<String, &'static str> {
    let bytes = text::bytes(body);
    if bytes.contains(&0) {
        return Err("a variable of bash cannot hold content with zero bytes");
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
    let fields = fields(http, program, asked).ok_or("a request cannot be expressed as a template")?;
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
    options.extend(fields);
    if let Some(body) = &asked.request.body {
        out.push_str(&content(&format!("{number}.sent"), body)?);
        options.push(format!("--data-binary \"@$DIR/{number}.sent\""));
    }
    let end = if is_alone { String::new() } else { format!(" &\n  P{number}=$!") };
    let _ = writeln!(out, "  ask {number} {path} {}{end}", options.join(" "));
    Ok(())
}

/// Returns the options of curl for the fields of a request that it does not send by itself; `None` if the request cannot be
/// expressed as a template.
fn fields(http: &Http, program: &Program, asked: &Asked) -> Option<Vec<String>> {
    let head = template(http, program, asked)?.head;
    let lines = head.split("\r\n").skip(1).filter(|line| !line.is_empty());
    let is_own = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default();
        !["Host", "Content-Length", "Accept-Encoding"].contains(&name)
    };
    Some(lines.filter(is_own).map(|line| format!("-H {}", filled(line))).collect())
}

/// Returns a field line in double quotes, with substitutions for the values that are known only in a run.
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
        return Err("a response is truncated, and curl keeps nothing of it");
    }
    let number = answered.to + 1;
    let numbered = |place: usize| program.answers[place].to + 1;
    let then = Message::from(answered.response.clone()).to_string();
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
        return Err("dates of responses would have to be compared");
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
        Some(Some(RangeSent::Invalid)) => return Err("an invalid Content-Range would have to be recognised"),
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
        return Err("curl does not wait for 100 (Continue) as the tester does");
    }
    Ok(())
}
