//! Criterion by which a script without a model decides whether a violation is reproduced.
//!
//! The criterion is found with the model: an aspect of a response is ignored if the trace is refuted with other values
//! of it as well. Every other aspect must be as recorded. All ignored aspects are changed in the judged trace at the
//! same time: where the model can represent a lack of information (no tag, coded content), that stands for every value
//! that a run may observe; other values are tried in addition. So a script reports a violation only for responses that
//! the model refutes too. If the search exhausts its budget, the script compares more than necessary.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use confute::trace::Event;
use confute_drive::Kept;

use super::program::Program;
use crate::message::{Flaw, Message, Method, RangeSent, Response, Tag};
use crate::protocol::Http;

/// Maximum number of judgements for one counterexample.
const MOST_JUDGED: u32 = 600;
/// Number of values that are tried for the ignored aspects.
const TRIED: usize = 3;
/// Status codes that are tried instead of the recorded one.
const STATUSES: [u16; 9] = [200, 201, 204, 206, 304, 400, 404, 412, 416];
/// Content that no request stored.
const UNKNOWN: &str = "content that nobody put anywhere";

/// An aspect of a response that a script can compare or ignore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Aspect {
    Tag,
    Date,
    /// All aspects of the content at once: length, body and range.
    Content,
    Length,
    Body,
    Range,
    Allow,
    Continue,
}

/// All aspects; those that include others come first.
const ASPECTS: [Aspect; 8] = [
    Aspect::Content,
    Aspect::Tag,
    Aspect::Date,
    Aspect::Allow,
    Aspect::Continue,
    Aspect::Length,
    Aspect::Body,
    Aspect::Range,
];

impl Aspect {
    /// Replaces this aspect by another value. Variant 0 carries the least information.
    fn change(self, seen: &mut Response, variant: usize) {
        let other = Tag::strong("a-tag-that-nobody-has-seen");
        match self {
            Aspect::Tag => {
                let weak = Tag { weak: true, ..other.clone() };
                seen.etag = [None, Some(other), Some(weak)].into_iter().nth(variant).flatten();
            }
            Aspect::Date => seen.last_modified = [None, Some(1_000_000_000), None][variant],
            Aspect::Content => {
                let body = seen.body.clone();
                (seen.coded, seen.body) = (true, [Arc::from(""), UNKNOWN.into(), body][variant].clone());
                seen.content_length = [None, Some(987_654), None][variant];
                seen.content_range = [None, None, Some(RangeSent::Invalid)][variant];
            }
            Aspect::Length => seen.content_length = [None, Some(987_654), Some(0)][variant],
            Aspect::Body => seen.body = [UNKNOWN, "", "<99999>"][variant].into(),
            Aspect::Range => {
                let told = [None, Some(RangeSent::Invalid), Some(RangeSent::Nothing(987_654))];
                seen.content_range = told[variant];
            }
            Aspect::Allow => seen.allow = [true, false, true][variant],
            Aspect::Continue => seen.interim = if variant == 1 { Vec::new() } else { vec![100] },
        }
    }
}

/// Required properties of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TagCheck {
    pub(super) weak: bool,
    /// Index of an earlier response that must have the same tag.
    pub(super) same: Option<usize>,
    /// Indices of earlier responses that must have a different tag.
    pub(super) other: Vec<usize>,
}

/// Required content of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BodyCheck {
    /// The content must be one of these.
    In(Vec<Arc<str>>),
    /// The content must be none of these, which would be correct.
    NotIn(Vec<Arc<str>>),
}

/// Properties that a response must have for the violation to be reproduced.
#[derive(Clone, Debug, Default)]
pub(super) struct Check {
    /// Accepted status codes; empty if every status is accepted.
    pub(super) status: Vec<u16>,
    /// Required tag; `Some(None)` if there must be none.
    pub(super) tag: Option<Option<TagCheck>>,
    /// Required date, in seconds after the first date that is compared; `Some(None)` if there must be none.
    pub(super) date: Option<Option<i64>>,
    pub(super) body: Option<BodyCheck>,
    pub(super) length: Option<Option<u64>>,
    pub(super) range: Option<Option<RangeSent>>,
    /// `true` if `Allow` must be missing.
    pub(super) no_allow: bool,
    /// `true` if no 100 (Continue) may precede the response.
    pub(super) no_continue: bool,
    /// `true` if the response must be truncated: the received part of its content is compared, and a complete response
    /// with that content might be correct.
    pub(super) cut: bool,
}

impl Check {
    /// Returns `true` if the response is ignored, and no later request uses its tag or date.
    pub(super) fn is_extra(&self) -> bool {
        self.status.is_empty() && self.tag.is_none() && self.date.is_none()
    }
}

/// Condition under which a violation is reproduced.
pub(super) enum Criterion {
    /// Every response passes its check.
    Answers(Vec<Check>),
    /// Any response has one of these flaws, regardless of its other aspects.
    Flaws(Vec<Flaw>),
}

/// Returns the criterion for a counterexample, or the reason why there is none.
pub(super) fn criterion(kept: &Kept<'_, Http>, program: &Program) -> Result<Criterion, &'static str> {
    let last = program.last().ok_or("a missing response can be observed only by waiting")?;
    if last.response.flaws.contains(&Flaw::Stalled) {
        return Err("that the rest of a response never arrives can be observed only by waiting");
    }
    let mut answers: Vec<Response> =
        program.answers.iter().map(|answered| answered.response.clone()).collect();
    let before = answers.len() - 1;
    // Earlier responses are judged without their flaws, which makes them easier to explain.
    answers[..before].iter_mut().for_each(|answer| answer.flaws.clear());
    let mut search = Search {
        kept,
        program,
        answers,
        ignored: BTreeSet::new(),
        absent: BTreeSet::new(),
        references: (Vec::new(), Vec::new()),
        left: Cell::new(MOST_JUDGED),
    };
    if !search.holds(&BTreeSet::new()) {
        return Err("without the recorded times the responses might be correct");
    }
    if let Some(flaws) = search.flaws() {
        return Ok(Criterion::Flaws(flaws));
    }
    // A script that compares responses does not check them for flaws.
    search.answers[before].flaws.clear();
    if !search.holds(&BTreeSet::new()) {
        return Err("a response is malformed, but that is a violation only together with its other aspects");
    }
    if search.answers.iter().any(|answer| answer.status == 0) {
        return Err("a response could not be parsed");
    }
    search.leave_out();
    search.ignore_what_can_be();
    Ok(Criterion::Answers(search.checks()))
}

struct Search<'a> {
    kept: &'a Kept<'a, Http>,
    program: &'a Program,
    answers: Vec<Response>,
    /// Ignored aspects, with the index of their response.
    ignored: BTreeSet<(usize, Aspect)>,
    /// Requests that are left out of the judged trace, with their responses.
    absent: BTreeSet<usize>,
    /// Requests whose responses supply tags, and those whose responses supply dates, for later requests.
    references: (Vec<usize>, Vec<usize>),
    /// Number of judgements left.
    left: Cell<u32>,
}

impl Search<'_> {
    fn judge(&self, answers: &[Response], also: &[&'static str]) -> Option<bool> {
        self.left.set(self.left.get().checked_sub(1)?);
        let events: Vec<Event<Message>> = self.program.events(answers, &self.absent);
        (self.kept.judge)(&events, also)
    }

    fn refutes(&self, answers: &[Response]) -> bool {
        self.judge(answers, &[]) == Some(true)
    }

    /// Returns `true` if it is the same violation: the trace is refuted, but explained if the rules of one of the
    /// diagnoses are relaxed.
    fn is_same(&self, answers: &[Response]) -> bool {
        let diagnoses = self.kept.diagnoses;
        let excused = || diagnoses.iter().any(|one| self.judge(answers, &one.rules) == Some(false));
        self.refutes(answers) && (diagnoses.is_empty() || excused())
    }

    /// Returns the responses with the ignored aspects changed.
    fn changed(&self, ignored: &BTreeSet<(usize, Aspect)>, variant: usize) -> Vec<Response> {
        let mut answers = self.answers.clone();
        ignored.iter().for_each(|(place, aspect)| aspect.change(&mut answers[*place], variant));
        answers
    }

    /// Returns `true` if the trace is refuted with all tried values of these aspects.
    fn holds(&self, ignored: &BTreeSet<(usize, Aspect)>) -> bool {
        let variants = if ignored.is_empty() { 1 } else { TRIED };
        (0..variants).all(|variant| self.refutes(&self.changed(ignored, variant)))
    }

    fn ignores(&self, place: usize, aspect: Aspect) -> bool {
        let is_part = matches!(aspect, Aspect::Length | Aspect::Body | Aspect::Range);
        let is_absent = self.absent.contains(&self.program.answers[place].to);
        (is_absent && !self.is_referred_to(place, aspect))
            || self.ignored.contains(&(place, aspect))
            || (is_part && self.ignored.contains(&(place, Aspect::Content)))
    }

    /// Returns `true` if a later request, one that is not left out, is built from this aspect.
    fn is_referred_to(&self, place: usize, aspect: Aspect) -> bool {
        let to = &self.program.answers[place].to;
        match aspect {
            Aspect::Tag => self.references.0.contains(to),
            Aspect::Date => self.references.1.contains(to),
            _ => false,
        }
    }

    /// Returns the flaws that are a violation by themselves, in any response.
    fn flaws(&self) -> Option<Vec<Flaw>> {
        let last = self.answers.len() - 1;
        let everything: BTreeSet<_> =
            (0..=last).flat_map(|place| ASPECTS.map(|aspect| (place, aspect))).collect();
        let is_wrong = |flaw: &&Flaw| {
            [self.answers[last].status, 200, 206, 404, 500].iter().all(|status| {
                let mut answers = self.changed(&everything, 0);
                answers[last].status = *status;
                answers[last].flaws = vec![**flaw];
                self.refutes(&answers)
            })
        };
        let flaws: Vec<Flaw> = self.answers[last].flaws.iter().filter(is_wrong).copied().collect();
        (!flaws.is_empty()).then_some(flaws)
    }

    fn ignore_what_can_be(&mut self) {
        self.references = self.program.references(&self.absent);
        for aspect in ASPECTS {
            // The body and the range of content that was sent are ignored only as part of `Aspect::Content`: invented
            // values would be refuted, though those of a correct server are not. And the tags and dates that later
            // requests are built from must be as recorded.
            let is_needed = |place: usize| match aspect {
                Aspect::Body | Aspect::Range => self.has_content(place),
                _ => self.is_referred_to(place, aspect),
            };
            let free: Vec<_> = (0..self.answers.len())
                .filter(|place| !is_needed(*place) && !self.ignores(*place, aspect))
                .map(|place| (place, aspect))
                .collect();
            self.ignore(&free);
        }
    }

    /// Returns `true` if the response carries content that the model examines.
    fn has_content(&self, place: usize) -> bool {
        let method = &self.program.asks[self.program.answers[place].to].request.method;
        *method == Method::Get && (200..300).contains(&self.answers[place].status)
    }

    /// Leaves out exchanges that changed nothing, and all exchanges on other paths: an explanation of a run explains it
    /// without them too. (Writes to one path are left out all or none: without some of them, content that is read there
    /// would seem to come from nowhere.)
    fn leave_out(&mut self) {
        let program = self.program;
        let Some(last) = program.answers.last() else { return };
        let path = |ask: usize| &program.asks[ask].request.path;
        let others: BTreeSet<_> =
            (0..program.asks.len()).map(path).filter(|other| *other != path(last.to)).collect();
        for other in others {
            let these: Vec<usize> = (0..program.asks.len()).filter(|ask| path(*ask) == other).collect();
            self.leave_out_all(&these);
        }
        let is_idle = |ask: &usize| {
            let request = &program.asks[*ask].request;
            *ask != last.to && request.method.is_safe() && !request.close_twice
        };
        let idle: Vec<usize> = (0..program.asks.len()).filter(is_idle).collect();
        self.leave_out_of(&idle);
    }

    /// Leaves out all of these requests if the trace is refuted without them. Returns `true` if it is.
    fn leave_out_all(&mut self, these: &[usize]) -> bool {
        let before = self.absent.clone();
        self.absent.extend(these);
        let is_refuted = self.refutes(&self.answers);
        if !is_refuted {
            self.absent = before;
        }
        is_refuted
    }

    /// Leaves out as many of these requests as possible, by bisection.
    fn leave_out_of(&mut self, these: &[usize]) {
        if !these.is_empty() && !self.leave_out_all(these) && these.len() > 1 {
            let (first, second) = these.split_at(these.len() / 2);
            self.leave_out_of(first);
            self.leave_out_of(second);
        }
    }

    /// Ignores as many of these aspects as possible, by bisection.
    fn ignore(&mut self, these: &[(usize, Aspect)]) {
        if these.is_empty() || self.left.get() == 0 {
            return;
        }
        let more: BTreeSet<_> = self.ignored.iter().chain(these).copied().collect();
        if self.holds(&more) {
            self.ignored = more;
        } else if these.len() > 1 {
            let (first, second) = these.split_at(these.len() / 2);
            self.ignore(first);
            self.ignore(second);
        }
    }

    fn checks(&self) -> Vec<Check> {
        let mut checks: Vec<Check> = (0..self.answers.len()).map(|place| self.check(place)).collect();
        if let Some(last) = checks.last_mut() {
            match &mut last.body {
                Some(body) => *body = self.contents().unwrap_or_else(|| body.clone()),
                None => last.status.extend(self.statuses()),
            }
        }
        checks
    }

    fn check(&self, place: usize) -> Check {
        let seen = &self.answers[place];
        let is_absent = self.absent.contains(&self.program.answers[place].to);
        let looks = |aspect| !self.ignores(place, aspect);
        let first = (0..self.answers.len())
            .filter(|place| !self.ignores(*place, Aspect::Date))
            .find_map(|place| self.answers[place].last_modified);
        Check {
            status: if is_absent { Vec::new() } else { vec![seen.status] },
            tag: looks(Aspect::Tag).then(|| seen.etag.as_ref().map(|tag| self.tag(place, tag))),
            date: looks(Aspect::Date).then(|| Some(seen.last_modified? - first?)),
            body: looks(Aspect::Body).then(|| BodyCheck::In(vec![seen.body.clone()])),
            length: looks(Aspect::Length).then_some(seen.content_length),
            range: looks(Aspect::Range).then_some(seen.content_range),
            no_allow: looks(Aspect::Allow) && !seen.allow,
            no_continue: looks(Aspect::Continue) && !seen.interim.contains(&100),
            cut: seen.incomplete && looks(Aspect::Body),
        }
    }

    fn tag(&self, place: usize, tag: &Tag) -> TagCheck {
        let mut check = TagCheck { weak: tag.weak, same: None, other: Vec::new() };
        for earlier in (0..place).filter(|earlier| !self.ignores(*earlier, Aspect::Tag)) {
            let Some(seen) = &self.answers[earlier].etag else { continue };
            if seen.opaque == tag.opaque {
                check.same.get_or_insert(earlier);
            } else if !check.other.iter().any(|other| self.opaque(*other) == Some(&seen.opaque)) {
                check.other.push(earlier);
            }
        }
        check
    }

    fn opaque(&self, place: usize) -> Option<&Arc<str>> {
        self.answers[place].etag.as_ref().map(|tag| &tag.opaque)
    }

    /// Returns the responses with the last one changed.
    fn last_with(&self, change: &dyn Fn(&mut Response), variant: usize) -> Vec<Response> {
        let mut answers = self.changed(&self.ignored, variant);
        if let Some(last) = answers.last_mut() {
            change(last);
        }
        answers
    }

    /// Returns `true` if it is the same violation with the last response changed.
    fn is_same_with(&self, change: &dyn Fn(&mut Response)) -> bool {
        self.is_same(&self.last_with(change, 0))
            && (1..TRIED).all(|variant| self.refutes(&self.last_with(change, variant)))
    }

    /// Returns the other status codes that would be wrong for the same reason.
    fn statuses(&self) -> Vec<u16> {
        let seen = self.answers.last().map_or(0, |last| last.status);
        let others = STATUSES.into_iter().filter(|status| *status != seen);
        // A response with another status may have content. Invented content would be refuted by itself, so the content
        // is declared as coded, which the model does not examine.
        let with = |status: u16| move |last: &mut Response| (last.status, last.coded) = (status, true);
        others.filter(|status| self.is_same_with(&with(*status))).collect()
    }

    /// Returns the content that would be wrong for the same reason in a 200 response to GET.
    fn contents(&self) -> Option<BodyCheck> {
        let (answered, seen) = (self.program.answers.last()?, self.answers.last()?);
        if self.program.asks[answered.to].request.method != Method::Get || seen.status != 200 {
            return None;
        }
        let puts = self.program.asks.iter().filter_map(|asked| asked.request.body.clone());
        let told = self.answers.iter().map(|answer| answer.body.clone());
        let known: BTreeSet<Arc<str>> =
            puts.chain(told).chain([Arc::from("")]).filter(|body| *body != seen.body).collect();
        let is_wrong = |body: &Arc<str>| self.is_same_with(&|last| last.body = body.clone());
        let (wrong, right): (Vec<_>, Vec<_>) = known.into_iter().partition(is_wrong);
        // If a rule is relaxed, content that is composed of parts of other contents may be correct.
        if self.kept.relaxed.is_empty() && is_wrong(&UNKNOWN.into()) {
            return Some(BodyCheck::NotIn(right));
        }
        Some(BodyCheck::In(std::iter::once(seen.body.clone()).chain(wrong).collect()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use confute::Refutation;
    use confute::trace::WireConn;
    use confute_drive::{AnyMessage, Judge, KeptCase, Past, Peer, Protocol as _, Step, is_refuted};

    use super::*;
    use crate::ask::AskRequest;
    use crate::message::Span;

    /// Returns the criterion for these exchanges.
    fn found(
        http: &Http,
        exchanges: &[(AskRequest, Response)],
        judge: &Judge<'_, Message>,
    ) -> Result<Criterion, &'static str> {
        let (mut script, mut trace) = (Vec::new(), vec![Event::Opened(WireConn(0))]);
        for (ask, response) in exchanges {
            trace.push(Event::Sent(
                WireConn(0),
                http.resolve(&ask.clone().into(), "n", &Past::default()).unwrap(),
            ));
            trace.push(Event::Received(WireConn(0), response.clone().into()));
            script.push(Step::Ask { on: Peer::Opened(0), ask: ask.clone().into(), cuts: Vec::new() });
        }
        let refutation = Refutation {
            event: trace.len() - 1,
            seen: String::new(),
            expected: Vec::new(),
            hypotheses: 1,
            more: false,
        };
        let kept = KeptCase {
            number: 1,
            script: &script,
            trace: &trace,
            refutation: &refutation,
            diagnoses: &[],
            relaxed: &[],
            raw: &[],
            name: "n",
            again: None,
            url: "http://h/",
            about: &[],
            judge,
            now: SystemTime::UNIX_EPOCH,
        };
        criterion(&kept, &Program::new(http, &kept).unwrap())
    }

    fn last(http: &Http, exchanges: &[(AskRequest, Response)]) -> Check {
        let judge = |events: &[Event<Message>], also: &[&'static str]| {
            let events: Vec<_> = events.iter().map(|event| event.clone().map(AnyMessage::new)).collect();
            is_refuted(http, &events, also.to_vec())
        };
        match found(http, exchanges, &judge) {
            Ok(Criterion::Answers(checks)) => checks.last().unwrap().clone(),
            Ok(Criterion::Flaws(flaws)) => panic!("{flaws:?}"),
            Err(why) => panic!("{why}"),
        }
    }

    fn ok(body: &str) -> Response {
        Response {
            status: 200,
            body: body.into(),
            content_length: Some(body.len() as u64),
            ..Response::default()
        }
    }

    #[test]
    fn what_was_read_before_is_right() {
        let http = Http::default().reading(vec!["/a".into()]);
        let get = AskRequest { name: "/a".into(), ..AskRequest::default() };
        let check = last(&http, &[(get.clone(), ok("B")), (get, ok("C"))]);
        assert_eq!(check.body, Some(BodyCheck::NotIn(vec!["B".into()])));
    }

    #[test]
    fn made_up_content_makes_no_status_wrong() {
        let http = Http::default();
        let put = AskRequest {
            method: Method::Put,
            name: "a".into(),
            body: Some("hello".into()),
            ..AskRequest::default()
        };
        let get = AskRequest { name: "a".into(), range: vec![Span::From(9)], ..AskRequest::default() };
        let created = Response { status: 201, ..Response::default() };
        let wrong =
            Response { status: 416, content_range: Some(RangeSent::Nothing(99)), ..Response::default() };
        let check = last(&http, &[(put, created), (get, wrong)]);
        // A server may always send the whole representation instead.
        assert!(check.status.contains(&416) && check.status.contains(&404), "{check:?}");
        assert!(!check.status.contains(&200) && !check.status.contains(&206), "{check:?}");
        assert_eq!(check.range, Some(Some(RangeSent::Nothing(99))));
    }

    #[test]
    fn flaws_are_compared_or_do_not_matter() {
        let is_flawed = |answer: &Response| answer.status == 200 && !answer.flaws.is_empty();
        let judge = |events: &[Event<Message>], _: &[&'static str]| {
            Some(
                matches!(events.last(), Some(Event::Received(_, Message::Response(last))) if is_flawed(last)),
            )
        };
        let flawed = Response { flaws: vec![Flaw::Surplus], ..ok("B") };
        let get = AskRequest { name: "a".into(), ..AskRequest::default() };
        assert!(found(&Http::default(), &[(get, flawed)], &judge).is_err());
    }
}
