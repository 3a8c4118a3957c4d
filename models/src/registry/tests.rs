//! Tests that names are unique and consistent, and that files of every format end in a case or in a one-line
//! error.

use super::*;

fn loaded(text: &str, name: Option<&str>) -> Result<(&'static dyn Named, Loaded), String> {
    let asked = name.map(|name| model(name).unwrap());
    let loaded = load(text.as_bytes(), asked, ReadLimits::default()).map_err(|problem| problem.to_string());
    assert!(!matches!(&loaded, Err(line) if line.contains('\n')));
    loaded
}

fn wrong(text: &str, name: Option<&str>) -> String {
    loaded(text, name).err().unwrap()
}

#[test]
fn names_are_unique_and_rules_carry_them() {
    for named in models() {
        assert_eq!(model(named.name()).unwrap().summary(), named.summary());
        assert!(!named.rules().is_empty(), "{}", named.name());
        for listed in named.rules() {
            assert!(listed.name.starts_with(&format!("{}/", named.name())), "{}", listed.name);
            assert_eq!(rule(listed.name).unwrap().0.name(), named.name());
        }
    }
    assert!(networks().iter().all(|listed| network(listed.name()).is_some()));
    assert!(model("kw").is_none() && network("sctp").is_none() && rule("kv/none").is_none());
}

#[test]
fn every_model_reads_back_what_it_simulates() {
    let plan = ExchangePlan { messages: 50, connections: 3, ..ExchangePlan::default() };
    for named in models() {
        for network in networks() {
            let case = named.simulate(*network, &plan).unwrap();
            let header = confute::trace::Header::new(named.name(), network.name());
            let mut file = Vec::new();
            case.write(&header, &mut file).unwrap();
            let (found, again) = loaded(std::str::from_utf8(&file).unwrap(), None).unwrap();
            assert_eq!((found.name(), again.header), (named.name(), Some(header)));
            assert_eq!(again.case.events(), case.events());
            for place in 0..case.events() {
                assert_eq!(again.case.event(place), case.event(place));
                assert_eq!(again.case.line(place), Some(place + 2));
            }
        }
    }
}

const READERS: &str = "name the model: --model register, kv, queue, stack, counter, set or list-append";
const EDN: &str = "\n{:process 1, :type :invoke, :f :get, :key \"a\", :value nil}\n";
const TRACE: &str = "{\"confute\":\"trace\",\"version\":1,\"model\":\"kv\",\"network\":\"tcp\"}\n";

#[test]
fn histories_are_for_those_who_read_them() {
    let (_, loaded) = loaded(EDN, Some("kv")).unwrap();
    assert_eq!((loaded.case.events(), loaded.case.line(0)), (1, Some(2)));
    assert!(wrong(EDN, None).ends_with(READERS));
    assert!(wrong(EDN, Some("echo")).contains("cannot read histories"));
    assert!(wrong(EDN, Some("register")).starts_with("line 2: the register model knows"));
}

#[test]
fn a_trace_and_the_model_asked_for_agree() {
    assert_eq!(loaded(TRACE, None).unwrap().0.name(), "kv");
    assert_eq!(loaded(TRACE, Some("kv")).unwrap().0.name(), "kv");
    assert!(wrong(TRACE, Some("echo")).contains("recorded for model \"kv\", not `echo`"));
    assert!(
        wrong(&TRACE.replace("kv", "k\\nv"), None).contains("recorded for model \"k\\nv\", which is not")
    );
}

#[test]
fn what_is_neither_is_called_so() {
    for blank in ["", "\n \n"] {
        assert!(wrong(blank, None).starts_with("the file is empty"));
    }
    assert!(wrong("hello", Some("kv")).starts_with("line 1, byte 0: neither a Confute trace"));
    assert!(wrong("a\0b", Some("kv")).starts_with("line 1, byte 1: not a text file"));
    assert!(wrong(&TRACE.replace(":1", ":2"), None).contains("version 2 is not supported"));
    assert!(wrong(&format!("{TRACE}{{\"sent\":[0,{{"), None).contains("ends in the middle of an event"));
}
