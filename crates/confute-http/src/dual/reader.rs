//! Reads one connection, on which some answers are the server's own and some come from the origin.
//!
//! Which is which follows from the requests: they are answered in order. So the reader of the one kind reads them all, and
//! what is of the other kind is read again from the bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use confute_drive::{Reader, Side};

use super::message::Message;
use crate::decode::HttpReader;
use crate::message::{Flaw, Method, Msg, Request, Response};
use crate::proxy::{self, ProxyReader, decode};

/// Reads one connection, with a client's eyes or with an origin's.
#[derive(Clone, Debug)]
pub enum DualReader {
    /// Responses; for each that is to come when it was asked for, if it is to be passed on; and whether the last one was passed on.
    Client(Box<HttpReader>, VecDeque<Option<i64>>, bool),
    /// Requests.
    Origin(Box<ProxyReader>),
}

impl DualReader {
    /// For a connection that was opened by this side.
    pub fn new(side: Side) -> Self {
        match side {
            Side::Opened => DualReader::Client(Box::new(HttpReader::remembering()), VecDeque::new(), false),
            Side::Accepted => DualReader::Origin(Box::new(ProxyReader::new(side))),
        }
    }

    /// Does this with the reader of this connection, and tells what came of it.
    fn with(
        &mut self,
        messages: &mut Vec<Message>,
        client: impl FnOnce(&mut HttpReader, &mut Vec<Msg>),
        origin: impl FnOnce(&mut ProxyReader, &mut Vec<proxy::message::Message>),
    ) {
        match self {
            DualReader::Client(reader, kinds, was_passed) => {
                let mut came = Vec::new();
                client(reader, &mut came);
                let mut raws = reader.raws().into_iter();
                for message in came {
                    let raw = raws.next();
                    let passed = || raw.map(|raw| decode::response(&raw)).unwrap_or_default();
                    let kind = kinds.pop_front();
                    *was_passed = kind.map_or(*was_passed, |kind| kind.is_some());
                    messages.push(match (kind, message) {
                        (Some(Some(asked_at)), Msg::Response(response)) => {
                            Message::Passed(passed_on(passed(), response, asked_at))
                        }
                        // What nobody asked for belongs to the response before it.
                        (None, Msg::Response(_)) if *was_passed => {
                            let surplus = proxy::message::Response { flaws: vec![Flaw::Surplus], ..passed() };
                            Message::Passed(proxy::message::Message::Response(Arc::new(surplus)))
                        }
                        (_, message) => Message::Served(message),
                    });
                }
            }
            DualReader::Origin(reader) => {
                let mut came = Vec::new();
                origin(reader, &mut came);
                messages.extend(came.into_iter().map(Message::Passed));
            }
        }
    }
}

/// An answer that was passed on, with what the reader knows of its surroundings.
fn passed_on(response: proxy::message::Response, known: Response, asked_at: i64) -> proxy::message::Message {
    let mut flaws = known.flaws;
    // What the tag is, is the origin's affair.
    flaws.retain(|flaw| *flaw != Flaw::Tag);
    proxy::message::Message::Response(Arc::new(proxy::message::Response {
        flaws,
        incomplete: known.incomplete,
        pipelined: known.pipelined,
        interim: known.interim,
        asked_at: Some(asked_at),
        ..response
    }))
}

impl Reader<Message> for DualReader {
    fn sent(&mut self, message: &Message) {
        let DualReader::Client(reader, kinds, _) = self else { return };
        match message {
            Message::Served(message @ Msg::Request(request))
            | Message::Behind(message @ Msg::Request(request)) => {
                reader.sent(message);
                kinds.extend(std::iter::repeat_n(None, if request.close_twice { 2 } else { 1 }));
            }
            Message::Passed(proxy::message::Message::Request(request)) => {
                // All that counts is what delimits the answer.
                let method = Method::Other(request.method.clone());
                reader.sent(&Msg::Request(Request { method, ..Request::default() }));
                kinds.push_back(Some(request.at));
            }
            _ => {}
        }
    }

    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<Message>) {
        self.with(messages, |reader, came| reader.feed(bytes, came), |reader, came| reader.feed(bytes, came));
    }

    fn end(&mut self, orderly: bool, messages: &mut Vec<Message>) {
        self.with(
            messages,
            |reader, came| reader.end(orderly, came),
            |reader, came| reader.end(orderly, came),
        );
    }

    /// What is passed on may wait for the tester.
    fn stalled(&mut self, messages: &mut Vec<Message>) {
        if matches!(self, DualReader::Client(_, kinds, _) if kinds.front() == Some(&None)) {
            self.with(messages, HttpReader::stalled, ProxyReader::stalled);
        }
    }

    fn prompt(&self) -> Option<&'static [u8]> {
        match self {
            DualReader::Client(..) => None,
            DualReader::Origin(reader) => reader.prompt(),
        }
    }

    fn goes_on(&self) -> bool {
        matches!(self, DualReader::Client(reader, ..) if reader.goes_on())
    }

    fn is_lost(&self) -> bool {
        matches!(self, DualReader::Client(reader, ..) if reader.is_lost())
    }

    fn held(&self) -> usize {
        match self {
            DualReader::Client(reader, ..) => reader.held(),
            DualReader::Origin(reader) => reader.held(),
        }
    }
}
