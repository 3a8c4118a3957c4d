//! Tests of live servers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use confute_testbed::embedded::{Bug, Config, Embedded};
use confute_testbed::free_port;

use super::{confute, said};

/// Milliseconds of delay that a busy machine may add.
const BUSY: f64 = 2_000.0;

/// Returns a port where no server listens.
fn closed() -> String {
    free_port().unwrap().to_string()
}

fn http(config: Config, more: &[&str]) -> (i32, String, String) {
    let server = Embedded::start(config).unwrap();
    let url = format!("http://{}/", server.addr());
    said(confute().args(["http", &url, "--seed", "1", "--connections", "8"]).args(more))
}

#[test]
fn a_correct_http_server_is_unrefuted() {
    let (code, out, err) = http(Config::default(), &["--max-time", "4s"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.starts_with("unrefuted: http://127.0.0.1:") && out.contains("= seed:     1\n"), "{out}");
}

#[test]
fn a_wrong_http_server_is_refuted() {
    let bug = Bug::from_name("if-match-ignored-on-put").unwrap();
    let (code, out, err) = http(Config::default().bug(bug), &["--max-failures", "1", "--max-time", "20s"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("rfc9110-13.1.1/if-match") && out.contains("refuted: http://"), "{out}");
    let json =
        http(Config::default().bug(bug), &["--max-failures", "1", "--max-time", "20s", "--format", "json"]);
    assert_eq!(json.0, 1, "{json:?}");
    assert!(json.1.lines().count() > 0);
    for line in json.1.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}

/// An experiment, not the proof, sets aside that a resource changed by itself. The proof decides by default.
#[test]
fn experiments_decide_only_if_asked_to() {
    let bug = Bug::from_name("if-match-ignored-on-delete").unwrap();
    let with = |more: &[&str]| {
        let args = ["--max-failures", "1", "--cases", "6", "--max-time", "20s", "--level", "must"];
        http(Config::default().bug(bug), &[&args, more].concat())
    };
    let title = "1: rfc9110-13.1.1/if-match-on-delete (level store, must by experiment)\n";
    let (code, out, err) = with(&[]);
    assert!(code == 0 && out.contains(&format!("warning {title}")), "{out}{err}");
    assert!(out.contains("= narrowed: By experiment") && out.contains("store/stays"), "{out}");
    assert!(out.contains("`--by-experiment` also counts warning 1"), "{out}");
    let (code, out, err) = with(&["--by-experiment"]);
    assert!(code == 1 && out.contains(&format!("violation {title}")), "{out}{err}");
}

/// Tests the embedded server as a gateway.
fn gateway(bug: Option<Bug>, path: &str, more: &[&str]) -> (i32, String, String) {
    let origin = closed();
    let config = Config::default().proxy("/proxy/", origin.parse().unwrap());
    let server = Embedded::start(bug.into_iter().fold(config, Config::bug)).unwrap();
    let url = format!("http://{}/{path}", server.addr());
    said(confute().args(["http", &url, "--origin", &origin, "--seed", "1"]).args(more))
}

#[test]
fn a_correct_gateway_is_unrefuted() {
    let (code, out, err) = gateway(None, "proxy", &["--cases", "8"]);
    assert_eq!(code, 0, "{out}{err}");
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("every response explained by http-gateway")
            && flat.contains("is forwarded to 127.0.0.1:"),
        "{out}"
    );
}

#[test]
fn a_wrong_gateway_is_refuted() {
    let bug = Bug::from_name("named-field-leak").unwrap();
    let more = ["--max-failures", "1", "--max-time", "20s", "-H", "X-Api-Key: hidden"];
    let (code, out, err) = gateway(Some(bug), "proxy/", &more);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("violation 1: rfc9110-7.6.1/named-fields (level must)"), "{out}");
    assert!(!out.contains("hidden") && !err.contains("hidden"), "{out}{err}");
}

/// Tests the embedded server as an origin and as a gateway, in one run.
fn both(bug: Option<Bug>, more: &[&str]) -> (i32, String, String) {
    let origin = closed();
    let config = Config::default().proxy("/proxy/", origin.parse().unwrap());
    let server = Embedded::start(bug.into_iter().fold(config, Config::bug)).unwrap();
    let url = format!("http://{}/", server.addr());
    let flags = ["--origin", &origin, "--proxy-path", "/proxy/", "--seed", "1"];
    said(confute().args(["http", &url]).args(flags).args(more))
}

#[test]
fn a_correct_origin_and_gateway_is_unrefuted() {
    let (code, out, err) = both(None, &["--cases", "10"]);
    assert_eq!(code, 0, "{out}{err}");
    let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "every response explained by http-dual",
        "nobody else writes below this URL; everything below /proxy/ is forwarded to 127.0.0.1:",
        "the server answers PUT (201), GET (200)",
        "what is below /proxy/ arrives at the origin below /,",
    ] {
        assert!(text.contains(part), "{part}: {out}");
    }
}

#[test]
fn an_origin_and_gateway_is_refuted_for_what_either_does() {
    for (name, rule) in
        [("if-match-ignored-on-put", "rfc9110-13.1.1/if-match"), ("via-missing", "rfc9110-7.6.3/via")]
    {
        let (code, out, err) = both(Bug::from_name(name), &["--max-failures", "1", "--max-time", "20s"]);
        assert_eq!(code, 1, "{out}{err}");
        assert!(out.starts_with(&format!("violation 1: {rule} (level must)")), "{out}");
        assert!(out.contains("= shrunk:"), "{out}");
        // A rule that is not required is not reported again.
        let (code, out, err) = both(Bug::from_name(name), &["--allow", rule, "--cases", "6"]);
        assert_eq!(code, 0, "{out}{err}");
    }
}

#[test]
fn what_goes_with_a_proxy_path_and_what_not() {
    let wrong = |args: &[&str]| {
        let (code, _, err) = said(confute().args(["http", "http://127.0.0.1:1/"]).args(args));
        assert_eq!(code, 2, "{args:?}: {err}");
        err
    };
    let origin = ["--origin", "127.0.0.1:9"];
    let with = |more: &[&'static str]| wrong(&[&origin[..], more].concat());
    assert!(wrong(&["--proxy-path", "/proxy/"]).contains("--origin"));
    assert!(with(&["--proxy-path", "/proxy/", "--forward"]).contains("--forward"));
    assert!(with(&["--proxy-path", "/proxy/", "--path", "/a"]).contains("--path"));
    for path in ["proxy/", "/proxy", "", "//"] {
        assert!(with(&["--proxy-path", path]).contains("begins and ends with a slash"), "{path}");
    }
    assert!(with(&["--proxy-path", "/"]).contains("a gateway only"));
    assert!(with(&["--proxy-path", "/con/", "--prefix", "con/"]).contains("--prefix"));
    let args = ["http", "http://127.0.0.1:1/a/b", "--origin", "127.0.0.1:9", "--proxy-path", "/a/"];
    let (code, _, err) = said(confute().args(args));
    assert!(code == 2 && err.contains("is not below /a/"), "{err}");
}

#[test]
fn a_server_that_does_not_forward() {
    let (code, out, _) = gateway(None, "elsewhere/", &[]);
    assert_eq!(code, 3, "{out}");
    let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("did not arrive at 127.0.0.1:") && text.contains("it was answered 404"), "{out}");
    assert!(text.contains("Does the server forward what is below /elsewhere/ to"), "{out}");
    let (code, _, err) = said(confute().args(["http", "http://127.0.0.1:1/", "--origin", "127.0.0.1:0"]));
    assert!(code == 2 && err.contains("it needs a fixed port"), "{err}");
}

/// Sends one request and returns the response.
fn asked(server: &Embedded, request: &str) -> String {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    let head =
        format!("{request} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello");
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn stored_cases_write_to_nothing_that_is_only_read() {
    let server = Embedded::start(Config::default().bug(Bug::IfMatchIgnoredOnPut)).unwrap();
    let url = format!("http://{}/", server.addr());
    let folder = std::env::temp_dir().join(format!("confute-only-read-{}", std::process::id()));
    let place = folder.display().to_string();
    let run = |more: &[&str]| {
        said(confute().args(["http", &url, "--seed", "1", "--regressions", &place]).args(more))
    };
    let (code, out, err) = run(&["--max-failures", "1", "--max-time", "20s"]);
    assert!(code == 1 && out.contains("= stored:"), "{out}{err}");
    assert!(asked(&server, "PUT /thing").contains("201"));
    let (code, out, err) = run(&["--path", "/thing", "--cases", "2"]);
    let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == 0 && text.contains("not judged: it was recorded with other resources"), "{out}{err}");
    assert!(asked(&server, "GET /thing").ends_with("hello"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn nobody_listens() {
    let address = closed();
    for args in [["http", &format!("http://{address}/")], ["memcached", &address]] {
        let (code, out, _) = said(confute().args(args));
        assert!(code == 3 && out.contains("start the server, or check host and port"), "{out}");
    }
}

#[test]
fn not_a_url() {
    for (url, hint) in [
        ("127.0.0.1:80", "did you mean http://127.0.0.1:80?"),
        ("ftp://127.0.0.1/", "ftp is not spoken"),
        ("http://192.0.2.1/", "--remote"),
    ] {
        let (code, _, err) = said(confute().args(["http", url]));
        assert!(code == 2 && err.contains(hint), "{err}");
    }
}

/// A server with many bugs, some of which leave requests without a response: there is always more to blame, to wait
/// for, to shrink and to prove.
#[test]
fn both_budgets_are_kept() {
    let bugs = [
        "torn-read",
        "two-winners",
        "hang-on-head",
        "third-unanswered",
        "length-one-short",
        "if-match-ignored-on-put",
        "closed-unanswered",
        "put-tells-old-tag",
        "range-one-short",
    ];
    let config =
        bugs.iter().fold(Config::default(), |config, name| config.bug(Bug::from_name(name).unwrap()));
    let folder = std::env::temp_dir().join(format!("confute-budgets-{}", std::process::id()));
    let place = folder.display().to_string();
    let start = Instant::now();
    let args = ["--max-time", "6s", "--shrink-time", "4s", "--report-dir", &place];
    let (code, out, err) = http(config, &args);
    let total = start.elapsed().as_secs_f64() * 1e3;
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("= budgets:") && out.contains("testing took") && out.contains("of 6.0"), "{out}");
    let summary = std::fs::read(folder.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap();
    let mut sum = 0.0;
    for (name, of) in [("testing", 6_000.0), ("after", 10_000.0)] {
        let budget = &summary["budgets"][name];
        assert_eq!(budget["of_milliseconds"], of, "{budget}");
        let took = budget["milliseconds"].as_f64().unwrap();
        // A tenth more, and the delay of a busy machine.
        assert!(took <= 1.1 * of + BUSY, "{name}: {budget}");
        sum += of;
    }
    assert!(total <= 1.1 * sum + 2.0 * BUSY, "{total} ms in all");
    std::fs::remove_dir_all(&folder).unwrap();
}
