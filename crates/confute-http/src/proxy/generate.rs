//! Makes up what clients ask through the gateway, and what the origin answers.

use std::collections::VecDeque;
use std::iter;
use std::sync::Arc;

use confute_drive::{Generator, Peer, Step, Until, View};

use super::message::{Field, Frame, Message, Request};
use super::protocol::{Answer, Ask, Proxy, Question};
use crate::generate::Pick;
use crate::generate::draw;

/// How many kinds of requests there are.
const QUESTIONS: u64 = 26;
/// How many kinds of answers there are.
const ANSWERS: u64 = 22;
/// The kind that is none,
const FAILURE: u64 = 17;
/// and the one with something before it.
const HINT: u64 = 18;
/// One with trailer fields.
const TRAILED: u64 = 19;
/// Kinds of requests about what is only recommended: who does otherwise is warned, and the case is over.
const RECOMMENDED: [u64; 2] = [21, 23];

/// How many requests a case has (to find the broken rule takes time with the square of it),
const REQUESTS: usize = 30;
/// and how many of them are outstanding at most: every way in which they can overtake each other is a hypothesis.
const MOST: usize = 4;
/// How many cases are without any of that.
const FIRST: u64 = 2;

/// Traffic of one case, both sides of the gateway.
#[derive(Clone, Debug)]
pub struct Passage {
    /// How many requests are still to be made.
    left: usize,
    /// How many may be outstanding.
    most: usize,
    /// How many requests and answers there were: what makes each different.
    marks: u64,
    questions: Vec<u64>,
    answers: Vec<u64>,
    queue: VecDeque<Step<Ask>>,
    /// Whether the origin has something to say before its answer, now and then.
    hints: bool,
    /// Whether what may end it is kept for its end: what is only recommended, and interim responses.
    cautious: bool,
    /// Whether the origin ended a connection with its latest answer.
    ended: bool,
    opening: Opening,
}

/// Where nothing was passed on yet, the first that is has content both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    Question,
    Answer,
    Over,
}

impl Passage {
    /// That of the case with this number in a campaign: first one after the other, because what is found like that is told best.
    pub fn of_case(case: u64) -> Self {
        if case < FIRST {
            return Self::new(REQUESTS, 1).hinting(case).opening();
        }
        Self::new(REQUESTS, 1 + case as usize % MOST).hinting(case)
    }

    /// The same, but the first that is passed on is plain, and has content both ways; what may end it comes last.
    #[must_use]
    pub(crate) fn opening(self) -> Self {
        Self { opening: Opening::Question, cautious: true, ..self }
    }

    /// Whether nothing was asked yet.
    pub(crate) fn is_opening(&self) -> bool {
        self.opening == Opening::Question
    }

    /// So many requests, of which so many may be outstanding at once.
    pub fn new(requests: usize, most: usize) -> Self {
        let (questions, answers) = (Vec::new(), Vec::new());
        let (queue, opening) = (VecDeque::new(), Opening::Over);
        let (left, most, marks) = (requests, most.max(1), 0);
        let (hints, cautious, ended) = (true, false, false);
        Self { left, most, marks, questions, answers, queue, hints, cautious, ended, opening }
    }

    /// The same, but without interim responses, unless it is time for them: who is struck dumb by them is not asked anything
    /// else for long.
    #[must_use]
    pub fn hinting(mut self, case: u64) -> Self {
        self.hints = case % 4 == 1;
        self
    }

    pub(crate) fn mark(&mut self) -> u64 {
        self.marks += 1;
        self.marks
    }

    /// Content that can be told from any other.
    fn body(mark: u64, pick: &mut Pick<'_>) -> Arc<str> {
        let times = match pick(16) {
            0 => return "".into(),
            1 => 3_000,
            2 | 3 => 40,
            other => other as usize,
        };
        Self::content(mark, times)
    }

    fn content(mark: u64, times: usize) -> Arc<str> {
        format!("<{mark:06}>").repeat(times).into()
    }

    pub(crate) fn question(&mut self, kind: u64, pick: &mut Pick<'_>) -> Question {
        let mark = self.mark();
        let name = format!("r{}", pick(4));
        let plain = |method: &str| Question {
            method: method.into(),
            name: name.as_str().into(),
            mark,
            ..Question::default()
        };
        let with = |method: &str, fields: &[(&str, &str)]| {
            let fields = fields.iter().map(|(name, value)| Field::new(name, value)).collect();
            Question { fields, ..plain(method) }
        };
        let filled = |question: Question, pick: &mut Pick<'_>| Question {
            body: Some(Self::body(mark, pick)),
            fields: question
                .fields
                .iter()
                .cloned()
                .chain([Field::new("Content-Type", "text/x-confute")])
                .collect(),
            ..question
        };
        let hop = format!("hop-{mark}");
        match kind {
            0..=3 => plain("GET"),
            4 => Question { name: format!("{name}?query={mark}&more").into(), ..plain("GET") },
            5 => plain("HEAD"),
            6 | 7 => filled(plain("PUT"), pick),
            8 => Question { chunked: true, ..filled(plain("PUT"), pick) },
            9 | 10 => filled(plain("POST"), pick),
            11 => Question { chunked: true, ..filled(plain("POST"), pick) },
            12 | 13 => plain("DELETE"),
            14 => plain("OPTIONS"),
            15 => with("OPTIONS", &[("Max-Forwards", "0")]),
            16 => with("OPTIONS", &[("Max-Forwards", "7")]),
            17 => filled(with("PUT", &[("If-Match", "\"a\", W/\"b\"")]), pick),
            18 => filled(with("PUT", &[("If-None-Match", "*")]), pick),
            19 => with("GET", &[("If-None-Match", "\"a\""), ("Range", "bytes=0-9")]),
            20 => with(
                if pick(2) == 0 { "GET" } else { "DELETE" },
                &[
                    ("Connection", "X-Hop-One, x-hop-two"),
                    ("X-Hop-One", &hop),
                    ("X-Hop-Two", &hop),
                    ("X-End", "stays"),
                ],
            ),
            21 => with(
                "GET",
                &[("Keep-Alive", "timeout=7777"), ("Proxy-Connection", "confute"), ("X-End", &hop)],
            ),
            22 => filled(
                with("PATCH", &[("X-End-Two", "one"), ("X-End-Two", "two, three"), ("Via", "1.0 fred")]),
                pick,
            ),
            23 => with("GET", &[("Connection", "TE"), ("TE", "trailers"), ("Via", "1.1 ethel")]),
            other => Question {
                chunked: true,
                trailers: vec![Field::new("X-End-Trailer", &hop)],
                ..filled(
                    with(if other == 24 { "PUT" } else { "POST" }, &[("Trailer", "X-End-Trailer")]),
                    pick,
                )
            },
        }
    }

    /// Whether a request can have this kind of answer.
    fn suits(kind: u64, request: &Request) -> bool {
        match kind {
            7 | 16 => !request.is_head(),
            // What speaks HTTP/1.0 knows neither chunks nor interim responses (RFC 9110, 15.2).
            5 | 6 | 19..=21 => request.minor > 0 && !request.is_head(),
            HINT => request.minor > 0,
            _ => true,
        }
    }

    fn draw_question(&mut self, pick: &mut Pick<'_>) -> Option<u64> {
        if self.questions.is_empty() {
            self.questions.extend(0..QUESTIONS);
        }
        let is_for_later = |kind: &u64| self.cautious && RECOMMENDED.contains(kind);
        let (later, mut now): (Vec<u64>, Vec<u64>) =
            self.questions.iter().partition(|kind| is_for_later(kind));
        if now.is_empty() {
            return draw(&mut self.questions, iter::empty(), pick);
        }
        let drawn = draw(&mut now, iter::empty(), pick);
        self.questions = now.into_iter().chain(later).collect();
        drawn
    }

    /// A kind of answer that this request can have. The others are for those that come.
    fn draw_answer(&mut self, request: &Request, pick: &mut Pick<'_>) -> Option<u64> {
        let (mut fit, rest): (Vec<u64>, Vec<u64>) =
            self.answers.iter().partition(|kind| Self::suits(**kind, request));
        let drawn = draw(&mut fit, (0..ANSWERS).filter(|kind| Self::suits(*kind, request)), pick);
        self.answers = fit.into_iter().chain(rest).collect();
        drawn
    }

    /// Whether this is the one to end with.
    fn is_last(&self) -> bool {
        self.cautious && self.left == 0
    }

    fn answer(&mut self, kind: u64, request: &Request, pick: &mut Pick<'_>) -> (Answer, Vec<(usize, u64)>) {
        let mark = self.mark();
        let plain = Answer { mark, body: Self::body(mark, pick), ..Answer::to(request) };
        let tagged = |answer: Answer| Answer {
            fields: vec![
                Field::new("ETag", &format!("\"{mark}\"")),
                Field::new("Content-Type", "text/x-confute"),
            ],
            ..answer
        };
        let empty = |status| Answer { status, body: "".into(), frame: Frame::Bare, ..plain.clone() };
        let answer = match kind {
            0..=3 => plain,
            4 => tagged(plain),
            _ if !Self::suits(kind, request) => plain,
            5 => Answer { frame: Frame::Chunked, ..tagged(plain) },
            6 => Answer { frame: Frame::Chunked, ..plain },
            7 => Answer { frame: Frame::UntilClose, close: true, ..plain },
            8 => empty(204),
            9 if request.is_conditional() => empty(304),
            9 => tagged(Answer { status: 201, ..plain }),
            10 => Answer { status: 404, ..plain },
            11 => Answer { status: 412, ..plain },
            12 => Answer { status: 500, ..plain },
            13 => {
                let hop = format!("hop-{mark}");
                let fields = [
                    ("Connection", "X-Hop-Three"),
                    ("X-Hop-Three", &hop),
                    ("X-End", "stays"),
                    ("X-End-Two", "one"),
                    ("X-End-Two", "two, three"),
                ];
                Answer {
                    fields: fields.iter().map(|(name, value)| Field::new(name, value)).collect(),
                    ..plain
                }
            }
            14 => Answer { close: true, ..plain },
            15 => return (plain, vec![(20 + pick(60) as usize, 1 + pick(8)), (120, 1 + pick(8))]),
            // The head has well under 300 bytes: sometimes it comes whole, sometimes not.
            16 => Answer { cut: Some(10 + pick(450) as usize), body: Self::content(mark, 40), ..plain },
            // It does, and then a part of the chunks.
            21 => {
                let cut = Some(300 + pick(160) as usize);
                Answer { cut, frame: Frame::Chunked, body: Self::content(mark, 40), ..plain }
            }
            FAILURE => Answer { cut: Some(0), ..plain },
            HINT if self.hints || self.is_last() => {
                let interim = if pick(2) == 0 { vec![103] } else { vec![102, 103] };
                Answer { interim, ..tagged(plain) }
            }
            TRAILED | 20 => {
                // Where there is no content, the trailer section may come before the head was passed on.
                let body = if kind == 20 { "".into() } else { plain.body.clone() };
                Answer {
                    frame: Frame::Chunked,
                    trailers: vec![Field::new("X-End-Trailer", &format!("trailer-{mark}"))],
                    unasked: !request.wants_trailers(),
                    body,
                    ..tagged(plain)
                }
            }
            _ => plain,
        };
        (answer, Vec::new())
    }

    /// Answers one request, or all that are there, at once: whoever mixes them up does it then.
    fn answer_some(&mut self, view: &View<'_, Proxy>, pick: &mut Pick<'_>) -> Option<Step<Ask>> {
        let mut asked: Vec<_> = view.asked.iter().collect();
        let count = if pick(2) == 0 { asked.len() } else { 1 };
        for _ in 0..count {
            let (peer, message) = asked.swap_remove(pick(asked.len().max(1) as u64) as usize);
            let Message::Request(request) = message else { continue };
            let (answer, cuts) = if std::mem::replace(&mut self.opening, Opening::Over) == Opening::Answer {
                let mark = self.mark();
                (Answer { mark, body: Self::content(mark, 3), ..Answer::to(request) }, Vec::new())
            } else {
                // On a new connection a failure is another one than on one that was used before.
                let fails = std::mem::take(&mut self.ended) && pick(3) == 0;
                let kind = match () {
                    () if self.is_last() => Some(HINT),
                    () if fails => Some(FAILURE),
                    // Few gateways ask for them.
                    () if request.wants_trailers() && Self::suits(TRAILED, request) && pick(2) == 0 => {
                        Some(TRAILED)
                    }
                    () => self.draw_answer(request, pick),
                };
                self.answer(kind.unwrap_or_default(), request, pick)
            };
            self.ended = answer.close || answer.cut.is_some();
            self.queue.push_back(Step::Ask { on: *peer, ask: Ask::Answer(answer), cuts });
        }
        self.queue.pop_front()
    }

    /// What it was about to do, or else an answer, where somebody waits for one.
    pub(crate) fn go_on(&mut self, view: &View<'_, Proxy>, pick: &mut Pick<'_>) -> Option<Step<Ask>> {
        if self.queue.is_empty() && !view.asked.is_empty() {
            return self.answer_some(view, pick);
        }
        self.queue.pop_front()
    }

    /// Reads on all connections at once.
    fn look(&mut self, view: &View<'_, Proxy>, pick: &mut Pick<'_>) {
        for on in 0..(self.most as u32).min(view.connections) {
            self.left = self.left.saturating_sub(1);
            let question = self.question(0, pick);
            self.queue.push_back(Step::Ask {
                on: Peer::Opened(on),
                ask: Ask::Send(question),
                cuts: Vec::new(),
            });
        }
    }

    /// A connection that nothing is under way on.
    fn free(view: &View<'_, Proxy>, pick: &mut Pick<'_>) -> Option<u32> {
        let free: Vec<u32> = (0..view.connections)
            .filter(|on| view.outstanding.get(*on as usize).is_none_or(|count| *count == 0))
            .collect();
        free.get(pick(free.len().max(1) as u64) as usize).copied()
    }
}

impl Generator<Proxy> for Passage {
    fn next(&mut self, view: &View<'_, Proxy>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        if let Some(step) = self.queue.pop_front() {
            return Some(step);
        }
        let outstanding: usize = view.outstanding.iter().map(|count| *count as usize).sum();
        let may_ask = self.left > 0 && outstanding < self.most;
        // Now and then many are asked before any is answered.
        if !view.asked.is_empty() && (!may_ask || pick(3) == 0) {
            return self.answer_some(view, pick);
        }
        if may_ask && outstanding == 0 && self.most > 1 && pick(5) == 0 {
            self.look(view, pick);
            return self.queue.pop_front();
        }
        if let (true, Some(on)) = (may_ask, Self::free(view, pick)) {
            self.left -= 1;
            let question = if self.opening == Opening::Question {
                self.opening = Opening::Answer;
                let method = if pick(2) == 0 { "PUT" } else { "POST" };
                let question = self.question(0, pick);
                let body = Some(Self::content(question.mark, 3));
                Question { method: method.into(), body, ..question }
            } else {
                let kind = self.draw_question(pick).unwrap_or_default();
                self.question(kind, pick)
            };
            let cuts = if pick(12) == 0 { vec![(1 + pick(90) as usize, pick(4))] } else { Vec::new() };
            if outstanding == 0 && self.most > 1 && self.left > 3 && pick(10) == 0 {
                self.pipeline(on, pick);
            }
            return Some(Step::Ask { on: Peer::Opened(on), ask: Ask::Send(question), cuts });
        }
        (outstanding > 0).then_some(Step::Wait(Until::Something))
    }
}

impl Passage {
    /// A few safe requests on one connection, without waiting.
    fn pipeline(&mut self, after: u32, pick: &mut Pick<'_>) {
        // On another one: what is under way there may not be safe.
        let on = after + 1;
        for _ in 0..2 + pick(2) {
            self.left = self.left.saturating_sub(1);
            let kind = [0, 4, 5, 14, 20][pick(5) as usize];
            let question = Question {
                method: if kind == 5 { "HEAD" } else { "GET" }.into(),
                ..self.question(kind, pick)
            };
            self.queue.push_back(Step::Ask {
                on: Peer::Opened(on),
                ask: Ask::Send(question),
                cuts: Vec::new(),
            });
        }
    }
}
