//! A counterexample as a program: requests, answers to wait for, connections to end, in one order.
//!
//! Whoever runs it begins to send where it says so, and has an answer at the latest where it waits for it. So whatever
//! happens in a run that goes to its end happens in an order that the same sequence of events allows: what refutes the
//! sequence refutes the run.

use std::collections::{BTreeMap, BTreeSet};

use confute::trace::{Event, WireConn};
use confute_drive::{Exchange, Kept, Past, Protocol as _, Step, Until};

use crate::message::{Msg, Request, Response};
use crate::protocol::{Ask, AskDate, AskIfRange, AskTag, AskTags, Http};

/// Enough between two moments for whatever is held back in between.
const APART: i64 = 3_600_000_000;

/// A request.
pub(super) struct Asked {
    pub(super) conn: u32,
    pub(super) ask: Ask,
    pub(super) request: Request,
    /// Where to cut its bytes, and for how many milliseconds to wait there.
    pub(super) cuts: Vec<(usize, u64)>,
    /// The step of the script.
    step: usize,
}

/// An answer, and to which request.
pub(super) struct Answered {
    pub(super) to: usize,
    pub(super) response: Response,
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Send this request.
    Ask(usize),
    /// Wait for this answer.
    Answer(usize),
    /// End this connection.
    End(u32),
    /// Wait for so many milliseconds.
    Pause(u64),
}

/// What to do, in order.
#[derive(Default)]
pub(super) struct Program {
    pub(super) asks: Vec<Asked>,
    pub(super) answers: Vec<Answered>,
    pub(super) ops: Vec<Op>,
    /// Whether it ends with an answer that nothing explains, and not with silence.
    pub(super) ends_with_answer: bool,
}

impl Program {
    /// `Err` says why there is none.
    pub(super) fn new(http: &Http, kept: &Kept<'_, Http>) -> Result<Self, String> {
        let mut program = Program::default();
        let mut past = Past::default();
        let mut steps = kept.script.iter().enumerate();
        // Requests without their answer, by connection.
        let mut open: BTreeMap<WireConn, Vec<usize>> = BTreeMap::new();
        for event in kept.trace {
            match event {
                Event::Sent(conn, Msg::Request(request)) => {
                    program.send(http, kept.name, (*conn, request), &mut steps, &mut past)?;
                    let count = if request.close_twice { 2 } else { 1 };
                    let place = program.asks.len() - 1;
                    open.entry(*conn).or_default().extend(vec![place; count]);
                }
                Event::Received(conn, Msg::Response(response)) => {
                    let waiting = open.get_mut(conn).filter(|waiting| !waiting.is_empty());
                    let Some(waiting) = waiting else {
                        return Err("an answer came that nobody had asked for".to_owned());
                    };
                    let to = waiting.remove(0);
                    past.exchanges[to].replies.push(Msg::Response(response.clone()));
                    program.ops.push(Op::Answer(program.answers.len()));
                    program.answers.push(Answered { to, response: response.clone() });
                }
                Event::HungUp(conn) | Event::Closed(conn) => program.ops.push(Op::End(conn.0)),
                Event::Opened(_) | Event::Quiescent => {}
                _ => return Err("the server opened a connection".to_owned()),
            }
        }
        program.ends_with_answer = matches!(kept.trace.last(), Some(Event::Received(..)));
        Ok(program)
    }

    /// Finds the step that a request was sent for.
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
                Step::Ask { on, ask, cuts } => {
                    let same = |message: &Msg| match message {
                        Msg::Request(other) => {
                            Request { sent_at: request.sent_at, ..other.clone() } == *request
                        }
                        Msg::Response(_) => false,
                    };
                    if !http.resolve(ask, name, past).as_ref().is_some_and(same) {
                        continue;
                    }
                    let sent = Msg::Request(request.clone());
                    let exchange =
                        Exchange { step, on: *on, ask: ask.clone(), request: sent, replies: Vec::new() };
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
                Step::Finish(_) => return Err("one side of a connection was ended".to_owned()),
                _ => {}
            }
        }
        Err("the trace has a request that is not in the script".to_owned())
    }

    /// The request of this step.
    pub(super) fn place(&self, step: usize) -> Option<usize> {
        self.asks.iter().position(|asked| asked.step == step)
    }

    /// The requests whose answers are referred to, for their tags and for their dates, by any but these.
    pub(super) fn references(&self, without: &BTreeSet<usize>) -> (Vec<usize>, Vec<usize>) {
        let (mut tags, mut dates) = (Vec::new(), Vec::new());
        for (_, asked) in self.asks.iter().enumerate().filter(|(ask, _)| !without.contains(ask)) {
            let lists = [&asked.ask.if_match, &asked.ask.if_none_match].into_iter().flatten();
            for list in lists {
                if let AskTags::Lines(lines) = list {
                    tags.extend(lines.iter().flatten().filter_map(tag_step));
                }
            }
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

    /// Whether dates of answers are asked with.
    pub(super) fn has_dates(&self) -> bool {
        !self.references(&BTreeSet::new()).1.is_empty()
    }

    /// Whether requests are under way at the same time.
    pub(super) fn is_concurrent(&self) -> bool {
        self.ops.windows(2).any(|two| matches!(two, [Op::Ask(_), Op::Ask(_)]))
    }

    /// The answer that nothing explains.
    pub(super) fn last(&self) -> Option<&Answered> {
        self.answers.last().filter(|_| self.ends_with_answer)
    }

    /// What a run observes if its answers are these, without some of the exchanges. Of the times only the order is kept: the
    /// model asks for nothing else, but how long it was waited for 100, and so long it always is, unless an answer comes
    /// sooner: then 100 is not missed.
    pub(super) fn events(&self, answers: &[Response], without: &BTreeSet<usize>) -> Vec<Event<Msg>> {
        let event = |(place, op): (usize, &Op)| {
            let now = (i64::try_from(place).unwrap_or(0) + 1) * APART;
            match op {
                Op::Ask(ask) if !without.contains(ask) => {
                    let asked = &self.asks[*ask];
                    let request = Request { sent_at: now, ..asked.request.clone() };
                    Some(Event::Sent(WireConn(asked.conn), Msg::Request(request)))
                }
                Op::Answer(answer) if !without.contains(&self.answers[*answer].to) => {
                    let response = Response { received_at: now, ..answers[*answer].clone() };
                    let conn = self.asks[self.answers[*answer].to].conn;
                    Some(Event::Received(WireConn(conn), Msg::Response(response)))
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
