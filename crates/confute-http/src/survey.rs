//! Finds out, before anything is judged, whether there is an HTTP server at all and which methods it takes.

use std::sync::Arc;

use confute_drive::{Talk, Trouble};

use crate::message::{Method, Msg, Request, Response};
use crate::protocol::{Ask, Http};

/// What PUT is answered with where a collection is missing (RFC 4918, 9.7.1).
const CONFLICT: u16 = 409;
/// How often to ask a server that closes without an answer.
const TRIES: u32 = 3;

/// Asks once for each method, and says what came. Without PUT there is nothing to test but what is there already.
pub(crate) fn survey(http: &Http, talk: &Talk<'_, Http>) -> Result<Vec<String>, Trouble> {
    if !http.resources.is_empty() {
        return resources(http, talk);
    }
    if http.is_store {
        return Ok(Vec::new());
    }
    let (mut said, mut remarks) = (Vec::new(), Vec::new());
    let mut takes_put = true;
    for method in [Method::Put, Method::Get, Method::Head, Method::Delete, Method::Options] {
        let body = (method == Method::Put).then(|| "survey".into());
        let ask = Ask { method: method.clone(), name: "a".into(), body, ..Ask::default() };
        let mut response = match answer(&ask, talk) {
            // What is never answered is for the cases to judge.
            Err(Trouble::Silent { .. }) if method != Method::Put => {
                said.push(format!("{} (not at all)", method.name()));
                continue;
            }
            answer => answer?,
        };
        if method == Method::Put {
            if response.status == CONFLICT {
                remarks.extend(collect(http, talk)?);
                response = answer(&ask, talk)?;
            }
            takes_put = is_success(&response);
        }
        said.push(format!("{} ({})", method.name(), response.status));
    }
    let said = said.join(", ");
    if takes_put {
        remarks.push(format!("the server answers {said}"));
        return Ok(remarks);
    }
    Err(Trouble::Unprepared(format!(
        "the server answers {said} below {}: it takes no PUT there. Give a URL below which it does, or name resources that \
         exist with --path: then it is tested as one that can only be read. If it is to take PUT there, --no-survey has that judged",
        http.prefix
    )))
}

/// Makes the collections that the prefix consists of, the outermost first, and says so: there may be none for PUT to put
/// anything into. One that is there is not made again.
fn collect(http: &Http, talk: &Talk<'_, Http>) -> Result<Vec<String>, Trouble> {
    let mut remarks = Vec::new();
    for (end, _) in http.prefix.match_indices('/').skip(1) {
        let path: Arc<str> = http.prefix[..=end].into();
        let method = Method::Other("MKCOL".into());
        let request = Request { method, path: path.clone(), ..Request::default() };
        let replies = talk.say(&Msg::Request(request))?;
        let status = replies.into_iter().rev().find_map(|reply| match reply {
            Msg::Response(response) => Some(response.status),
            Msg::Request(_) => None,
        });
        let word = status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        remarks.push(format!("there is no collection for PUT: MKCOL {path} ({word})"));
    }
    Ok(remarks)
}

/// Looks at the resources that are there: they must be, and stay as they are.
fn resources(http: &Http, talk: &Talk<'_, Http>) -> Result<Vec<String>, Trouble> {
    let mut said = Vec::new();
    for name in &http.resources {
        let ask = Ask { name: name.clone(), ..Ask::default() };
        let (first, second) = (answer(&ask, talk)?, answer(&ask, talk)?);
        if first.status != 200 {
            return Err(Trouble::Unprepared(format!(
                "GET {name} is answered with {}: --path names resources that exist, by their whole path",
                first.status
            )));
        }
        if first.body != second.body || first.etag != second.etag {
            return Err(Trouble::Unprepared(format!(
                "GET {name} is answered differently each time: --path names resources that nobody changes"
            )));
        }
        let tag = if first.etag.is_some() { "with" } else { "without" };
        said.push(format!("{name} (200, {tag} an ETag)"));
    }
    let ask = Ask { method: Method::Head, name: http.resources[0].clone(), ..Ask::default() };
    let head = answer(&ask, talk)?.status;
    Ok(vec![format!("only read: {}; HEAD is answered with {head}", said.join(", "))])
}

/// What the canary is called.
const CANARY: &str = "canary";

/// Puts a canary there, if anything can be. Whether it arrived is seen when it is looked at.
pub(crate) fn plant(http: &Http, talk: &Talk<'_, Http>) -> bool {
    // What is only read is not written to, and cannot be forgotten either.
    if http.is_read_only() {
        return false;
    }
    let body = Some(talk.name().into());
    let ask = Ask { method: Method::Put, name: CANARY.into(), body, ..Ask::default() };
    // A server that answers wrongly now and then is the one to be asked.
    let _ = answer(&ask, talk);
    true
}

/// Its content and its tag; `None` if it is not there.
pub(crate) fn canary(talk: &Talk<'_, Http>) -> Result<Option<String>, Trouble> {
    let response = answer(&Ask { name: CANARY.into(), ..Ask::default() }, talk)?;
    match response.status {
        // A tag that is weak at first and strong later is the same one (RFC 9110, 8.8.1).
        200 => Ok(Some(format!("{:?} {:?}", response.etag.map(|tag| tag.opaque), response.body))),
        404 | 410 => Ok(None),
        status => Err(Trouble::Unprepared(format!("GET is answered with {status}"))),
    }
}

fn is_success(response: &Response) -> bool {
    (200..300).contains(&response.status)
}

/// The final response, if there is one that can be read.
fn answer(ask: &Ask, talk: &Talk<'_, Http>) -> Result<Response, Trouble> {
    for _ in 0..TRIES {
        let replies = talk.ask(ask, talk.name())?;
        let response = replies.into_iter().rev().find_map(|reply| match reply {
            Msg::Response(response) => Some(response),
            Msg::Request(_) => None,
        });
        match response {
            None => {}
            Some(response) if response.status == 0 => {
                let heard = talk.heard();
                let hint = if heard.starts_with(&[0x15, 3]) {
                    "it speaks TLS: did you mean https://?"
                } else {
                    "is this the right port?"
                };
                let start: String = String::from_utf8_lossy(&heard).chars().take(40).collect();
                return Err(Trouble::Unprepared(format!(
                    "the answer to {} is not HTTP but {start:?}; {hint}",
                    ask.method.name()
                )));
            }
            Some(response) if response.incomplete => {
                return Err(Trouble::Unprepared(format!(
                    "the answer to {} breaks off, or has no end within sight ({} bytes were read); see what it sends, with \
                     curl -v: is this the right port?",
                    ask.method.name(),
                    talk.heard_bytes()
                )));
            }
            Some(response) => return Ok(response),
        }
    }
    Err(Trouble::Fruitless { connections: TRIES })
}
