//! A case that a weak rule explains does not hide the violations of stronger rules in later cases. There are two small
//! servers: one ignores conditions and responds with 201 to every PUT, as rclone does, and the other evicts stored
//! content.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use confute::lang::Level;
use confute_drive::{AnyGenerator, Conclusion, Outcome, Peer, Plan, Replay, Step, Target, Until, campaign};
use confute_http::encode::Target as Authority;
use confute_http::message::{Method, Tag};
use confute_http::{AskRequest, AskTag, AskTags, Http};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Ignores conditions, and responds with 201 to every PUT.
    Careless,
    /// Removes a resource before the third request for it.
    Evicts,
}

type Stored = Arc<Mutex<HashMap<String, (Vec<u8>, u64, u32)>>>;

fn start(manner: Manner) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (stored, tags) = (Stored::default(), Arc::new(AtomicU64::new(1)));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (stored, tags) = (stored.clone(), tags.clone());
            thread::spawn(move || serve(manner, &stream, &stored, &tags));
        }
    });
    address
}

fn serve(manner: Manner, stream: &TcpStream, stored: &Stored, tags: &AtomicU64) -> Option<()> {
    let (mut input, mut out) = (BufReader::new(stream), stream);
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if input.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let field = |name: &str| {
            let named =
                |line: &&String| line.split(':').next().is_some_and(|it| it.eq_ignore_ascii_case(name));
            lines
                .iter()
                .find(named)
                .and_then(|line| line.split_once(':'))
                .map(|(_, value)| value.trim().to_owned())
        };
        let words: Vec<&str> = lines.first()?.split(' ').collect();
        let (method, path) = (*words.first()?, (*words.get(1)?).to_owned());
        let mut body = vec![0; field("Content-Length").map_or(0, |length| length.parse().unwrap())];
        input.read_exact(&mut body).ok()?;
        let mut stored = stored.lock().unwrap();
        let asked = stored.get_mut(&path).map_or(0, |(_, _, asked)| {
            *asked += 1;
            *asked
        });
        if manner == Manner::Evicts && asked == 2 {
            stored.remove(&path);
        }
        let tag = stored.get(&path).map(|(_, tag, _)| format!("\"{tag}\""));
        let careful = manner != Manner::Careless;
        let fails = careful
            && (field("If-Match").is_some_and(|wanted| tag.as_ref() != Some(&wanted))
                || field("If-None-Match").is_some_and(|wanted| tag.as_ref() == Some(&wanted)));
        let (status, content) = match method {
            "PUT" | "DELETE" if fails => (412, Vec::new()),
            "PUT" => {
                let fresh = tags.fetch_add(1, Ordering::Relaxed);
                let old = stored.insert(path.clone(), (body, fresh, 0));
                (if old.is_some() && careful { 204 } else { 201 }, Vec::new())
            }
            "DELETE" => (if stored.remove(&path).is_some() { 204 } else { 404 }, Vec::new()),
            _ => stored.get(&path).map_or((404, Vec::new()), |(body, ..)| (200, body.clone())),
        };
        let told = stored.get(&path).filter(|_| method != "DELETE" && status < 300);
        let tag = told.map_or(String::new(), |(_, tag, _)| format!("ETag: \"{tag}\"\r\n"));
        let length =
            if status == 204 { String::new() } else { format!("Content-Length: {}\r\n", content.len()) };
        out.write_all(format!("HTTP/1.1 {status} Done\r\n{tag}{length}\r\n").as_bytes()).ok()?;
        if method != "HEAD" {
            out.write_all(&content).ok()?;
        }
    }
}

fn ask(method: Method) -> AskRequest {
    let body = (method == Method::Put).then(|| "content".into());
    AskRequest { method, name: "a".into(), body, ..AskRequest::default() }
}

/// Returns a script of three requests, each sent after the response to the previous one.
fn script(kind: u64) -> AnyGenerator<'static> {
    // Steps alternate with waits, so the PUT is step 0.
    let last = match kind {
        0 => AskRequest { if_none_match: Some(AskTags::one(AskTag::Seen(0))), ..ask(Method::Put) },
        1 => ask(Method::Put),
        2 => {
            let guess = AskTag::Guess(Tag::strong(Tag::MADE_UP));
            AskRequest { if_match: Some(AskTags::one(guess)), ..ask(Method::Delete) }
        }
        _ => ask(Method::Get),
    };
    let steps = [ask(Method::Put), ask(Method::Get), last].into_iter().flat_map(|ask| {
        [
            Step::Ask { on: Peer::Opened(0), ask: ask.into(), cuts: Vec::new() },
            Step::Wait(Until::Outstanding(0)),
        ]
    });
    AnyGenerator::new::<Http>(Replay::new(steps.collect()))
}

/// Runs five cases that a weak rule explains, and then cases of all kinds in turn.
fn go(manner: Manner) -> Outcome {
    let address = start(manner);
    let target = Authority { host: address.to_string(), ..Authority::default() };
    let http = Http::origin(target, "/");
    let plan = Plan { cases: Some(60), ..Plan::new(Target::new(address)) };
    let make = |case: u64| script(if case < 5 { 0 } else { case % 4 });
    campaign(&http, &plan, &make, &mut (), &AtomicBool::new(false))
}

fn titles(outcome: &Outcome) -> Vec<String> {
    let title = |sets: &[confute::Diagnosis]| {
        sets.iter().map(|one| one.rules.join(" + ")).collect::<Vec<_>>().join(" | ")
    };
    outcome.findings.iter().map(|finding| title(&finding.diagnoses)).collect()
}

#[test]
fn plain_breaches_are_named_though_a_weak_rule_explains_the_first_case() {
    let outcome = go(Manner::Careless);
    assert_eq!(outcome.conclusion, Conclusion::Refuted);
    let named: BTreeSet<&str> =
        outcome.findings.iter().flat_map(|one| &one.diagnoses).flat_map(|one| one.rules.clone()).collect();
    for rule in
        ["rfc9110-9.3.4/replaced", "rfc9110-13.1.2/if-none-match", "rfc9110-13.1.1/if-match-on-delete"]
    {
        assert!(named.contains(rule), "{rule} was never named: {:#?}", titles(&outcome));
    }
    assert!(!outcome.relaxed.contains(&"store/stays"), "{:?}", outcome.relaxed);
    // The server may evict, so no MUST was violated.
    let levels: Vec<_> = outcome.findings.iter().map(|finding| finding.level).collect();
    assert!(levels.iter().all(|level| *level < Some(Level::Must)), "{levels:?} {:#?}", titles(&outcome));
}

#[test]
fn a_server_that_evicts_is_not_accused_of_a_must() {
    let outcome = go(Manner::Evicts);
    assert_eq!(outcome.conclusion, Conclusion::Refuted);
    for (finding, title) in outcome.findings.iter().zip(titles(&outcome)) {
        assert!(
            title.contains("store/stays") && finding.level == Some(Level::Store),
            "{title} {:?}",
            finding.level
        );
    }
}
