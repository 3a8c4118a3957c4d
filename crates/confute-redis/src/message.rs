//! The messages of Redis that the tester sends and reads.

use std::fmt::{self, Display, Formatter};

use confute_service::{Draw, Field, Message, Name, nested, show};

/// A message of Redis: a request, or a response.
///
/// A transaction is one message. Its commands change nothing before EXEC, so only EXEC has a place in the order of requests; and a
/// request that names its keys can be judged apart from requests for other keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
#[message(crate = confute_service, by_hand(Display))]
pub enum Redis {
    /// Returns a string.
    #[request("GET {}", reads)]
    Get(Name),
    /// Stores a string.
    #[request("SET {} {}")]
    Set(Name, String),
    /// Stores a string if the key does not exist.
    #[request("SETNX {} {}")]
    SetNx(Name, String),
    /// Stores a string, and returns the old one.
    #[request("GETSET {} {}")]
    GetSet(Name, String),
    /// Appends to a string, and returns its length.
    #[request("APPEND {} {}")]
    Append(Name, String),
    /// Adds one to an integer, and returns it.
    #[request("INCR {}")]
    Incr(Name),
    /// Removes a key.
    #[request("DEL {}")]
    Del(Name),
    /// Sets the time to live of a key, in seconds.
    #[request("EXPIRE {} {}")]
    Expire(Name, u32),
    /// Returns the time to live of a key.
    #[request("TTL {}", reads)]
    Ttl(Name),
    /// Sets the time to live of a key, in milliseconds, and reads the server's clock afterwards: PEXPIRE and TIME.
    #[request("PEXPIRE {} {}")]
    Mortal(Name, u32),
    /// Reads the server's clock, and then asks if the key exists: TIME and EXISTS.
    #[request("EXISTS {}", reads)]
    Aged(Name),
    /// Waits this many milliseconds for a replica, which a server without replicas does to the end.
    #[request("WAIT 1 {}")]
    Nap(Millis),
    /// Adds an element at the tail of a list, and returns its length.
    #[request("RPUSH {} {}")]
    RPush(Name, String),
    /// Adds an element at the head of a list, and returns its length.
    #[request("LPUSH {} {}")]
    LPush(Name, String),
    /// Removes the head of a list, and returns it.
    #[request("LPOP {}")]
    LPop(Name),
    /// Removes the head of a list as soon as there is one, and returns it with the key.
    #[request("BLPOP {} {}", waits)]
    BlPop(Name, Timeout),
    /// Returns a list.
    #[request("LRANGE {} 0 -1", reads)]
    LRange(Name),
    /// Makes the next transaction of the connection depend on a key.
    #[request("WATCH {}")]
    Watch(Name),
    /// Forgets all watched keys of the connection.
    #[request("UNWATCH")]
    Unwatch,
    /// A transaction: MULTI, commands, and EXEC. `watched` has all keys that the connection may be watching.
    #[request("EXEC {commands} {watched}")]
    Exec {
        /// The commands.
        commands: Batch,
        /// The keys that may be watched.
        watched: Vec<Name>,
    },
    /// A transaction that is not executed: MULTI, commands, and DISCARD.
    #[request("DISCARD {commands} {watched}")]
    Discard {
        /// The commands.
        commands: Batch,
        /// The keys that may be watched.
        watched: Vec<Name>,
    },
    /// A command with too few arguments.
    #[request("GET")]
    Incomplete,
    /// Returns PONG.
    #[request("PING")]
    Ping,
    /// Returns a description of the server.
    #[request("INFO")]
    Info,
    /// The request was performed.
    #[response("OK")]
    Ok,
    /// Another simple string.
    #[response("+{}")]
    Simple(String),
    /// An error: its first word is its code.
    #[response("-{}")]
    Error(String),
    /// An integer.
    #[response("({})")]
    Integer(i64),
    /// A string.
    #[response("{}")]
    Bulk(String),
    /// Nothing.
    #[response("nil")]
    Nil,
    /// An element of a list, with the key of the list.
    #[response("{}: {}")]
    Popped(Name, String),
    /// Several values.
    #[response("{}")]
    Array(Batch),
    /// The responses to the messages of a transaction: to MULTI, to each command, and to EXEC or DISCARD.
    #[response("{}")]
    Transaction(Batch),
    /// A response, and the server's clock in milliseconds.
    #[response("{} at {}")]
    Timed(Batch, i64),
    /// Bytes that are no message.
    #[unreadable]
    Odd(String),
}

nested!(pub Batch, Redis);

impl Display for Redis {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let transaction = |f: &mut Formatter<'_>, commands: &Batch, end: &str| {
            f.write_str("MULTI; ")?;
            commands.0.iter().try_for_each(|command| write!(f, "{command}; "))?;
            f.write_str(end)
        };
        match self {
            Redis::Exec { commands, .. } if !f.alternate() => transaction(f, commands, "EXEC"),
            Redis::Discard { commands, .. } if !f.alternate() => transaction(f, commands, "DISCARD"),
            Redis::Simple(text) => write!(f, "+{}", text.escape_debug()),
            Redis::Error(text) => write!(f, "-{}", text.escape_debug()),
            // That commands are queued is no news.
            Redis::Transaction(Batch(replies)) if is_queued(replies) => {
                replies.last().map_or(Ok(()), |last| write!(f, "{last}"))
            }
            other => show(other, f),
        }
    }
}

/// Returns `true` if the responses before the last one say that a transaction has begun, and its commands are queued.
fn is_queued(replies: &[Redis]) -> bool {
    let queued = |reply: &Redis| matches!(reply, Redis::Simple(text) if text == "QUEUED");
    replies
        .split_last()
        .and_then(|(_, before)| before.split_first())
        .is_some_and(|(begun, commands)| *begun == Redis::Ok && commands.iter().all(queued))
}

impl Redis {
    /// Returns the key of a command that has exactly one.
    pub(crate) fn key(&self) -> Option<&Name> {
        match self {
            Redis::Get(key)
            | Redis::Set(key, _)
            | Redis::SetNx(key, _)
            | Redis::GetSet(key, _)
            | Redis::Append(key, _)
            | Redis::Incr(key)
            | Redis::Del(key)
            | Redis::Expire(key, _)
            | Redis::Ttl(key)
            | Redis::Mortal(key, _)
            | Redis::Aged(key)
            | Redis::RPush(key, _)
            | Redis::LPush(key, _)
            | Redis::LPop(key)
            | Redis::BlPop(key, _)
            | Redis::LRange(key) => Some(key),
            _ => None,
        }
    }

    /// Returns `true` if the command changes nothing.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(self, Redis::Get(_) | Redis::Ttl(_) | Redis::Aged(_) | Redis::LRange(_))
    }
}

/// The time that WAIT waits, in milliseconds. Zero would be for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Millis(pub u32);

impl Field for Millis {
    fn text(&self) -> String {
        self.0.to_string()
    }
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|millis| *millis > 0).map(Self)
    }
    fn draw(_: &mut Draw<'_>) -> Self {
        Self(1)
    }
    fn show(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// The longest time that BLPOP waits, in milliseconds. Zero is for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timeout(pub u32);

impl Timeout {
    /// No end.
    pub const FOREVER: Self = Self(0);
}

impl Field for Timeout {
    fn text(&self) -> String {
        format!("{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
    fn parse(text: &str) -> Option<Self> {
        let (seconds, millis) = text.split_once('.')?;
        Some(Self(seconds.parse::<u32>().ok()?.checked_mul(1_000)?.checked_add(millis.parse().ok()?)?))
    }
    fn draw(draw: &mut Draw<'_>) -> Self {
        draw.one_of(&[Self(5), Self(30)])
    }
    fn show(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}
