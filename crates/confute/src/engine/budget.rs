//! How much a judgement may cost, and the meter that runs meanwhile.

/// How much a judgement may cost, and under which rules it is made.
#[derive(Clone)]
pub struct Options<'a> {
    /// How many turns of the model may be tried.
    pub turns: u64,
    /// About how many bytes the search may hold.
    pub memory: usize,
    /// Called now and then, also deep inside the search, with how far it is; `true` means that the time is up. The
    /// core has no clock of its own.
    pub watch: Option<&'a dyn Fn(&Pulse) -> bool>,
    /// Rules that the server may break.
    pub relaxed: Vec<&'static str>,
    /// How often it may break them.
    pub deviations: u32,
    /// Those among them that it may break any number of times.
    pub free: Vec<&'static str>,
    /// If set, it breaks the others only in handling the message that was sent at this place of the trace.
    pub at: Option<usize>,
    /// Runs every turn of the model at least twice and compares what it did, instead of a sample of them. A model with hidden
    /// state is then told as [`NotDeterministic`](crate::lang::Mistake::NotDeterministic) much sooner; a judgement takes
    /// two to three times as long.
    pub repeat_all: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            turns: u64::MAX,
            memory: 2 << 30,
            watch: None,
            relaxed: Vec::new(),
            deviations: u32::MAX,
            free: Vec::new(),
            at: None,
            repeat_all: false,
        }
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// The furthest event that the part being searched has explained.
    pub event: u64,
    /// How many turns of the model were tried.
    pub turns: u64,
    /// How many alternatives that part has open.
    pub open: usize,
    /// About how many bytes they take.
    pub bytes: usize,
}

/// How many turns may be tried between two looks at the watch.
const LOOK: u64 = 256;

/// Watches the budget.
pub(crate) struct Meter<'a> {
    pub(super) options: Options<'a>,
    /// Where the present slice ends.
    pub(super) slice: u64,
    pub(super) countdown: u32,
    /// After how many turns the watch is asked again, at the latest.
    pub(super) look_at: u64,
    pub(crate) spent: Option<&'static str>,
}

impl Meter<'_> {
    /// Whether to stop: because the slice is over, or (then `spent` says what) for good.
    pub(crate) fn is_spent(&mut self, runs: u64, pulse: impl FnOnce() -> Pulse) -> bool {
        if self.spent.is_some() || runs >= self.slice {
            return true;
        }
        self.countdown -= 1;
        // Where many rules are relaxed, one step may take a thousand turns.
        if self.countdown == 0 || runs >= self.look_at {
            self.countdown = 64;
            self.look_at = runs + LOOK;
            let pulse = pulse();
            if runs >= self.options.turns {
                self.spent = Some("turn");
            } else if pulse.bytes > self.options.memory {
                self.spent = Some("memory");
            } else if self.options.watch.is_some_and(|watch| watch(&pulse)) {
                self.spent = Some("time");
            }
        }
        self.spent.is_some()
    }
}
