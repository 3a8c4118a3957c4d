//! A counterexample as a program: an ordered list of requests to send, responses to wait for, and connections to close.
//!
//! A script that executes the program starts to send a request at its operation, and has received a response at the
//! latest when its operation is done. So the messages of a run that reaches its end occur in an order that the same
//! sequence of events allows: if the sequence is refuted, so is the run.

use std::collections::{BTreeMap, BTreeSet};

use confute::trace::{Event, WireConn};
use confute_drive::{Exchange, Kept, Past, Protocol as _, Step, Until};

use crate::ask::{Ask, AskDate, AskIfRange, AskRequest, AskTag, AskTags};
use crate::message::{Message, Request, Response};
use crate::protocol::Http;

/// Microseconds between two events, longer than any part of a request is held back.
const APART: i64 = 3_600_000_000;

/// A request to send.
pub(super) struct Asked {
    pub(super) conn: u32,
    pub(super) ask: AskRequest,
    pub(super) request: Request,
    /// Positions at which the bytes are split, with the pause there in milliseconds.
    pub(super) cuts: Vec<(usize, u64)>,
    /// Index of the step in the script of the case.
    step: usize,
}

/// A recorded response, and the index of its request.
pub(super) struct Answered {
    pub(super) to: usize,
    pub(super) response: Response,
}

/// An operation of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Send this request.
    Ask(usize),
    /// Wait for this response.
    Answer(usize),
    /// Close this connection.
    End(u32),
    /// Wait for this number of milliseconds.
    Pause(u64),
}

/// The operations that reproduce a counterexample, in order.
#[derive(Default)]
pub(super) struct Program {
    pub(super) asks: Vec<Asked>,
    pub(super) answers: Vec<Answered>,
    pub(super) ops: Vec<Op>,
    /// `true` if the case ends with a response that nothing explains, `false` if it ends with silence.
    pub(super) ends_with_answer: bool,
}

impl Program {
    /// Returns the program for a counterexample, or the reason why there is none.
    pub(super) fn new(http: &Http, kept: &Kept<'_, Http>) -> Result<Self, String> {
        let mut program = Program::default();
        let mut past = Past::default();
        let mut steps = kept.script.iter().enumerate();
        // Requests without a response, by connection.
        let mut open: BTreeMap<WireConn, Vec<usize>> = BTreeMap::new();
        for event in kept.trace {
            match event {
                Event::Sent(conn, Message::Request(request)) => {
                    program.send(http, kept.name, (*conn, request), &mut steps, &mut past)?;
                    let place = program.asks.len() - 1;
                    open.entry(*conn).or_default().extend(vec![place; request.responses()]);
                }
                Event::Received(conn, Message::Response(response)) => {
                    let waiting = open.get_mut(conn).filter(|waiting| !waiting.is_empty());
                    let Some(waiting) = waiting else {
                        return Err("a response arrived that belongs to no request".to_owned());
                    };
                    let to = waiting.remove(0);
                    past.exchanges[to].replies.push(Message::Response(response.clone()));
                    program.ops.push(Op::Answer(program.answers.len()));
                    program.answers.push(Answered { to, response: Response::clone(response) });
                }
                Event::HungUp(conn) | Event::Closed(conn) => program.ops.push(Op::End(conn.0)),
                Event::Opened(_) | Event::Quiescent => {}
                _ => return Err("the server opened a connection".to_owned()),
            }
        }
        program.ends_with_answer = matches!(kept.trace.last(), Some(Event::Received(..)));
        Ok(program)
    }

    /// Adds a request, after searching the step of the script that sent it.
    fn send<'a>(
        &mut self,
        http: &Http,
        name: &str,
        (conn, request): (WireConn, &Request),
        steps: &mut impl Iterator<Item = (usize, &'a Step<Ask>)>,
        past: &mut Past<Http>,
    ) -> Result<(), String> {
        for (step, what) in steps {
            match what {
                Step::Ask { on, ask: Ask::Send(ask), cuts } => {
                    // The script does not have what was noted about the request while the case ran, and for blame.
                    let noted = |other: &Request| {
                        let Request { notes, is_behind, at, .. } = *request;
                        Request { notes, is_behind, at, ..other.clone() }
                    };
                    let same =
                        |message: &Message| message.request().is_some_and(|other| noted(other) == *request);
                    if !http.resolve(&ask.clone().into(), name, past).as_ref().is_some_and(same) {
                        continue;
                    }
                    let (on, ask_again, sent) = (*on, ask.clone().into(), request.clone().into());
                    let exchange = Exchange { step, on, ask: ask_again, request: sent, replies: Vec::new() };
                    past.exchanges.push(exchange);
                    self.ops.push(Op::Ask(self.asks.len()));
                    self.asks.push(Asked {
                        conn: conn.0,
                        ask: ask.clone(),
                        request: request.clone(),
                        cuts: cuts.clone(),
                        step,
                    });
                    return Ok(());
                }
                Step::Wait(Until::Millis(millis) | Until::Soon(millis)) if *millis > 0 => {
                    self.ops.push(Op::Pause(*millis));
                }
                Step::Finish(_) => return Err("one side of a connection was closed".to_owned()),
                _ => {}
            }
        }
        Err("the trace has a request that is not in the script".to_owned())
    }

    /// Returns the index of the request of this step.
    pub(super) fn place(&self, step: usize) -> Option<usize> {
        self.asks.iter().position(|asked| asked.step == step)
    }

    /// Returns the requests whose responses supply tags, and those whose responses supply dates, for requests other
    /// than `without`.
    pub(super) fn references(&self, without: &BTreeSet<usize>) -> (Vec<usize>, Vec<usize>) {
        let (mut tags, mut dates) = (Vec::new(), Vec::new());
        for (_, asked) in self.asks.iter().enumerate().filter(|(ask, _)| !without.contains(ask)) {
            let lists = [&asked.ask.if_match, &asked.ask.if_none_match].into_iter().flatten();
            tags.extend(lists.flat_map(AskTags::iter).filter_map(tag_step));
            let since = [asked.ask.if_modified_since, asked.ask.if_unmodified_since];
            dates.extend(since.iter().flatten().map(|AskDate(step, _)| *step));
            match &asked.ask.if_range {
                Some(AskIfRange::Tag(tag)) => tags.extend(tag_step(tag)),
                Some(AskIfRange::Date(AskDate(step, _))) => dates.push(*step),
                None => {}
            }
        }
        let places = |steps: Vec<usize>| steps.iter().filter_map(|step| self.place(*step)).collect();
        (places(tags), places(dates))
    }

    /// Returns `true` if a request contains a date of a response.
    pub(super) fn has_dates(&self) -> bool {
        !self.references(&BTreeSet::new()).1.is_empty()
    }

    /// Returns `true` if two requests are outstanding at the same time.
    pub(super) fn is_concurrent(&self) -> bool {
        self.ops.windows(2).any(|two| matches!(two, [Op::Ask(_), Op::Ask(_)]))
    }

    /// Returns the response that nothing explains.
    pub(super) fn last(&self) -> Option<&Answered> {
        self.answers.last().filter(|_| self.ends_with_answer)
    }

    /// Returns the trace of a run with these responses, without some of the requests. Only the order of the recorded
    /// times is kept. The model uses nothing else, except for the time that the tester waited for 100 (Continue). A
    /// script always waits that long, unless a response arrives earlier, and then the missing 100 does not count.
    pub(super) fn events(&self, answers: &[Response], without: &BTreeSet<usize>) -> Vec<Event<Message>> {
        let event = |(place, op): (usize, &Op)| {
            let now = (i64::try_from(place).unwrap_or(0) + 1) * APART;
            match op {
                Op::Ask(ask) if !without.contains(ask) => {
                    let asked = &self.asks[*ask];
                    let request = Request { at: now, ..asked.request.clone() };
                    Some(Event::Sent(WireConn(asked.conn), request.into()))
                }
                Op::Answer(answer) if !without.contains(&self.answers[*answer].to) => {
                    let response = Response { at: now, ..answers[*answer].clone() };
                    let conn = self.asks[self.answers[*answer].to].conn;
                    Some(Event::Received(WireConn(conn), response.into()))
                }
                Op::End(conn) => Some(Event::HungUp(WireConn(*conn))),
                Op::Ask(_) | Op::Answer(_) | Op::Pause(_) => None,
            }
        };
        self.ops.iter().enumerate().filter_map(event).collect()
    }
}

fn tag_step(tag: &AskTag) -> Option<usize> {
    match tag {
        AskTag::Seen(step) | AskTag::Weak(step) | AskTag::Strong(step) => Some(*step),
        AskTag::Guess(_) => None,
    }
}
