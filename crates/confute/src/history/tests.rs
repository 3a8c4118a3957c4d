//! Tests of whole histories; tests of single lines and values are beside the code they test.

use super::*;
use crate::trace::FileError;

fn history(text: &str) -> Result<History, HistoryError> {
    read(text.as_bytes(), ReadLimits { line: 200, events: 5 })
}

const EDN: &str = "; recorded by hand
{:process 0, :type :invoke, :f :put, :key \"a\", :value \"x \\\"y\\\"\"}
{:process :nemesis, :type :info, :f :kill, :value nil}
{:process 1, :type :invoke, :f :get, :key \"a\", :value nil, :time 5.5}

{:process 1, :type :ok, :f :get, :key \"a\", :value \"\"}
";

const JEPSEN: &str = "INFO  jepsen.core - Running test
INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]
INFO  jepsen.util - :nemesis\t:info\t:start\tnil
INFO  jepsen.util - 1\t:invoke\t:read\tnil
INFO  jepsen.util - 0\t:info\t:cas\t:timed-out
INFO  jepsen.util - 1\t:ok\t:read\t4
INFO  jepsen.util - 0\t:invoke\t:write\t3\n";

#[test]
fn edn_maps() {
    let history = history(EDN).unwrap();
    assert_eq!((history.format, history.nemesis, history.skipped), (Format::Edn, 1, 1));
    let ends = [Operation { invoke: 0, end: None }, Operation { invoke: 1, end: Some(2) }];
    assert_eq!(history.operations, ends);
    assert_eq!(
        history.entries[0],
        Entry {
            line: 2,
            process: 0,
            phase: Phase::Invoke,
            f: "put".into(),
            key: Some(Edn::Str("a".into())),
            value: Edn::Str("x \"y\"".into()),
            error: None,
        }
    );
    assert!(Arc::ptr_eq(&history.entries[1].f, &history.entries[2].f));
}

#[test]
fn jepsen_lines() {
    let history = history(JEPSEN).unwrap();
    assert_eq!((history.format, history.nemesis, history.skipped), (Format::Jepsen, 1, 1));
    assert_eq!(history.entries[0].value, Edn::Vector(vec![Edn::Int(1), Edn::Int(2)]));
    assert_eq!(history.entries[2].value, Edn::keyword("timed-out"));
    // Process 0 continues after `:info`.
    assert_eq!(history.operations[2], Operation { invoke: 4, end: None });
    let named =
        self::history(&format!("[main] {}", JEPSEN.trim_start_matches("INFO  jepsen.core - Running test\n")));
    assert_eq!(named.unwrap().format, Format::Jepsen);
    // Windows line endings are accepted.
    assert_eq!(self::history(&JEPSEN.replace('\n', "\r\n")).unwrap(), history);
}

#[test]
fn truncated_wherever_it_stops() {
    let edn = EDN.trim_end();
    for length in edn.rfind('\n').unwrap() + 2..edn.len() {
        let error = history(&edn[..length]).unwrap_err();
        assert!(matches!(error, HistoryError::Truncated { line: 6, .. }), "{length}: {error}");
    }
    let last = JEPSEN.rfind("INFO").unwrap();
    for length in last + 1..JEPSEN.len() {
        match history(&JEPSEN[..length]) {
            Err(HistoryError::Truncated { line: 7, .. }) => {}
            // Here the truncated value is itself a valid value.
            Ok(_) if JEPSEN[..length].ends_with(":write\t3") => {}
            other => panic!("{length}: {other:?}"),
        }
    }
}

#[test]
fn pairs_are_checked() {
    let line = |process: u64, rest: &str| format!("INFO  jepsen.util - {process}\t{rest}\n");
    let (invoke, ok) = (line(1, ":invoke\t:read\tnil"), line(1, ":ok\t:read\t1"));
    let error = |lines: &[&str]| history(&lines.concat()).unwrap_err();
    assert!(matches!(error(&[&ok]), HistoryError::NotInvoked { line: 1, process: 1, phase: Phase::Ok }));
    assert!(matches!(error(&[&invoke, &ok, &ok]), HistoryError::NotInvoked { line: 3, .. }));
    assert!(matches!(
        error(&[&invoke, "\n", &invoke]),
        HistoryError::InvokedTwice { line: 3, earlier: 1, .. }
    ));
    let write = line(1, ":ok\t:write\t1");
    assert!(matches!(error(&[&invoke, &write]), HistoryError::Mismatch { line: 2, earlier: 1, .. }));
    let info = line(1, ":info\t:read\t:timed-out");
    assert!(history(&[&*invoke, &info, &invoke].concat()).is_ok());
    assert!(matches!(error(&[&invoke, &info, &ok]), HistoryError::NotInvoked { line: 3, .. }));
}

#[test]
fn each_fault_has_its_error() {
    assert!(matches!(history("\n; nothing\n"), Err(HistoryError::Empty)));
    assert!(matches!(history("{:process :nemesis}\n"), Err(HistoryError::NoOperations)));
    assert!(matches!(history("{\"confute\":\"trace\"}"), Err(HistoryError::IsTrace { line: 1, .. })));
    assert!(matches!(history("{:a \0"), Err(HistoryError::File(FileError::NotText { offset: 4, .. }))));
    assert!(matches!(history(&"x".repeat(201)), Err(HistoryError::File(FileError::LineTooLong { .. }))));
    let more = format!("{JEPSEN}INFO  jepsen.util - 0\t:ok\t:write\t3\n");
    assert!(matches!(history(&more), Err(HistoryError::TooManyEntries { line: 8, .. })));
    assert_eq!(
        history("\n\u{1b}]hi\tthere\n").unwrap_err().to_string(),
        "line 2, byte 1: neither a Confute trace, nor EDN maps, JSON objects or jepsen.util lines; is it the right \
         file? It starts with: \\u{1b}]hi\\tthere"
    );
    assert_eq!(
        history("{:process 1, :type :invoke, :f :put}\n{:process 1, :type :ok, :f :put")
            .unwrap_err()
            .to_string(),
        "line 2, byte 37: the file ends in the middle of an entry; was the writer killed? \
         Remove this line to use the rest"
    );
    let broken = history("{:process 1, :type :invoke, :f :put}\n{:process 1] }\n").unwrap_err().to_string();
    assert!(broken.starts_with("line 2, column 12 (byte 48): a closing bracket"), "{broken}");
    for text in
        ["{:process -1}", "{:process 1}", "{:process 1, :type :done}", "{:process 1, :type :ok}", "{:a 1} 5"]
    {
        assert!(matches!(history(text), Err(HistoryError::Broken { line: 1, .. })), "{text}");
    }
}

#[test]
fn one_vector() {
    let lines = history(EDN).unwrap();
    let inner = EDN.split_inclusive('\n').skip(1).fold(String::new(), |all, line| all + "  " + line);
    let vector = |open: &str, close: &str| {
        let text = format!("{open}{inner}{close}");
        read(text.as_bytes(), ReadLimits { line: 400, events: 5 })
    };
    for (open, close) in [("[", "]"), ("\n[\n", "]\n\n"), (" [ ; all\n", "\n] ,\n")] {
        let whole = vector(open, close).unwrap();
        assert_eq!((whole.format, whole.nemesis, &whole.operations), (Format::Edn, 1, &lines.operations));
        let values =
            |history: &History| history.entries.iter().map(|it| it.value.clone()).collect::<Vec<_>>();
        assert_eq!(values(&whole), values(&lines));
    }
    let one_line = "[".to_owned() + &inner.replace('\n', " ") + "]";
    let limits = ReadLimits { line: 1000, events: 5 };
    assert_eq!(read(one_line.as_bytes(), limits).unwrap().operations, lines.operations);
    let records = one_line.replace("  {", "#jepsen.history.Op{");
    assert_eq!(read(records.as_bytes(), limits).unwrap().operations, lines.operations);
    // A map over several lines, with brackets in strings and characters.
    let spread = "[{:process 0, ; ] the first\n :type :invoke,\n :f :put, :value \"]}\\\"\" :x \\]}]";
    assert_eq!(history(spread).unwrap().entries[0].value, Edn::Str("]}\"".into()));

    assert!(matches!(vector("[", ""), Err(HistoryError::Truncated { line: 5, .. })));
    assert!(matches!(vector("[", "{:process 1, "), Err(HistoryError::Truncated { line: 6, .. })));
    let broken = vector("[", "\n{:process 1,\n :type ]}]").unwrap_err().to_string();
    assert!(broken.starts_with("line 8, column 8 (byte "), "{broken}");
    let trailing = vector("[", "]\n 5").unwrap_err().to_string();
    assert!(
        trailing.contains("line 7, column 2") && trailing.contains("after the end of the vector"),
        "{trailing}"
    );
    for element in ["5", "#{1}", ":a", "\"x\""] {
        let text = format!("[{{:process :nemesis}} {element}]");
        assert!(matches!(history(&text), Err(HistoryError::Broken { line: 1, .. })), "{text}");
    }
    assert!(matches!(history("[]"), Err(HistoryError::UnknownForm { .. } | HistoryError::Empty)));
    assert!(matches!(vector("[", &"{".repeat(900)), Err(HistoryError::File(FileError::LineTooLong { .. }))));
}

#[test]
fn json_objects() {
    let lines = r#"{"process": 0, "type": "invoke", "f": "put", "key": "a", "value": "x"}
{"process": "nemesis", "type": "info", "f": "kill"}
{"process": 0, "type": "fail", "f": "put", "key": "a", "error": ["refused", 5]}
"#;
    let history = history(lines).unwrap();
    assert_eq!((history.format, history.nemesis, history.entries.len()), (Format::Json, 1, 2));
    assert_eq!(history.entries[1].error, Some(Edn::Vector(vec![Edn::Str("refused".into()), Edn::Int(5)])));
    let array = format!("[\n{}]", lines.trim_end().replace('\n', ",\n"));
    let limits = ReadLimits { line: 400, events: 5 };
    assert_eq!(read(array.as_bytes(), limits).unwrap().operations, history.operations);
    let spread = array.replace('{', "{\n  ").replace(", \"", ",\n  \"");
    assert_eq!(read(spread.as_bytes(), limits).unwrap().operations, history.operations);
    for length in lines.rfind('{').unwrap() + 1..lines.len() - 1 {
        let error = self::history(&lines[..length]).unwrap_err();
        assert!(matches!(error, HistoryError::Truncated { line: 3, .. }), "{length}: {error}");
    }
    let broken = self::history("{\"process\": 0,\n\"type\": 5}").unwrap_err();
    assert!(matches!(broken, HistoryError::Broken { line: 1, .. }), "{broken}");
}
