//! Messages as printed for people: one line in wire syntax, with `|` where a line break precedes data. Keys
//! are shortened and times are left out. The alternate form (`{:#}`) is the command with its key, or the
//! first word of the response.

use std::fmt::{Display, Formatter, Result};

use confute_drive::short_name;

use crate::message::{Command, Key, Message, Request, ResponseLine, Store};

impl Display for Message {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Message::Ask(request) => request.fmt(f),
            Message::Answer(answer) => answer.line.fmt(f),
        }
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let is_short = f.alternate();
        let noreply = if self.noreply && !is_short { " noreply" } else { "" };
        match &self.command {
            Command::Get { key, more, unique } => {
                f.write_str(if *unique { "gets" } else { "get" })?;
                std::iter::once(key).chain(more).try_for_each(|key| write!(f, " {}", short_name(key)))
            }
            Command::Store { how, key, .. } if is_short => write!(f, "{} {}", how.name(), short_name(key)),
            Command::Store { how, key, flags, exptime, data } => {
                write!(f, "{} {} {flags} {exptime} {}", how.name(), short_name(key), data.len())?;
                if let Store::Cas(unique) = how {
                    write!(f, " {unique}")?;
                }
                write!(f, "{noreply} | {data}")
            }
            Command::Delete { key } => write!(f, "delete {}{noreply}", short_name(key)),
            Command::Count { key, up, by } => {
                let name = if *up { "incr" } else { "decr" };
                write!(f, "{name} {} {by}{noreply}", short_name(key))
            }
            Command::Touch { key, .. } if is_short => write!(f, "touch {}", short_name(key)),
            Command::Touch { key, exptime } => write!(f, "touch {} {exptime}{noreply}", short_name(key)),
        }
    }
}

impl Display for ResponseLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            ResponseLine::Value { key, .. } if f.alternate() => write!(f, "VALUE {}", short_name(key)),
            ResponseLine::Value { key, flags, data, unique } => {
                let unique = unique.as_ref().map(|unique| unique as &dyn Display);
                value(f, key, &flags, data.len(), unique, &data)
            }
            ResponseLine::Miss => f.write_str("END (no VALUE)"),
            ResponseLine::Stored => f.write_str("STORED"),
            ResponseLine::NotStored => f.write_str("NOT_STORED"),
            ResponseLine::Exists => f.write_str("EXISTS"),
            ResponseLine::NotFound => f.write_str("NOT_FOUND"),
            ResponseLine::Deleted => f.write_str("DELETED"),
            ResponseLine::Touched => f.write_str("TOUCHED"),
            ResponseLine::Ok => f.write_str("OK"),
            // Quoted, because trailing blanks can be the violation.
            ResponseLine::Number(text) if text.ends_with(' ') => write!(f, "{text:?}"),
            ResponseLine::Number(text) => f.write_str(text),
            ResponseLine::Error => f.write_str("ERROR"),
            ResponseLine::ClientError(_) if f.alternate() => f.write_str("CLIENT_ERROR"),
            ResponseLine::ClientError(text) => write!(f, "CLIENT_ERROR{text}"),
            ResponseLine::ServerError(_) if f.alternate() => f.write_str("SERVER_ERROR"),
            ResponseLine::ServerError(text) => write!(f, "SERVER_ERROR{text}"),
            ResponseLine::Garbage(_) if f.alternate() => f.write_str("an invalid response"),
            ResponseLine::Garbage(data) => write!(f, "an invalid response: {data}"),
        }
    }
}

/// Writes a `VALUE` line, parts of which may be secret or unconstrained.
pub(crate) fn value(
    f: &mut Formatter<'_>,
    key: &Key,
    flags: &dyn Display,
    length: usize,
    unique: Option<&dyn Display>,
    data: &dyn Display,
) -> Result {
    write!(f, "VALUE {} {flags} {length}", short_name(key))?;
    unique.map_or(Ok(()), |unique| write!(f, " {unique}"))?;
    write!(f, " | {data}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_line() {
        let key: Key = "7-1f-2-k0".into();
        let how = Store::Cas("17".into());
        let store = Command::Store { how, key: key.clone(), flags: 3, exptime: 0, data: "a\r\n\"".into() };
        assert_eq!(store.clone().hushed().to_string(), r#"cas …k0 3 0 4 17 noreply | a\r\n\""#);
        assert_eq!(format!("{:#}", store.asked()), "cas …k0");
        let value = ResponseLine::Value { key, flags: 3, data: "hi".into(), unique: Some("17".into()) };
        assert_eq!(value.to_string(), "VALUE …k0 3 2 17 | hi");
        assert_eq!(format!("{:#}", Message::from(value)), "VALUE …k0");
    }
}
