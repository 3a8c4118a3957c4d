//! Answers that look as if they were for somebody else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use confute::trace::{Event, WireConn};

use crate::message::{Method, Msg};

/// What an answer tells of what was asked for.
struct Told {
    at: usize,
    path: Arc<str>,
    tag: Arc<str>,
    body: Arc<str>,
}

/// Marks answers whose tag was told of something else, and of what they are about only this once or less often, and whose content
/// was never put there; and answers to reads that only writes get. Messages that are none of this kind have their place in line all the
/// same.
pub(crate) fn note<M>(
    trace: &mut [Event<M>],
    view: impl Fn(&M) -> Option<&Msg>,
    change: impl Fn(&mut M) -> Option<&mut Msg>,
) {
    let mut asked: BTreeMap<WireConn, VecDeque<Option<(Arc<str>, bool)>>> = BTreeMap::new();
    let (mut told, mut strays): (Vec<Told>, Vec<usize>) = Default::default();
    // How often which tag was told of what, and which content was put where.
    let mut tags: BTreeMap<Arc<str>, BTreeMap<Arc<str>, usize>> = BTreeMap::new();
    let mut contents: BTreeSet<(Arc<str>, Arc<str>)> = BTreeSet::new();
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
                if is_read && matches!(response.status, 201 | 204) {
                    strays.push(at);
                }
                if let Some(tag) = &response.etag {
                    *tags.entry(tag.opaque.clone()).or_default().entry(path.clone()).or_default() += 1;
                    told.push(Told { at, path, tag: tag.opaque.clone(), body: response.body.clone() });
                }
            }
            _ => {}
        }
    }
    let is_stray = |one: &&Told| {
        let places = &tags[&one.tag];
        let here = places[&one.path];
        let is_new = one.body.is_empty() || !contents.contains(&(one.path.clone(), one.body.clone()));
        is_new && places.len() > 1 && (here == 1 || places.values().any(|times| *times > here))
    };
    strays.extend(told.iter().filter(is_stray).map(|one| one.at));
    for at in strays {
        if let Event::Received(_, message) = &mut trace[at]
            && let Some(Msg::Response(response)) = change(message)
        {
            response.stray = true;
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
                |event: &Event<Msg>| matches!(event, Event::Received(_, Msg::Response(it)) if it.stray);
            (0..trace.len()).filter(|at| is_stray(&trace[*at])).collect::<Vec<_>>()
        };
        let mut trace =
            vec![sent(0, "/a"), got(0, "x"), sent(0, "/a"), sent(1, "/b"), got(1, "x"), got(0, "x")];
        assert_eq!(strays(&trace), [4]);
        trace.extend([sent(1, "/b"), got(1, "x")]);
        assert!(strays(&trace).is_empty());
        let created = Msg::Response(Response { status: 201, ..Response::default() });
        trace.extend([sent(2, "/a"), Event::Received(WireConn(2), created)]);
        assert_eq!(strays(&trace), [9]);
    }
}
