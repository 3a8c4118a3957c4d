//! The crew: all cases that run at the same time, and the connections that they may have open together.
//!
//! A case mostly waits: for tags that ripen, for slow responses, for the end of its patience. Meanwhile others run. There is
//! one at first; more are admitted while the processors of the tester are not busy and the server takes all connections.
//! It is no violation that a server has a limit: it may refuse connections, leave them unanswered, or end those that are
//! idle (RFC 9112, 9.5). So with other cases beside it, none of this is taken for a server that hangs, is gone or was
//! restarted ([`Trouble::Crowded`](crate::Trouble::Crowded)): the number of connections is halved, the next case runs
//! alone, and what happens to that one is told as it always was.
//!
//! Seeds and scripts do not depend on the crew: the seed of a case follows from that of the campaign and its number.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use confute_record::Crowding;

/// Most connections of all cases together, unless a kit knows better.
pub const MOST_CONNECTIONS: u32 = 256;
/// Most cases of a campaign at the same time.
const MOST_CASES: u32 = 32;
/// Interval in which the number of cases may grow by one.
const INTERVAL: Duration = Duration::from_millis(100);
/// Share of the processors that may be busy when another case is admitted.
const SPARE: f64 = 0.85;
/// Multiple of the processors from which on cases only take time from each other.
const OVERLOAD: f64 = 1.5;
/// Longest time for which no case begins because a violation is blamed: with its rule relaxed, the next case finds another.
const BLAME: Duration = Duration::from_millis(500);
/// Interval in which waiting cases look again.
const LOOK: Duration = Duration::from_millis(20);
/// Time without a drop after which the server is tried with more connections again.
const RECOVERY: Duration = Duration::from_secs(5);
/// Shortest time without a first byte on a new connection that is taken for a sign of too many connections.
const STARVED: Duration = Duration::from_secs(1);
/// Multiple of the longest time for a first response that is such a sign.
const STARVED_MULTIPLE: u32 = 4;
/// Number of connections that the server has to drop before that is a sign of too many.
const SEVERAL: u64 = 4;
/// Number of responses to a case alone that show how often the server drops connections anyway.
const ALONE: u64 = 200;
/// Multiple of the connections that the server drops anyway, for as many responses, from which on it is a sign.
const MORE: u64 = 3;

/// Time after which the server has noticed that the connections of several cases ended. Until then it may still count them,
/// and refuse those of the next case.
const LINGER: Duration = Duration::from_secs(1);

/// Bytes of unfinished messages, all cases together, above which no case begins beside others: responses are large, or the
/// server floods its clients, and memory is needed for those that have begun.
const UNREAD: usize = 32 << 20;

/// Use that a case has for its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A case of the campaign.
    Campaign,
    /// A repetition, to make a case smaller or for an experiment.
    Repetition,
}

/// The cases that run at the same time. See the [module](self).
#[derive(Debug)]
pub struct Crew {
    state: Mutex<State>,
    changed: Condvar,
    /// Number of processors.
    processors: f64,
    /// Number of connections of a case of the campaign.
    unit: u32,
    /// Most connections of all cases together.
    most: u32,
    /// Number of responses received.
    answers: AtomicU64,
    /// Number of connections that the server ended unannounced.
    dropped: AtomicU64,
    /// Microseconds that cases have waited for sockets, all together.
    waited: AtomicU64,
    /// Microseconds that the slowest first response on a connection took, to a case alone.
    slowest: AtomicU64,
    /// Number of the case that waits for connections, for which all later ones end; zero if there is none.
    favoured: AtomicU64,
    /// Bytes of unfinished messages on the connections of all cases.
    unread: AtomicUsize,
}

/// The bytes of the unfinished message on one connection, which count for its crew as long as the connection lives.
#[derive(Debug)]
pub(crate) struct Unread {
    crew: Option<Arc<Crew>>,
    bytes: usize,
}

impl Unread {
    pub(crate) fn new(crew: Option<Arc<Crew>>) -> Self {
        Self { crew, bytes: 0 }
    }

    /// Notes that the message has this many bytes by now. Returns the sum for all connections of the crew.
    pub(crate) fn note(&mut self, bytes: usize) -> usize {
        let before = std::mem::replace(&mut self.bytes, bytes);
        let Some(crew) = &self.crew else { return bytes };
        crew.unread.fetch_sub(before, Ordering::Relaxed);
        crew.unread.fetch_add(bytes, Ordering::Relaxed) + bytes
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        self.note(0);
    }
}

/// Two handles are equal if they are the same crew.
impl PartialEq for Crew {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Crew {}

#[derive(Debug)]
struct State {
    /// The running cases.
    running: Vec<Member>,
    /// Number of cases that have begun.
    begun: u64,
    /// Most connections of the cases of the campaign.
    limit: u32,
    /// Most connections of all cases.
    ceiling: u32,
    /// Number of times that the ceiling was lowered.
    epoch: u64,
    /// End of the last case beside which others ran.
    several_until: Option<Instant>,
    /// `true` if the next case of the campaign is to run alone.
    alone: bool,
    /// `true` while the campaign goes on.
    campaigns: bool,
    /// Number of repetitions that wait.
    repetitions: u32,
    /// Number of cases of the campaign that wait for the ceiling.
    kept_out: u32,
    /// Purpose of the last case that began.
    last: Purpose,
    /// Start of the search for a broken rule that is going on.
    blame: Option<Instant>,
    /// Number of threads that search or judge, besides the cases of the campaign.
    thinkers: u32,
    gauge: Gauge,
    crowding: Crowding,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    number: u64,
    purpose: Purpose,
    connections: u32,
}

/// The measurements from which the crew grows.
#[derive(Debug)]
struct Gauge {
    /// Time up to which `presence` is counted.
    counted: Instant,
    /// Sum of the times that cases have run, and that violations were blamed and investigated.
    presence: Duration,
    /// Start of the present interval, with the counters by then.
    since: Instant,
    present_then: Duration,
    waited_then: u64,
    answers_then: u64,
    dropped_then: u64,
    /// Responses and dropped connections while at most one case of the campaign ran.
    few: (u64, u64),
    /// Responses and dropped connections with more, since the ceiling was lowered.
    many: (u64, u64),
    /// Time when the ceiling was last changed.
    changed: Instant,
}

impl State {
    fn open(&self) -> u32 {
        self.running.iter().map(|one| one.connections).sum()
    }

    fn campaign(&self) -> u32 {
        let of_campaign = self.running.iter().filter(|one| one.purpose == Purpose::Campaign);
        of_campaign.map(|one| one.connections).sum()
    }

    /// Adds the time since the last call to the presence of all that runs. A repetition is a part of an investigation.
    fn count(&mut self) {
        let now = Instant::now();
        let since = now.saturating_duration_since(self.gauge.counted);
        let cases = self.running.iter().filter(|one| one.purpose == Purpose::Campaign).count() as u32;
        self.gauge.presence += since * (cases + self.thinkers);
        self.gauge.counted = now;
    }

    fn admits(&self, purpose: Purpose, connections: u32) -> bool {
        let open = self.open();
        match purpose {
            Purpose::Campaign if self.blame.is_some_and(|start| start.elapsed() < BLAME) => false,
            Purpose::Repetition if self.alone => false,
            _ if open == 0 => !self.is_others_turn(purpose),
            _ if self.alone || open + connections > self.ceiling => false,
            Purpose::Campaign => self.campaign() + connections <= self.limit,
            Purpose::Repetition => !self.is_others_turn(purpose),
        }
    }

    /// Returns `true` if cases of the other purpose wait for the ceiling, and the last one was not theirs.
    fn is_others_turn(&self, purpose: Purpose) -> bool {
        let waiting = match purpose {
            Purpose::Campaign => self.repetitions,
            Purpose::Repetition => self.kept_out,
        };
        !self.alone && waiting > 0 && self.last == purpose
    }

    /// Lowers the ceiling because the server dropped connections, with this many open.
    fn lower(&mut self, open: u32, unit: u32, is_hard: bool, why: &str) {
        self.epoch += 1;
        self.ceiling = (open / 2).max(unit);
        self.limit = if is_hard { unit } else { self.limit.min(self.ceiling) };
        self.alone = is_hard && self.campaigns;
        self.gauge.many = (0, 0);
        self.gauge.changed = Instant::now();
        self.crowding.times += 1;
        self.crowding.first.get_or_insert_with(|| format!("with {open} connections open, {why}"));
    }
}

impl Crew {
    /// Creates the crew of a campaign whose cases have this many connections each, and at most so many together.
    pub fn new(connections: u32, most: u32) -> Arc<Self> {
        let now = Instant::now();
        let gauge = Gauge {
            counted: now,
            presence: Duration::ZERO,
            since: now,
            present_then: Duration::ZERO,
            waited_then: 0,
            answers_then: 0,
            dropped_then: 0,
            few: (0, 0),
            many: (0, 0),
            changed: now,
        };
        let unit = connections.max(1);
        let state = State {
            running: Vec::new(),
            begun: 0,
            limit: unit,
            ceiling: most.max(unit),
            epoch: 0,
            several_until: None,
            alone: false,
            campaigns: false,
            repetitions: 0,
            kept_out: 0,
            last: Purpose::Repetition,
            blame: None,
            thinkers: 0,
            gauge,
            crowding: Crowding::default(),
        };
        #[expect(clippy::cast_precision_loss, reason = "no machine has so many processors")]
        let processors = std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
        Arc::new(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            processors,
            unit,
            most,
            answers: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            slowest: AtomicU64::new(0),
            favoured: AtomicU64::new(0),
            unread: AtomicUsize::new(0),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of threads that a campaign needs.
    pub(crate) fn threads(&self) -> usize {
        (self.most / self.unit).clamp(1, MOST_CASES) as usize
    }

    /// Waits until a case may begin. `None` if `halt` is set first.
    pub(crate) fn enter(
        self: &Arc<Self>,
        purpose: Purpose,
        connections: u32,
        halt: &AtomicBool,
    ) -> Option<Shift> {
        let mut state = self.state();
        let mut waits = (false, false);
        let admitted = loop {
            if halt.load(Ordering::Relaxed) {
                break false;
            }
            let is_crammed = state.open() > 0 && self.unread.load(Ordering::Relaxed) > UNREAD;
            if !is_crammed && state.admits(purpose, connections) {
                break true;
            }
            // A case of the campaign that waits for its limit to grow takes nobody's turn.
            let is_kept_out =
                state.open() + connections > state.ceiling && state.campaign() + connections <= state.limit;
            let now = match purpose {
                Purpose::Campaign => (is_kept_out, false),
                Purpose::Repetition => (false, true),
            };
            state.note_waiting(waits, now);
            waits = now;
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        };
        state.note_waiting(waits, (false, false));
        if !admitted {
            return None;
        }
        state.count();
        state.begun += 1;
        state.last = purpose;
        let number = state.begun;
        let lingers = state.several_until.is_some_and(|moment| moment.elapsed() < LINGER);
        let had_others = !state.running.is_empty();
        let has_company = lingers || had_others;
        state.running.push(Member { number, purpose, connections });
        let cases = state.running.iter().filter(|one| one.purpose == Purpose::Campaign).count() as u64;
        let open = u64::from(state.open());
        state.crowding.cases = state.crowding.cases.max(cases);
        state.crowding.connections = state.crowding.connections.max(open);
        let epoch = state.epoch;
        let is_alone = state.alone && purpose == Purpose::Campaign;
        drop(state);
        Some(Shift { crew: Arc::clone(self), number, epoch, had_others, has_company, is_alone })
    }

    /// Notes that a campaign goes on, until the guard is dropped.
    pub(crate) fn campaigning(&self) -> Campaigning<'_> {
        self.campaigns(true);
        Campaigning(self)
    }

    fn campaigns(&self, goes_on: bool) {
        let mut state = self.state();
        state.campaigns = goes_on;
        state.alone &= goes_on;
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until no other violation is blamed, and notes that one is until the guard is dropped. Cases that ran at the same
    /// time often show the same violation, so the result of one may spare the others, and together they would only take
    /// time from each other. `None` if `halt` is set first.
    pub(crate) fn blaming(&self, halt: &AtomicBool) -> Option<Thinking<'_>> {
        let mut state = self.state();
        while state.blame.is_some() {
            if halt.load(Ordering::Relaxed) {
                return None;
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.count();
        state.thinkers += 1;
        state.blame = Some(Instant::now());
        Some(Thinking { crew: self, blames: true })
    }

    /// Notes that a violation is investigated until the guard is dropped: less is left for cases.
    pub fn investigating(&self) -> Thinking<'_> {
        let mut state = self.state();
        state.count();
        state.thinkers += 1;
        Thinking { crew: self, blames: false }
    }

    /// Returns the number of cases at the same time, and what the server did to them.
    pub(crate) fn crowding(&self) -> Crowding {
        self.state().crowding.clone()
    }

    /// Admits more cases, or fewer, by what was measured since the last call. To be called often.
    pub(crate) fn tick(&self) {
        let mut guard = self.state();
        let state = &mut *guard;
        state.count();
        let since = state.gauge.since.elapsed();
        if since < INTERVAL {
            return;
        }
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (answers, dropped, waited) = (read(&self.answers), read(&self.dropped), read(&self.waited));
        let gauge = &mut state.gauge;
        let came = answers - gauge.answers_then;
        let lost = dropped - gauge.dropped_then;
        let present = gauge.presence.saturating_sub(gauge.present_then);
        let busy = present.saturating_sub(Duration::from_micros(waited - gauge.waited_then));
        let used = busy.as_secs_f64() / since.as_secs_f64();
        (gauge.since, gauge.present_then, gauge.waited_then) = (Instant::now(), gauge.presence, waited);
        (gauge.answers_then, gauge.dropped_then) = (answers, dropped);
        let (open, campaign, unit) = (state.open(), state.campaign(), self.unit);
        let gauge = &mut state.gauge;
        let kept = if campaign <= unit { &mut gauge.few } else { &mut gauge.many };
        (kept.0, kept.1) = (kept.0 + came, kept.1 + lost);
        let (few, many) = (gauge.few, gauge.many);
        // A server that drops as many connections of a case alone has no limit, but a habit.
        let is_habit = few.0 >= ALONE && many.1 * few.0 <= MORE * (few.1 + 1) * many.0;
        if campaign > unit && many.1 >= SEVERAL && !is_habit {
            state.lower(open, unit, false, &format!("the server ended {} of them unannounced", many.1));
        }
        if state.gauge.changed.elapsed() >= RECOVERY && state.ceiling < self.most {
            state.ceiling = (state.ceiling + unit).min(self.most);
            state.gauge.changed = Instant::now();
        }
        let is_full = campaign + unit > state.limit;
        let is_measured = state.epoch == 0 || state.gauge.few.0 >= ALONE;
        if used > OVERLOAD * self.processors && state.limit > unit {
            state.limit -= unit;
        } else if used < SPARE * self.processors && came > 0 && is_full && !state.alone && is_measured {
            state.limit = (state.limit + unit).min(state.ceiling.max(unit));
        }
        drop(guard);
        self.changed.notify_all();
    }
}

impl State {
    /// Counts a thread among those that wait, by the state before and now.
    fn note_waiting(&mut self, before: (bool, bool), now: (bool, bool)) {
        self.kept_out = self.kept_out + u32::from(now.0) - u32::from(before.0);
        self.repetitions = self.repetitions + u32::from(now.1) - u32::from(before.1);
    }
}

/// The duration of a campaign.
pub(crate) struct Campaigning<'a>(&'a Crew);

impl Drop for Campaigning<'_> {
    fn drop(&mut self) {
        self.0.campaigns(false);
    }
}

/// A search for a broken rule, during which no case of the campaign begins for a moment, or an investigation.
pub struct Thinking<'a> {
    crew: &'a Crew,
    blames: bool,
}

impl Drop for Thinking<'_> {
    fn drop(&mut self) {
        let mut state = self.crew.state();
        state.count();
        state.thinkers -= 1;
        if self.blames {
            state.blame = None;
        }
        drop(state);
        self.crew.changed.notify_all();
    }
}

/// The permission of a case to run. The case is over when it is dropped.
#[derive(Debug)]
pub(crate) struct Shift {
    crew: Arc<Crew>,
    number: u64,
    /// Number of times that the ceiling had been lowered when it began.
    epoch: u64,
    /// `true` if others were running when it began.
    had_others: bool,
    /// `true` if they were, or if the server may still hold connections of others.
    has_company: bool,
    /// `true` if nothing else may begin while it lasts.
    is_alone: bool,
}

impl Shift {
    /// Returns `true` if another case ran at any time during this one, or several so shortly before it that the server may
    /// still hold their connections.
    pub(crate) fn has_company(&self) -> bool {
        self.has_company || self.crew.state().begun > self.number
    }

    /// Notes that the server does not take all connections, and returns their number. Cases that began before the last time do
    /// not count: it is the same sign.
    pub(crate) fn strain(&self, why: &str) -> u32 {
        let mut state = self.crew.state();
        let open = state.open();
        if state.epoch == self.epoch {
            state.lower(open, self.crew.unit, true, why);
        }
        open
    }

    /// Returns `true` if the case has to end because another one, which began earlier, waits for connections, or if it waited
    /// this long itself for the first response on one. The first of all cases has the others end.
    pub(crate) fn gives_way(&self, waited: Duration, patience: Duration) -> bool {
        let favoured = self.crew.favoured.load(Ordering::Relaxed);
        if favoured > 0 && favoured < self.number {
            return true;
        }
        let slowest = Duration::from_micros(self.crew.slowest.load(Ordering::Relaxed));
        let starved = STARVED.max(slowest * STARVED_MULTIPLE).min(patience / 2);
        if waited < starved || self.is_alone {
            return false;
        }
        let others: Vec<u64> = self.crew.state().running.iter().map(|other| other.number).collect();
        if others.iter().any(|other| *other < self.number) {
            return true;
        }
        if others.iter().any(|other| *other > self.number) {
            self.crew.favoured.store(self.number, Ordering::Relaxed);
            let millis = waited.as_millis();
            self.strain(&format!("a new connection was left without a response for {millis} ms"));
        }
        false
    }

    /// Counts a response; `first` is the time it took if it is the first one on its connection.
    pub(crate) fn answered(&self, first: Option<Duration>) {
        self.crew.answers.fetch_add(1, Ordering::Relaxed);
        // With company, a connection may have waited because of the others.
        if let Some(first) = first.filter(|_| !self.has_company()) {
            self.crew.slowest.fetch_max(first.as_micros() as u64, Ordering::Relaxed);
        }
    }

    /// Counts a connection that the server ended unannounced.
    pub(crate) fn dropped(&self) {
        self.crew.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts time in which the case waited for its sockets.
    pub(crate) fn waited(&self, time: Duration) {
        self.crew.waited.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
    }
}

impl Drop for Shift {
    fn drop(&mut self) {
        let mut state = self.crew.state();
        state.count();
        if state.running.len() > 1 || self.had_others || state.begun > self.number {
            state.several_until = Some(Instant::now());
        }
        state.running.retain(|one| one.number != self.number);
        let _ = self.crew.favoured.compare_exchange(self.number, 0, Ordering::Relaxed, Ordering::Relaxed);
        // A case alone that dropped nothing allows others again.
        if self.is_alone && state.epoch == self.epoch {
            state.alone = false;
        }
        drop(state);
        self.crew.changed.notify_all();
    }
}
