//! The coverage goals: every response that a correct server can give to each command.

use crate::message::{Command, ResponseLine};

/// The coverage goals, as pairs of a command and a response.
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

/// Returns the index in [`BRANCHES`] of this command and response. Errors for non-numeric data count as one
/// goal for incr and decr together.
pub(crate) fn reached(command: &Command, line: &ResponseLine) -> Option<usize> {
    let answer = match line {
        ResponseLine::Value { .. } => "VALUE",
        ResponseLine::Miss => "END",
        ResponseLine::Stored => "STORED",
        ResponseLine::NotStored => "NOT_STORED",
        ResponseLine::Exists => "EXISTS",
        ResponseLine::NotFound => "NOT_FOUND",
        ResponseLine::Deleted => "DELETED",
        ResponseLine::Touched => "TOUCHED",
        ResponseLine::Number(_) => "a number",
        ResponseLine::ClientError(_) => "CLIENT_ERROR",
        ResponseLine::Ok | ResponseLine::Error | ResponseLine::ServerError(_) | ResponseLine::Garbage(_) => {
            return None;
        }
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
        let told =
            |command: &Command, line: &ResponseLine| reached(command, line).map(|place| BRANCHES[place]);
        assert_eq!(told(&incr, &ResponseLine::Number("2".into())), Some(("incr", "a number")));
        assert_eq!(told(&incr, &ResponseLine::Stored), None);
        let gets = Command::Get { key: key(), more: Vec::new(), unique: true };
        assert_eq!(told(&gets, &ResponseLine::Miss), Some(("gets", "END")));
    }
}
