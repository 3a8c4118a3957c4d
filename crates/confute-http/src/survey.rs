//! Survey before the first case: checks that there is an HTTP server and which methods it accepts.

use std::sync::Arc;

use confute_drive::{Peer, Step, Talk, Trouble, Until};

use crate::ask::AskRequest;
use crate::message::{Flaw, Message, Method, Request, Response};
use crate::protocol::{Http, OriginSide};

/// Status of a PUT into a missing collection (RFC 4918, 9.7.1).
const CONFLICT: u16 = 409;
/// Number of attempts in a row with a server that closes without a response.
const TRIES: u32 = 3;
/// Number of bytes without a response that are more than a connection which broke off.
const LONG: usize = 64 << 10;
/// Number of characters that are shown of a response that is not HTTP.
const SHOWN: usize = 40;

/// Sends one request with each method and reports the responses. Without PUT, only existing resources can be tested.
pub(crate) fn survey(origin: &OriginSide, talk: &Talk<'_, Http>) -> Result<Vec<String>, Trouble> {
    if !origin.resources.is_empty() {
        return resources(origin, talk);
    }
    if origin.is_store {
        return Ok(Vec::new());
    }
    let asks = [Method::Put, Method::Get, Method::Head, Method::Delete, Method::Options].map(|method| {
        let body = (method == Method::Put).then(|| "survey".into());
        AskRequest { method, name: "a".into(), body, ..AskRequest::default() }
    });
    let (mut remarks, mut responses) = (Vec::new(), answers(&asks, talk)?);
    let is_status = |responses: &[Option<Response>], is: &dyn Fn(u16) -> bool| {
        responses[0].as_ref().is_some_and(|response| is(response.status))
    };
    if is_status(&responses, &|status| status == CONFLICT) {
        remarks.extend(collect(origin, talk)?);
        // Without the collections nothing could be stored.
        talk.forget();
        responses = answers(&asks, talk)?;
    }
    let said: Vec<_> =
        asks.iter().zip(&responses).map(|(ask, response)| said(ask, response.as_ref())).collect();
    let said = said.join(", ");
    // Whether PUT is accepted is unknown if the head of the response broke off.
    if is_status(&responses, &|status| matches!(status, 0 | 200..300)) {
        remarks.push(format!("the server answers {said}"));
        return Ok(remarks);
    }
    Err(Trouble::Unprepared(format!(
        "the server answers {said} below {}: it does not accept PUT there. Give a URL below which it does, or name existing \
         resources with --path to test it by reading only. If it should accept PUT there, --no-survey tests that",
        origin.prefix
    )))
}

/// Describes a response in a word.
fn said(ask: &AskRequest, response: Option<&Response>) -> String {
    let what = match response {
        None => "no response".to_owned(),
        Some(Response { status: 0, partial: Some(partial), .. }) => format!("no response: {partial}"),
        Some(Response { status, partial: None, incomplete: true, .. }) => {
            format!("{status}, and no end within the limit")
        }
        Some(Response { status, partial: None, .. }) => status.to_string(),
        Some(Response { status, partial: Some(partial), .. }) => format!("{status}, broken off: {partial}"),
    };
    format!("{} ({what})", ask.method.name())
}

/// Creates the collections that the prefix consists of, the outermost first, and reports this: PUT may have failed
/// because they are missing. MKCOL does not replace an existing collection.
fn collect(origin: &OriginSide, talk: &Talk<'_, Http>) -> Result<Vec<String>, Trouble> {
    let mut remarks = Vec::new();
    for (end, _) in origin.prefix.match_indices('/').skip(1) {
        let path: Arc<str> = origin.prefix[..=end].into();
        let method = Method::Other("MKCOL".into());
        let request = Request { method, path: path.clone(), ..Request::default() };
        let replies = talk.say(&request.into())?;
        let status = replies.iter().rev().find_map(Message::response).map(|response| response.status);
        let word = status.map_or_else(|| "no response".to_owned(), |status| status.to_string());
        remarks.push(format!("PUT needs a collection: MKCOL {path} ({word})"));
    }
    Ok(remarks)
}

/// Checks that the existing resources can be read and do not change.
fn resources(origin: &OriginSide, talk: &Talk<'_, Http>) -> Result<Vec<String>, Trouble> {
    let read =
        |method: Method, name: &Arc<str>| AskRequest { method, name: name.clone(), ..AskRequest::default() };
    let twice = origin.resources.iter().flat_map(|name| [read(Method::Get, name), read(Method::Get, name)]);
    let asks: Vec<_> = twice.chain([read(Method::Head, &origin.resources[0])]).collect();
    let responses = answers(&asks, talk)?;
    let mut said = Vec::new();
    for (name, pair) in origin.resources.iter().zip(responses.chunks(2)) {
        let [Some(first), second] = pair else { continue };
        if first.status != 200 {
            return Err(Trouble::Unprepared(format!(
                "GET {name} is answered with {}: --path names resources that exist, by their whole path",
                first.status
            )));
        }
        let is_other = |second: &Response| first.body != second.body || first.etag != second.etag;
        let are_whole = |second: &&Response| !first.incomplete && !second.incomplete;
        if second.as_ref().filter(are_whole).is_some_and(is_other) {
            return Err(Trouble::Unprepared(format!(
                "GET {name} is answered differently each time: --path names resources that nobody changes"
            )));
        }
        let tag = if first.etag.is_some() { "with" } else { "without" };
        let broken = first.partial.map_or_else(String::new, |partial| format!(", broken off: {partial}"));
        said.push(format!("{name} (200, {tag} an ETag{broken})"));
    }
    let head = responses.last().and_then(Option::as_ref);
    let head = head.map_or_else(|| "nothing".to_owned(), |head| head.status.to_string());
    Ok(vec![format!("only read: {}; HEAD is answered with {head}", said.join(", "))])
}

/// Sends these asks one after the other, on one connection as long as the server keeps it open, and returns the final
/// responses. Each belongs to a case that is judged. The last ones are missing if one broke off before, because each of
/// them would take as long; the first one is not.
fn answers(asks: &[AskRequest], talk: &Talk<'_, Http>) -> Result<Vec<Option<Response>>, Trouble> {
    let mut responses = vec![None; asks.len()];
    let (mut failed, mut received) = (0, 0);
    while failed < TRIES {
        let left: Vec<usize> = (0..asks.len()).filter(|place| responses[*place].is_none()).collect();
        if left.is_empty() {
            break;
        }
        let ask = |place: &usize| {
            let (on, ask) = (Peer::Opened(0), asks[*place].clone().into());
            [Step::Ask { on, ask, cuts: Vec::new() }, Step::Wait(Until::Outstanding(0))]
        };
        let case = talk.case(left.iter().flat_map(ask).collect())?;
        (failed, received) = (failed + 1, case.received);
        // The driver may have sent another request at the end.
        for (place, exchange) in left.iter().zip(&case.past.exchanges) {
            let Some(response) = exchange.replies.iter().rev().find_map(Message::response) else { continue };
            let came = response.partial.map_or(1, |partial| partial.came);
            if response.status == 0 && response.flaws.iter().any(|flaw| *flaw != Flaw::Stalled) {
                return Err(nonsense(&asks[*place], &case.heard));
            }
            if *place == 0 && response.incomplete && response.partial.is_none() {
                return Err(Trouble::Unprepared(format!(
                    "the response to {} has no end within the limit ({} bytes were read); inspect it with curl -v: is this the \
                     right port?",
                    asks[0].method.name(),
                    case.received
                )));
            }
            if came > 0 || response.status > 0 {
                responses[*place] = Some(response.clone());
                failed = 0;
            }
        }
        let has_first = responses[0].is_some();
        if !has_first && !case.heard.is_empty() && !case.heard.starts_with(b"HTTP/") {
            return Err(nonsense(&asks[0], &case.heard));
        }
        match case.trouble {
            Some(Trouble::Silent { .. } | Trouble::Slow { .. }) if has_first => break,
            Some(Trouble::Fruitless { .. } | Trouble::Restarted { .. }) => {}
            Some(trouble) => return Err(trouble),
            None if case.is_cut_short && has_first => break,
            None if case.is_cut_short => {
                return Err(Trouble::Unprepared(format!(
                    "there was no response to {} when the run ended",
                    asks[0].method.name()
                )));
            }
            None => {}
        }
    }
    match &responses[0] {
        Some(_) => Ok(responses),
        None if received > LONG => Err(Trouble::Flood { bytes: received, unfinished: true }),
        None => Err(Trouble::Fruitless { connections: TRIES }),
    }
}

/// Reports a response that is not HTTP.
fn nonsense(ask: &AskRequest, heard: &[u8]) -> Trouble {
    let hint = if heard.starts_with(&[0x15, 3]) {
        "it speaks TLS: did you mean https://?"
    } else {
        "is this the right port?"
    };
    let start: String = String::from_utf8_lossy(heard).chars().take(SHOWN).collect();
    let method = ask.method.name();
    Trouble::Unprepared(format!("the response to {method} is not HTTP but {start:?}; {hint}"))
}

/// Name of the canary.
const CANARY: &str = "canary";

/// Puts the canary, if possible. Its arrival is checked when it is read.
pub(crate) fn plant(talk: &Talk<'_, Http>) -> bool {
    let body = Some(talk.name().into());
    let ask = AskRequest { method: Method::Put, name: CANARY.into(), body, ..AskRequest::default() };
    // Any other error is ignored here: the server may be one that fails now and then, which is to be found out.
    !matches!(insist(&ask, talk), Err(Trouble::Silent { .. }))
}

/// Returns the content of the canary, or `None` if it does not exist.
///
/// Its content is a name that nobody else knows, so it decides alone. Validators are not compared: a correct server may
/// compute a tag later, or replace it (RFC 9110, 8.8.1). Coded content cannot be compared, and that of a server that
/// has lost the canary would be missing instead.
pub(crate) fn canary(talk: &Talk<'_, Http>) -> Result<Option<String>, Trouble> {
    let response = insist(&AskRequest { name: CANARY.into(), ..AskRequest::default() }, talk)?;
    match response.status {
        200 if response.coded => Ok(Some(talk.name().to_owned())),
        200 if !response.body.is_empty() => Ok(Some(response.body.to_string())),
        404 | 410 => Ok(None),
        status => Err(Trouble::Unprepared(format!("GET is answered with {status}"))),
    }
}

/// Returns the response to a request about the canary. The request is repeated if it is refused, because a correct
/// server may refuse any request now and then.
fn insist(ask: &AskRequest, talk: &Talk<'_, Http>) -> Result<Response, Trouble> {
    let mut response = answer(ask, talk)?;
    for _ in 1..TRIES {
        if matches!(response.status, 200..=299 | 404 | 410) {
            break;
        }
        response = answer(ask, talk)?;
    }
    Ok(response)
}

/// Returns the final response to a request that is not judged, or the part of it before it broke off.
fn answer(ask: &AskRequest, talk: &Talk<'_, Http>) -> Result<Response, Trouble> {
    for _ in 0..TRIES {
        let replies = talk.ask(&ask.clone().into(), talk.name())?;
        if let Some(response) = replies.iter().rev().find_map(Message::response).filter(|it| it.status > 0) {
            return Ok(response.clone());
        }
    }
    Err(Trouble::Fruitless { connections: TRIES })
}
