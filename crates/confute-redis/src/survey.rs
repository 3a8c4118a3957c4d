//! Requests outside of cases: the password, and the questions whether this is a Redis server that can be tested.

use confute_drive::Trouble;
use confute_service::wire::RespValue;
use confute_service::{Caller, Name, Outside};

use crate::kit::{PASSWORD, Password};
use crate::message::{Batch, Redis};

/// Seconds after which a canary expires.
const DAY: u32 = 86_400;

/// The requests outside of cases.
pub(crate) struct Survey {
    pub(crate) password: Option<Password>,
}

impl Survey {
    /// Returns the trouble behind a response that is an error, or none of Redis.
    fn trouble(&self, request: &str, reply: Option<&Redis>) -> Trouble {
        let Some(reply) = reply else {
            let why = format!("it closed the connection after {request}: is it a Redis server?");
            return Trouble::Unprepared(why);
        };
        let Redis::Error(text) = reply else {
            let why = format!("it is no Redis server: {request} is answered with {reply}");
            return Trouble::Unprepared(why);
        };
        let advice = match text.split(' ').next().unwrap_or_default() {
            "NOAUTH" if self.password.is_some() => format!("it refused the password in {PASSWORD}"),
            "NOAUTH" => {
                format!("it needs a password: set {PASSWORD}, and --user for a user other than `default`")
            }
            "NOPERM" => "the user may not use this command: choose another one with --user".to_owned(),
            "DENIED" => {
                "it is in protected mode: set a password on it, or run Confute on its machine".to_owned()
            }
            "READONLY" => "it is a read-only replica: test its primary".to_owned(),
            "MOVED" | "CLUSTERDOWN" | "CROSSSLOT" => {
                "it is part of a cluster, which this model does not cover: test a single server".to_owned()
            }
            "LOADING" => "it is loading its data: try again when it is done".to_owned(),
            "OOM" => "its memory is full: raise `maxmemory`".to_owned(),
            _ => "it cannot be tested like this".to_owned(),
        };
        Trouble::Unprepared(format!("{advice} ({request} is answered with -{text})"))
    }

    /// Sends a request, and returns its response if it is the right one.
    fn expect(
        &self,
        call: &Caller<'_, Redis>,
        request: &Redis,
        is_right: impl Fn(&Redis) -> bool,
    ) -> Result<Redis, Trouble> {
        let reply = call(request)?.into_iter().next();
        match reply {
            Some(reply) if is_right(&reply) => Ok(reply),
            other => Err(self.trouble(&format!("{request:#}"), other.as_ref())),
        }
    }
}

/// Returns the value of a field in the response to INFO.
fn field<'t>(info: &'t str, name: &str) -> Option<&'t str> {
    info.lines().find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'))
}

impl Outside<Redis> for Survey {
    fn survey(&self, call: &Caller<'_, Redis>) -> Result<Vec<String>, Trouble> {
        self.expect(call, &Redis::Ping, |reply| *reply == Redis::Simple("PONG".to_owned()))?;
        let key = Name::number(0);
        self.expect(call, &Redis::Set(key.clone(), "survey".to_owned()), |reply| *reply == Redis::Ok)?;
        self.expect(call, &Redis::Del(key), |reply| matches!(reply, Redis::Integer(_)))?;
        // A server may hide this, and can be tested all the same.
        let Some(Redis::Bulk(info)) = call(&Redis::Info)?.into_iter().next() else { return Ok(Vec::new()) };
        let mut remarks = Vec::new();
        if let Some(version) = field(&info, "redis_version") {
            remarks.push(format!("the server says that it is Redis {version}"));
        }
        let policy = field(&info, "maxmemory_policy").unwrap_or("noeviction");
        if policy != "noeviction" && field(&info, "maxmemory").is_some_and(|most| most != "0") {
            remarks.push(format!(
                "the server evicts keys when its memory is full (maxmemory-policy {policy}): a key that disappears is reported"
            ));
        }
        Ok(remarks)
    }

    fn canary(&self) -> Option<(Redis, Redis)> {
        let key = Name::number(0);
        let write = Redis::Set(key.clone(), "canary".to_owned());
        let commands = Batch(vec![write, Redis::Expire(key.clone(), DAY)]);
        Some((Redis::Exec { commands, watched: Vec::new() }, Redis::Get(key)))
    }

    fn greeting(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(Password { user, password }) = &self.password {
            let words = [Some("AUTH"), user.as_deref(), Some(password)];
            RespValue::request(&words.into_iter().flatten().collect::<Vec<_>>(), &mut bytes);
        }
        bytes
    }
}
