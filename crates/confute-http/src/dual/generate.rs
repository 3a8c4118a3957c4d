//! Traffic of both kinds on the same connections: what each generator makes up, and pipelines of both.

use std::collections::{BTreeSet, VecDeque};

use confute_drive::{Generator, Past, Peer, Step, Until, View};

use super::message::Message;
use super::protocol::{Ask, Dual, Served};
use crate::generate::{Pick, Traffic};
use crate::message::Method;
use crate::protocol::{Ask as Serve, Http};
use crate::proxy::{Ask as Pass, Passage, Proxy, Question};
use crate::smaller;

/// More connections than this are not used: every way in which requests can overtake each other is a hypothesis.
const CONNECTIONS: u32 = 6;

/// How many steps of a case ask the server itself (to find the broken rule takes time with the square of it),
const STEPS: usize = 80;
/// how many where nothing is at once, so that everything has its turn,
const CALM_STEPS: usize = 150;
/// how many requests are to be passed on,
const REQUESTS: usize = 20;
/// how many there (each kind once),
const CALM_REQUESTS: usize = 27;
/// and how many of these are outstanding at most.
const MOST: usize = 4;
/// Every other case only asks the server itself, over all connections: its races take many at once. Of the others, so many
/// are one request after the other.
const CALM_CASES: u64 = 2;
/// So many steps has one that only asks the server itself.
const ALONE_STEPS: usize = 200;

/// So many steps are done before there are pipelines: then there is something to read.
const CALM: usize = 10;

/// Traffic of one case.
#[derive(Clone, Debug)]
pub struct Mixture {
    serve: Traffic,
    pass: Passage,
    /// Whether there is still something to come of it,
    serves: bool,
    /// and of that.
    passes: bool,
    /// Once in so many times, where nothing is under way, there is a pipeline of both.
    pipelines_in: u64,
    queue: VecDeque<Step<Ask>>,
    /// A step that has to wait until nothing is being passed on.
    pending: Option<Step<Serve>>,
    /// Connections that nothing is read from.
    held: BTreeSet<Peer>,
    /// Whether everything has to be answered before anything else is asked.
    rests: bool,
    /// How many connections are used at most.
    most: u32,
    /// What of the past the one kind of traffic sees.
    served: Served,
}

impl Mixture {
    /// That of the case with this number in a campaign: one request after the other at first, more and more at once later.
    pub fn of_case(http: Http, case: u64) -> Self {
        let (turn, is_alone) = (case / 2, case % 2 == 1);
        if is_alone {
            // Every kind of traffic in its turn, but for that of calm cases.
            let serve = Traffic::of_case(http, ALONE_STEPS, CALM_CASES + turn);
            let alone = Self::new(serve, Passage::new(0, 1));
            return Self { passes: false, pipelines_in: u64::MAX, most: u32::MAX, ..alone };
        }
        let calm = turn < CALM_CASES;
        let serve = Traffic::new(http, if calm { CALM_STEPS } else { STEPS });
        // Waiting in vain for 100 takes half a second, so only now and then.
        let serve = if turn % 8 == CALM_CASES { serve } else { serve.impatient() };
        let serve = if calm { serve.gentle().opening() } else { serve };
        let most = if calm { 1 } else { 1 + turn as usize % MOST };
        let pass = Passage::new(if calm { CALM_REQUESTS } else { REQUESTS }, most).hinting(turn);
        let mixture = Self::new(serve, if calm { pass.opening() } else { pass });
        // What is wrong all the time is best found without them.
        if calm { Self { pipelines_in: u64::MAX, ..mixture } } else { mixture }
    }

    /// This and that.
    pub fn new(serve: Traffic, pass: Passage) -> Self {
        Self {
            serve,
            pass,
            serves: true,
            passes: true,
            pipelines_in: 8,
            queue: VecDeque::new(),
            pending: None,
            held: BTreeSet::new(),
            rests: false,
            most: CONNECTIONS,
            served: Served::default(),
        }
    }
}

/// What one of the two generators sees: only its own.
struct Views<'a> {
    past: &'a Past<Http>,
    none: Past<Proxy>,
    /// Outstanding answers of the server itself, by connection,
    serving: Vec<u32>,
    /// and such as come from the origin.
    passing: Vec<u32>,
    asked: Vec<(Peer, &'a crate::proxy::message::Message)>,
}

impl<'s> Views<'s> {
    fn of(view: &View<'s, Dual>, past: &'s Past<Http>) -> Self {
        let passing: Vec<u32> =
            (0..).zip(view.outstanding).map(|(on, count)| passing(view, on, *count)).collect();
        let serving = view.outstanding.iter().zip(&passing).map(|(all, passing)| all - passing).collect();
        let asked = view.asked.iter().filter_map(|(peer, message)| Some((*peer, message.passed()?)));
        Self { past, none: Past::default(), serving, passing, asked: asked.collect() }
    }

    fn is_passing(&self) -> bool {
        self.passing.iter().any(|count| *count > 0)
    }

    fn serve<'a>(
        &'a self,
        view: &View<'a, Dual>,
        most: u32,
        disagreement: &'a dyn Fn(&Serve) -> usize,
    ) -> View<'a, Http> {
        View {
            past: self.past,
            steps: view.steps,
            connections: view.connections.min(most),
            wide: view.wide.min(most),
            outstanding: &self.serving,
            asked: &[],
            alternatives: view.alternatives,
            reached: view.reached,
            disagreement,
        }
    }

    /// Whoever passes something on has to know which connections are free.
    fn pass<'a>(&'a self, view: &View<'a, Dual>) -> View<'a, Proxy> {
        View {
            past: &self.none,
            steps: view.steps,
            connections: view.connections.min(CONNECTIONS),
            wide: view.wide.min(CONNECTIONS),
            outstanding: view.outstanding,
            asked: &self.asked,
            alternatives: view.alternatives,
            reached: &[],
            disagreement: &|_| 0,
        }
    }
}

/// How many of the last requests on a connection, which are outstanding, are to be passed on.
fn passing(view: &View<'_, Dual>, on: u32, outstanding: u32) -> u32 {
    let latest = view.past.exchanges.iter().rev().filter(|exchange| exchange.on == Peer::Opened(on));
    let passed = latest
        .take(outstanding as usize)
        .filter(|exchange| matches!((&exchange.ask, &exchange.request), (Ask::Pass(_), Message::Passed(_))));
    passed.count() as u32
}

fn lift<A>(step: Step<A>, kind: impl FnOnce(A) -> Ask) -> Step<Ask> {
    match step {
        Step::Ask { on, ask, cuts } => Step::Ask { on, ask: kind(ask), cuts },
        Step::Gather => Step::Gather,
        Step::Hold(peer) => Step::Hold(peer),
        Step::Release(peer) => Step::Release(peer),
        Step::Wait(until) => Step::Wait(until),
        Step::HangUp(peer) => Step::HangUp(peer),
        Step::Finish(peer) => Step::Finish(peer),
    }
}

impl Mixture {
    /// Something that brings answers: those that the server waits for, or the wait for its own.
    fn rest(&mut self, views: &Views<'_>, view: &View<'_, Dual>, pick: &mut Pick<'_>) -> Step<Ask> {
        let answer = self.pass.go_on(&views.pass(view), pick);
        answer.map_or(Step::Wait(Until::Something), |step| lift(step, Ask::Pass))
    }

    /// Safe requests of both kinds on one connection, without waiting; perhaps a write at the end. The first is held back until
    /// the others are there.
    fn pipeline(&mut self, view: &View<'_, Dual>, pick: &mut Pick<'_>) {
        let on = Peer::Opened(pick(view.connections.clamp(1, CONNECTIONS).into()) as u32);
        let (count, first) = (2 + pick(4), pick(2));
        for at in 0..count {
            // At least one of each.
            let is_passed = if at < 2 { at == first } else { pick(2) == 0 };
            let ask = if is_passed {
                let question = self.pass.question(0, pick);
                Ask::Pass(Pass::Send(Question { method: method(pick).name().into(), ..question }))
            } else {
                let read =
                    Serve { method: method(pick), name: format!("r{}", pick(2)).into(), ..Serve::default() };
                Ask::Serve(if at + 1 == count && pick(3) == 0 { self.write(read) } else { read })
            };
            let cuts = if at == 0 { vec![(9, 2)] } else { Vec::new() };
            self.queue.push_back(Step::Ask { on, ask, cuts });
        }
        // What is read there must not be written meanwhile: it may be read in any order.
        self.rests = true;
    }

    /// Where everything begins with what is plain: whether the server itself is asked next. First it is, then something is
    /// passed on, and then comes the rest of it.
    fn opens(&self, is_quiet: bool) -> Option<bool> {
        let is_over = !self.serve.is_opening() && !self.pass.is_opening();
        if is_over {
            return None;
        }
        Some(if self.pass.is_opening() { !self.serve.has_begun() } else { is_quiet })
    }

    fn write(&mut self, read: Serve) -> Serve {
        let body = format!("<behind {}>", self.pass.mark());
        Serve { method: Method::Put, body: Some(body.into()), ..read }
    }

    /// What the one kind of traffic does next.
    fn serve(&mut self, views: &Views<'_>, view: &View<'_, Dual>, pick: &mut Pick<'_>) -> Option<Step<Ask>> {
        let disagreement = |ask: &Serve| (view.disagreement)(&Ask::Serve(ask.clone()));
        let Some(step) = self.serve.next(&views.serve(view, self.most, &disagreement), pick) else {
            self.serves = false;
            self.queue.extend(std::mem::take(&mut self.held).into_iter().map(Step::Release));
            return self.queue.pop_front();
        };
        match &step {
            Step::Hold(peer) => drop(self.held.insert(*peer)),
            Step::Release(peer) => drop(self.held.remove(peer)),
            _ if has_to_wait(&step, views, pick) => {
                self.pending = Some(step);
                return Some(self.rest(views, view, pick));
            }
            _ => {}
        }
        Some(lift(step, Ask::Serve))
    }
}

/// Whether a step of the one kind has to wait for the other.
fn has_to_wait(step: &Step<Serve>, views: &Views<'_>, pick: &mut Pick<'_>) -> bool {
    match step {
        Step::Wait(Until::Outstanding(_)) => views.is_passing(),
        Step::Ask { on: Peer::Opened(on), ask, .. } => {
            let is_busy = views.passing.get(*on as usize).is_some_and(|count| *count > 0);
            is_busy && (!smaller::is_plain(ask) || pick(2) == 0)
        }
        _ => false,
    }
}

fn method(pick: &mut Pick<'_>) -> Method {
    if pick(5) == 0 { Method::Head } else { Method::Get }
}

impl Generator<Dual> for Mixture {
    fn next(&mut self, view: &View<'_, Dual>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        if let Some(step) = self.queue.pop_front() {
            return Some(step);
        }
        let mut served = std::mem::take(&mut self.served);
        let step = self.decide(&Views::of(view, served.of(view.past)), view, pick);
        self.served = served;
        step
    }
}

impl Mixture {
    fn decide(&mut self, views: &Views<'_>, view: &View<'_, Dual>, pick: &mut Pick<'_>) -> Option<Step<Ask>> {
        let is_quiet = view.outstanding.iter().all(|count| *count == 0);
        self.rests &= !is_quiet;
        if self.rests || (self.pending.is_some() && views.is_passing()) {
            return Some(self.rest(views, view, pick));
        }
        if let Some(step) = self.pending.take() {
            return Some(lift(step, Ask::Serve));
        }
        if is_quiet
            && self.held.is_empty()
            && self.serves
            && view.steps > CALM
            && pick(self.pipelines_in) == 0
        {
            self.pipeline(view, pick);
            return self.queue.pop_front();
        }
        // While something is held back, only who holds it knows what to wait for.
        let serves_first = !self.held.is_empty() || self.opens(is_quiet).unwrap_or_else(|| pick(2) == 0);
        if self.serves
            && (serves_first || !self.passes)
            && let Some(step) = self.serve(views, view, pick)
        {
            return Some(step);
        }
        if self.passes {
            match self.pass.next(&views.pass(view), pick) {
                Some(step) => return Some(lift(step, Ask::Pass)),
                None => self.passes = false,
            }
        }
        if self.serves { self.serve(views, view, pick) } else { None }
    }
}
