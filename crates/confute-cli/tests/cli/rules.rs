//! The catalogue of rules.

use snapbox::str;

use super::{confute, said};

#[test]
fn rules_of_a_model() {
    confute().args(["rules", "kv"]).assert().code(0).stdout_eq(str![[r#"
rule                 level   summary
kv/read-sees-latest  store   A `get` returns the latest value stored under the
                             key.
kv/put-lasts         store   A confirmed `put` replaces the value for all later
                             requests.
kv/append-keeps      store   An `append` keeps the value that was stored before.

"#]]);
}

#[test]
fn all_rules_fit_in_80_columns() {
    let (code, out, _) = said(confute().arg("rules"));
    assert_eq!(code, 0);
    assert!(out.lines().count() > 15 && out.lines().all(|line| line.chars().count() <= 80), "{out}");
}

#[test]
fn rules_for_programs() {
    let (code, out, _) = said(confute().args(["rules", "--format", "json"]));
    assert_eq!(code, 0);
    for line in out.lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!((&object["confute"], &object["version"]), (&"rule".into(), &1.into()));
        let (name, model) = (object["name"].as_str().unwrap(), object["model"].as_str().unwrap());
        // The rules of HTTP are named after the standard.
        assert!(model.starts_with("http") || name.starts_with(&format!("{model}/")), "{line}");
        assert!(
            ["must", "store", "steady", "should", "live"].contains(&object["level"].as_str().unwrap()),
            "{line}"
        );
    }
}

#[test]
fn explained() {
    confute().args(["explain", "kv/put-lasts"]).assert().code(0).stdout_eq(str![[r#"
kv/put-lasts
  A confirmed `put` replaces the value for all later requests.

  = level:    store: a store with one copy, or a gateway, behaves so, though
              no standard requires it; premise: nobody else writes to the
              tested resources
  = model:    kv: A key-value store with get, put and append.
  = relax:    `confute check FILE --allow kv/put-lasts`
              judges as if the server were free to break it: a refutation then
              has another reason.
  = see also: kv/read-sees-latest, kv/append-keeps

"#]]);
}

#[test]
fn unknown_rules_have_neighbours() {
    let (code, _, err) = said(confute().args(["explain", "put-last"]));
    assert!(code == 2 && err.contains("did you mean kv/put-lasts"), "{err}");
    let (code, _, err) = said(confute().args(["explain", "zebra"]));
    assert!(code == 2 && err.contains("`confute rules` lists all"), "{err}");
}
