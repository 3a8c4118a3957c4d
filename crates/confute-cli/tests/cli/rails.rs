//! A stored case with many connections is printed like any other: in 80 columns, with its verdict.

use std::fmt::Write as _;
use std::path::Path;

use super::{confute, said};

/// Returns a case in which a resource is put, read on this many connections concurrently, and read with a content
/// that it never had on the last of them. As many connections again are idle.
fn case(connections: usize) -> String {
    let mut text = String::from(
        r#"{"confute":"case","version":1,"model":"http","settings":{"resources":[]},"server":"http://h/","blame":[["store/put-exact"]],"level":"store","name":"n","seed":1,"connections":99,"seen":""}"#,
    );
    let ask = |conn: usize, what: &str| {
        format!(r#"{{"step":{{"ask":{{"ask":{{{what},"name":"a"}},"on":{{"opened":{conn}}}}}}}}}"#)
    };
    let _ = write!(text, "\n{}", ask(0, r#""method":"put","body":"A""#));
    for conn in 0..connections {
        let _ = write!(text, "\n{}", ask(conn, r#""method":"get""#));
    }
    for conn in 0..2 * connections {
        let _ = write!(
            text,
            r#"
{{"event":{{"opened":{conn}}}}}"#
        );
    }
    text.push_str(
        r#"
{"event":{"sent":[0,{"request":{"method":"put","path":"/n-a","body":"A"}}]}}
{"event":{"received":[0,{"response":{"status":201}}]}}"#,
    );
    for conn in 0..connections {
        let _ = write!(
            text,
            r#"
{{"event":{{"sent":[{conn},{{"request":{{"method":"get","path":"/n-a"}}}}]}}}}"#
        );
    }
    let last = connections - 1;
    let _ = write!(
        text,
        r#"
{{"event":{{"received":[{last},{{"response":{{"status":200,"body":"B","content_length":1}}}}]}}}}
"#
    );
    text
}

#[test]
fn any_number_of_connections() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rails");
    std::fs::create_dir_all(&folder).unwrap();
    for connections in [1, 7, 8, 9, 16, 21, 60] {
        let path = folder.join(format!("{connections}.case"));
        std::fs::write(&path, case(connections)).unwrap();
        let (code, out, err) = said(confute().args(["replay", &path.display().to_string()]));
        assert_eq!((code, &*err), (1, ""), "{connections}: {out}");
        assert!(out.starts_with("violation 1: ") && out.contains("\nrefuted: "), "{out}");
        let place = path.display().to_string();
        assert!(out.lines().all(|line| line.chars().count() <= 80 || line.contains(&place)), "{out}");
        // Up to 24 events are drawn, and the omitted connections are counted.
        let idle = format!("(not drawn: {connections} connection");
        assert_eq!(out.contains(&idle), connections <= 21, "{out}");
        let last = format!("c{}", connections - 1);
        assert!(out.contains(&last) && out.contains("200 \"B\""), "{out}");
    }
}
