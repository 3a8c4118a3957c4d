//! Responses that seem to belong to another request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use confute::trace::Event;

use crate::mark;
use crate::message::Message;
use crate::pairs::pairs;

/// The tag and the content of a response, with the path of its request.
struct TaggedResponse {
    at: usize,
    path: Arc<str>,
    tag: Arc<str>,
    body: Arc<str>,
}

/// Marks responses that seem to belong to another request. The tag of such a response was seen for another resource,
/// and for its own only once or less often; its content, if it has any, bears the mark of a PUT elsewhere and was not
/// seen here with other tags. A response to a read with a status that only writes get is marked as well.
pub(crate) fn note(trace: &mut [Event<Message>]) {
    let (mut tagged, mut strays): (Vec<TaggedResponse>, Vec<usize>) = Default::default();
    // `tags` counts the responses with each tag by path, `contents` has the content put to each path, and `seen` has
    // the tags that came with each content of a path.
    let mut tags: BTreeMap<Arc<str>, BTreeMap<Arc<str>, usize>> = BTreeMap::new();
    let sent = trace.iter().filter_map(|event| match event {
        Event::Sent(_, message) => message.own_request(),
        _ => None,
    });
    let contents: BTreeSet<_> = sent.map(|request| (request.path.clone(), request.content())).collect();
    let mut seen: BTreeMap<(Arc<str>, Arc<str>), BTreeSet<Arc<str>>> = BTreeMap::new();
    for pair in pairs(trace) {
        let (at, path, response) = (pair.answered, &pair.request.path, pair.response);
        // GET of empty content may be answered with 204 and the tag. But if several requests are outstanding, the
        // response may be swapped.
        let is_bare = response.etag.is_none() || response.pipelined;
        let is_of_write = response.status == 201 || (response.status == 204 && is_bare);
        if pair.request.is_read() && is_of_write {
            strays.push(at);
        }
        if let Some(tag) = &response.etag {
            *tags.entry(tag.opaque.clone()).or_default().entry(path.clone()).or_default() += 1;
            seen.entry((path.clone(), response.body.clone())).or_default().insert(tag.opaque.clone());
            let (path, tag, body) = (path.clone(), tag.opaque.clone(), response.body.clone());
            tagged.push(TaggedResponse { at, path, tag, body });
        }
    }
    let is_stray = |one: &&TaggedResponse| {
        let places = &tags[&one.tag];
        let here = places[&one.path];
        let content = (one.path.clone(), one.body.clone());
        // Content without a mark may be the same anywhere, or change by itself.
        let is_new = one.body.is_empty()
            || (mark::first(&one.body).is_some()
                && !contents.contains(&content)
                && seen[&content].len() == 1);
        is_new && places.len() > 1 && (here == 1 || places.values().any(|times| *times > here))
    };
    strays.extend(tagged.iter().filter(is_stray).map(|one| one.at));
    for at in strays {
        if let Event::Received(_, Message::Response(response)) = &mut trace[at] {
            Arc::make_mut(response).notes.stray = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use confute::trace::WireConn;

    use crate::message::{Request, Response, Tag};

    #[test]
    fn a_tag_that_is_told_of_something_else() {
        let sent = |conn, path: &str| {
            Event::Sent(WireConn(conn), Message::from(Request { path: path.into(), ..Request::default() }))
        };
        let got = |conn, tag: &str| {
            let etag = Some(Tag::strong(tag));
            Event::Received(WireConn(conn), Message::from(Response { etag, ..Response::default() }))
        };
        let strays = |trace: &[Event<Message>]| {
            let mut trace = trace.to_vec();
            note(&mut trace);
            let is_stray = |event: &Event<Message>| matches!(event, Event::Received(_, Message::Response(it)) if it.notes.stray);
            (0..trace.len()).filter(|at| is_stray(&trace[*at])).collect::<Vec<_>>()
        };
        let mut trace =
            vec![sent(0, "/a"), got(0, "x"), sent(0, "/a"), sent(1, "/b"), got(1, "x"), got(0, "x")];
        assert_eq!(strays(&trace), [4]);
        trace.extend([sent(1, "/b"), got(1, "x")]);
        assert!(strays(&trace).is_empty());
        // Content with the mark of another resource is stray, however often it is seen. Content without a mark is not,
        // nor is content that was seen here with other tags.
        let tagged = |conn, tag: &str, body: &str| {
            let (etag, body) = (Some(Tag::strong(tag)), body.into());
            Event::Received(WireConn(conn), Message::from(Response { etag, body, ..Response::default() }))
        };
        let crossed = |body: &str| {
            let at_a = [sent(0, "/a"), tagged(0, "y", body)];
            let at_b = [sent(1, "/b"), tagged(1, "y", body)];
            [at_a.clone(), at_a.clone(), at_a, at_b.clone(), at_b].concat()
        };
        assert_eq!(strays(&crossed("<00001>")), [7, 9]);
        assert!(strays(&crossed("index")).is_empty());
        let retagged = [crossed("<00001>"), vec![sent(1, "/b"), tagged(1, "z", "<00001>")]].concat();
        assert!(strays(&retagged).is_empty());
        let created = Message::from(Response { status: 201, ..Response::default() });
        trace.extend([sent(2, "/a"), Event::Received(WireConn(2), created)]);
        assert_eq!(strays(&trace), [9]);
    }
}
