//! Answers that look as if they were for somebody else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use confute::trace::{Event, WireConn};

use crate::mark;
use crate::message::{Method, Msg};

/// What an answer tells of what was asked for.
struct Told {
    at: usize,
    path: Arc<str>,
    tag: Arc<str>,
    body: Arc<str>,
}

/// Marks answers that look as if they were for somebody else: those whose tag was told of something else, and of what they are
/// about once, or less often than of that, and whose content, if they have any, bears the mark of a PUT elsewhere and was not told
/// here with other tags; and answers to reads that only writes get. Messages that are none of this kind have their place in line
/// all the same.
pub(crate) fn note<M>(
    trace: &mut [Event<M>],
    view: impl Fn(&M) -> Option<&Msg>,
    change: impl Fn(&mut M) -> Option<&mut Msg>,
) {
    let mut asked: BTreeMap<WireConn, VecDeque<Option<(Arc<str>, bool)>>> = BTreeMap::new();
    let (mut told, mut strays): (Vec<Told>, Vec<usize>) = Default::default();
    // How often which tag was told of what, which content was put where, and with which tag it was told of what.
    let mut tags: BTreeMap<Arc<str>, BTreeMap<Arc<str>, usize>> = BTreeMap::new();
    let mut contents: BTreeSet<(Arc<str>, Arc<str>)> = BTreeSet::new();
    let mut seen: BTreeMap<(Arc<str>, Arc<str>), BTreeSet<Arc<str>>> = BTreeMap::new();
    for (at, event) in trace.iter().enumerate() {
        match event {
            Event::Sent(conn, message) => {
                let (path, answers) = match view(message) {
                    Some(Msg::Request(request)) => {
                        let path = request.path.clone();
                        contents.insert((path.clone(), request.content()));
                        let is_read = matches!(request.method, Method::Get | Method::Head);
                        (Some((path, is_read)), 1 + usize::from(request.close_twice))
                    }
                    _ => (None, 1),
                };
                asked.entry(*conn).or_default().extend(std::iter::repeat_n(path, answers));
            }
            Event::Received(conn, message) => {
                let request = asked.get_mut(conn).and_then(VecDeque::pop_front).flatten();
                let (Some((path, is_read)), Some(Msg::Response(response))) = (request, view(message)) else {
                    continue;
                };
                // GET of empty content may be 204 too, with its tag; but where several requests are under way it may be swapped.
                let is_bare = response.etag.is_none() || response.pipelined;
                let is_of_write = response.status == 201 || (response.status == 204 && is_bare);
                if is_read && is_of_write {
                    strays.push(at);
                }
                if let Some(tag) = &response.etag {
                    *tags.entry(tag.opaque.clone()).or_default().entry(path.clone()).or_default() += 1;
                    let content = (path.clone(), response.body.clone());
                    seen.entry(content).or_default().insert(tag.opaque.clone());
                    told.push(Told { at, path, tag: tag.opaque.clone(), body: response.body.clone() });
                }
            }
            _ => {}
        }
    }
    let is_stray = |one: &&Told| {
        let places = &tags[&one.tag];
        let here = places[&one.path];
        let content = (one.path.clone(), one.body.clone());
        // What nobody marked may be the same anywhere, or change by itself.
        let is_new = one.body.is_empty()
            || (mark::first(&one.body).is_some()
                && !contents.contains(&content)
                && seen[&content].len() == 1);
        is_new && places.len() > 1 && (here == 1 || places.values().any(|times| *times > here))
    };
    strays.extend(told.iter().filter(is_stray).map(|one| one.at));
    for at in strays {
        if let Event::Received(_, message) = &mut trace[at]
            && let Some(Msg::Response(response)) = change(message)
        {
            response.notes.stray = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Request, Response, Tag};

    #[test]
    fn a_tag_that_is_told_of_something_else() {
        let sent = |conn, path: &str| {
            Event::Sent(WireConn(conn), Msg::Request(Request { path: path.into(), ..Request::default() }))
        };
        let got = |conn, tag: &str| {
            let etag = Some(Tag::strong(tag));
            Event::Received(WireConn(conn), Msg::Response(Response { etag, ..Response::default() }))
        };
        let strays = |trace: &[Event<Msg>]| {
            let mut trace = trace.to_vec();
            note(&mut trace, |message| Some(message), |message| Some(message));
            let is_stray =
                |event: &Event<Msg>| matches!(event, Event::Received(_, Msg::Response(it)) if it.notes.stray);
            (0..trace.len()).filter(|at| is_stray(&trace[*at])).collect::<Vec<_>>()
        };
        let mut trace =
            vec![sent(0, "/a"), got(0, "x"), sent(0, "/a"), sent(1, "/b"), got(1, "x"), got(0, "x")];
        assert_eq!(strays(&trace), [4]);
        trace.extend([sent(1, "/b"), got(1, "x")]);
        assert!(strays(&trace).is_empty());
        // Content that was marked elsewhere, however often; not what anybody may have, or what is told here with other tags too.
        let told = |conn, tag: &str, body: &str| {
            let (etag, body) = (Some(Tag::strong(tag)), body.into());
            Event::Received(WireConn(conn), Msg::Response(Response { etag, body, ..Response::default() }))
        };
        let crossed = |body: &str| {
            let at_a = [sent(0, "/a"), told(0, "y", body)];
            let at_b = [sent(1, "/b"), told(1, "y", body)];
            [at_a.clone(), at_a.clone(), at_a, at_b.clone(), at_b].concat()
        };
        assert_eq!(strays(&crossed("<00001>")), [7, 9]);
        assert!(strays(&crossed("index")).is_empty());
        let retagged = [crossed("<00001>"), vec![sent(1, "/b"), told(1, "z", "<00001>")]].concat();
        assert!(strays(&retagged).is_empty());
        let created = Msg::Response(Response { status: 201, ..Response::default() });
        trace.extend([sent(2, "/a"), Event::Received(WireConn(2), created)]);
        assert_eq!(strays(&trace), [9]);
    }
}
