//! What there is to reach: commands, and what a correct server can make of each.

use crate::message::{Command, Line};

/// A command and an answer.
pub(crate) const BRANCHES: [(&str, &str); 25] = [
    ("get", "VALUE"),
    ("get", "END"),
    ("gets", "VALUE"),
    ("gets", "END"),
    ("set", "STORED"),
    ("add", "STORED"),
    ("add", "NOT_STORED"),
    ("replace", "STORED"),
    ("replace", "NOT_STORED"),
    ("append", "STORED"),
    ("append", "NOT_STORED"),
    ("prepend", "STORED"),
    ("prepend", "NOT_STORED"),
    ("cas", "STORED"),
    ("cas", "EXISTS"),
    ("cas", "NOT_FOUND"),
    ("delete", "DELETED"),
    ("delete", "NOT_FOUND"),
    ("incr", "a number"),
    ("incr", "NOT_FOUND"),
    ("decr", "a number"),
    ("decr", "NOT_FOUND"),
    ("count", "CLIENT_ERROR"),
    ("touch", "TOUCHED"),
    ("touch", "NOT_FOUND"),
];

/// Which of them this is. What is no number can be counted neither up nor down.
pub(crate) fn reached(command: &Command, line: &Line) -> Option<usize> {
    let answer = match line {
        Line::Value { .. } => "VALUE",
        Line::Miss => "END",
        Line::Stored => "STORED",
        Line::NotStored => "NOT_STORED",
        Line::Exists => "EXISTS",
        Line::NotFound => "NOT_FOUND",
        Line::Deleted => "DELETED",
        Line::Touched => "TOUCHED",
        Line::Number(_) => "a number",
        Line::ClientError(_) => "CLIENT_ERROR",
        Line::Ok | Line::Error | Line::ServerError(_) | Line::Garbage(_) => return None,
    };
    let name = match command {
        Command::Get { unique: false, .. } => "get",
        Command::Get { unique: true, .. } => "gets",
        Command::Store { how, .. } => how.name(),
        Command::Delete { .. } => "delete",
        Command::Count { .. } if answer == "CLIENT_ERROR" => "count",
        Command::Count { up: true, .. } => "incr",
        Command::Count { up: false, .. } => "decr",
        Command::Touch { .. } => "touch",
    };
    BRANCHES.iter().position(|branch| *branch == (name, answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_come_has_a_place() {
        let key = || "k".into();
        let incr = Command::Count { key: key(), up: true, by: 1 };
        let told = |command: &Command, line: &Line| reached(command, line).map(|place| BRANCHES[place]);
        assert_eq!(told(&incr, &Line::Number("2".into())), Some(("incr", "a number")));
        assert_eq!(told(&incr, &Line::Stored), None);
        let gets = Command::Get { key: key(), more: Vec::new(), unique: true };
        assert_eq!(told(&gets, &Line::Miss), Some(("gets", "END")));
    }
}
