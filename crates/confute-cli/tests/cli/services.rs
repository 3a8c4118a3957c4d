//! `confute rest` on real services, started from packages of `PyPI` and npm: none of their documents needs help, and only known
//! violations are reported. `docs/rest.md` has the bytes. And documents and services that are of no use: one clear message each.

use confute_testbed::rest::{RestServer, Service};
use serde_json::Value;

use super::real::running;
use super::{confute, said};

/// Rules that explain what was also shown by hand. A run of a few seconds need not find it, and may name what it saw differently.
fn known(service: Service) -> &'static [&'static str] {
    match service {
        // PATCH loads an item and stores all of it: updates are lost.
        Service::FastApi | Service::Django => &[
            "rest/update-kept",
            "rest/patch-keeps",
            "rest/as-sent",
            "rest/reads-latest",
            "rest/response-own",
            "rest/id-reused",
        ],
        Service::JsonServer => &["rest/response-own", "rest/id-reused"],
        Service::Smorest => &[],
        // PATCH brings back what DELETE has removed meanwhile, or overwrites what PUT has written, and DELETE compares If-Match too
        // early.
        Service::Kinto => &[
            "rest/deleted-is-gone",
            "rest/reads-latest",
            "rest/if-match-race",
            "rest/if-match",
            "rest/update-kept",
            "rest/response-own",
        ],
    }
}

/// Runs the tester on a service for a few seconds.
fn test(service: Service) {
    let Some(server) = running(RestServer::start(service)) else { return };
    let folder = std::env::temp_dir().join(format!("confute-{}-{}", service.name(), std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let document = folder.join("openapi");
    std::fs::write(&document, server.document().unwrap()).unwrap();
    let url = format!("http://{}/", server.address());
    let credentials = service.credentials().map(|field| ["-H", field]);
    let run = confute()
        .arg("rest")
        .arg(&document)
        .args([&url, "--max-time", "3s", "--no-shrink", "--format", "json", "--seed", "1", "--workers", "2"])
        .args(credentials.into_iter().flatten());
    let (code, out, err) = said(run);
    std::fs::remove_dir_all(&folder).unwrap();
    // On a busy machine a few seconds may not suffice for a verdict.
    assert!(matches!(code, 0 | 1 | 3), "{out}{err}");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_known = |rule: &Value| known(service).iter().any(|known| rule == known);
    for blame in lines.iter().filter_map(|line| line["blame"].as_array()) {
        // A violation may have several explanations, or none that was found in time.
        let explains = |set: &Value| set["rules"].as_array().unwrap().iter().all(is_known);
        assert!(blame.is_empty() || blame.iter().any(explains), "{blame:?} is new: {out}");
    }
    let end = lines.iter().find(|line| line["confute"] == "run").unwrap();
    assert!(end["answers"].as_u64().unwrap() > 50, "hardly anything was tested: {end}");
}

#[test]
fn fastapi() {
    test(Service::FastApi);
}

#[test]
fn django() {
    test(Service::Django);
}

#[test]
fn smorest() {
    test(Service::Smorest);
}

#[test]
fn kinto() {
    test(Service::Kinto);
}

#[test]
fn json_server() {
    test(Service::JsonServer);
}

/// A lost update beside an id that was given again, and a list between them: the removal and the list are not taken apart, or the blame
/// would be that the id was in use.
#[test]
fn a_lost_update_is_no_id_in_use() {
    let case = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/lost_update.case");
    let (code, out, err) = said(confute().args(["replay", case]));
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("violation 1: rest/update-kept, or rest/response-own (level should)"), "{out}");
}

/// Kinto without credentials: the message names the status, and the verdict is no verdict.
#[test]
fn a_login_is_asked_for() {
    let Some(server) = running(RestServer::start(Service::Kinto)) else { return };
    let document = std::env::temp_dir().join(format!("confute-login-{}", std::process::id()));
    std::fs::write(&document, server.document().unwrap()).unwrap();
    let url = format!("http://{}/", server.address());
    let (code, out, err) = said(confute().arg("rest").arg(&document).args([&url, "--max-time", "2s"]));
    std::fs::remove_file(&document).unwrap();
    assert_eq!(code, 3, "{out}{err}");
    let all = format!("{out}{err}");
    assert!(all.contains("401") && all.contains("-H"), "{all}");
}

/// Runs the tester with a document of this text on a server that need not be there.
fn refuses(name: &str, text: &str, parts: &[&str]) {
    let document = std::env::temp_dir().join(format!("confute-{name}-{}", std::process::id()));
    std::fs::write(&document, text).unwrap();
    let (code, out, err) = said(confute().arg("rest").arg(&document).arg("http://127.0.0.1:9/"));
    std::fs::remove_file(&document).unwrap();
    assert_eq!(code, 2, "{out}{err}");
    for part in parts {
        assert!(err.contains(part), "no `{part}` in: {err}");
    }
}

#[test]
fn documents_of_no_use_are_refused() {
    refuses("broken", "openapi: 3.0.0\npaths: [\n", &["line 3", "next: correct the YAML"]);
    refuses(
        "lost",
        "openapi: 3.0.0\npaths:\n  /a: {$ref: '#/nowhere'}\n",
        &["`#/nowhere` does not resolve", "line 3"],
    );
    refuses(
        "empty",
        "openapi: 3.0.0\npaths:\n  /health: {get: {}}\n",
        &["no path of the document fits a resource", "GET /health"],
    );
}
