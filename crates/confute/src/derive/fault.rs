//! Faults: premises of the search and of its reductions that the test build can drop.
//!
//! The search is fast because it leaves out work, and each time under a premise. A premise that no test misses could be
//! lost by accident. So every premise asks [`planted`] if it is to be dropped just now. In a normal build the answer is a
//! constant, and nothing is left of the question; with the feature `faults`, which only tests switch on, [`with`] plants
//! one fault at a time, for the thread that runs the search. A stored trace for each shows that an oracle notices.

#[cfg(feature = "faults")]
use std::cell::Cell;

macro_rules! faults {
    ($($name:ident $text:literal: $drops:literal,)+) => {
        /// A premise that can be dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Fault {
            $(#[doc = concat!("Drops the premise: ", $drops, ".")] $name,)+
        }

        #[cfg(feature = "faults")]
        impl Fault {
            /// All faults.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Returns the name of the fault.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }

            /// Returns the premise that the fault drops.
            pub const fn drops(self) -> &'static str {
                match self { $(Self::$name => $drops),+ }
            }
        }
    };
}

faults! {
    // Late reads.
    ReadAtLatestVersion "read-at-latest-version": "a read is placed at the earliest version that fits, so that a pipelined successor has most room",
    ReadTooLateForTheNext "read-too-late-for-the-next": "a read is placed late because it teaches nothing there only if nothing is behind it on its connection",
    EarlyReadBesideOthers "early-read-beside-others": "a read is taken as soon as its answer fits only if nothing else was under way on its connection",
    ReadBeforePredecessor "read-before-predecessor": "a late read is not placed before its predecessor on the connection",
    ReadBeforeSent "read-before-sent": "a late read is not placed before it was sent",
    TwoCellsReadEarly "two-cells-read-early": "a read of two cells takes place now, and its successor no earlier",
    TwoCellsSettledEarly "two-cells-settled-early": "a read of two cells that fits is not settled in passing if something was sent behind it",
    LateReadsBesideInternal "late-reads-beside-internal": "reads are not placed late where they let internal turns happen again",
    LateReadsBesideWhole "late-reads-beside-whole": "reads are not placed late once a turn may touch anything",
    // Tables.
    TabulatedReadsThatWrite "tabulated-reads-that-write": "a request is handled at the first content that gives its response only if it changes nothing at any content",
    TabulatedQuietAtOneContent "tabulated-quiet-at-one-content": "a request that may write counts as a read only if it changes none of the contents that can occur",
    TabulatedUnseenThoughRead "tabulated-unseen-though-read": "by tables too, a content that was read is not unseen",
    TabulatedUnseenThoughAnswered "tabulated-unseen-though-answered": "by tables too, a write is left in flight only as long as it is unanswered",
    TabulatedLostWithoutWhatIsInFlight "tabulated-lost-without-what-is-in-flight": "by tables too, what is in flight may bring a content back",
    TabulatedLostWithoutWhatComes "tabulated-lost-without-what-comes": "by tables too, what is sent later may bring a content back",
    ProjectedInAnyOrder "projected-in-any-order": "a projection keeps the order in which requests were handled",
    ProjectedWithoutWhatComes "projected-without-what-comes": "requests that are sent later take part in a projection",
    ProjectedWithoutLoose "projected-without-loose": "requests about anything take part in every projection",
    // Names of secrets.
    OneNameForTwoCopies "one-name-for-two-copies": "secrets are named after the delivery: two copies of one message make two",
    // The fingerprint.
    PrintWithoutPlace "print-without-place": "the fingerprint covers the place in the trace",
    PrintWithoutPending "print-without-pending": "the fingerprint covers what is on its way to the server",
    PrintWithoutCopies "print-without-copies": "the fingerprint covers how often a packet was delivered, and whether it may have passed unseen",
    PrintWithoutOut "print-without-out": "the fingerprint covers what is on its way to the tester",
    PrintWithoutVerified "print-without-verified": "where turns may send anything, the fingerprint covers also what was found to be right",
    PrintWithoutAnswers "print-without-answers": "the fingerprint covers the answers of a suspended turn",
    PrintWithoutLinks "print-without-links": "the fingerprint covers the map of model to physical connections",
    PrintWithoutFired "print-without-fired": "the fingerprint covers which internal actions have happened",
    PrintWithoutFacts "print-without-facts": "the fingerprint covers what is known about secrets",
    PrintWithoutDeviations "print-without-deviations": "the fingerprint covers how often rules were broken",
    PrintWithoutMustWrite "print-without-must-write": "the fingerprint covers that a packet is only of interest if it changes something",
    PrintWithoutUnseen "print-without-unseen": "the fingerprint says whether the last write was looked at",
    PrintWithoutVersions "print-without-versions": "the fingerprint covers the versions that somebody can still see",
    PrintWithoutVersionOrder "print-without-version-order": "the fingerprint covers the order of versions where a connection has several requests under way",
    PrintWithoutWhoSees "print-without-who-sees": "the fingerprint covers who can still see a version",
    VisitedOfPartsKept "visited-of-parts-kept": "what was met while parts were searched apart does not count as met once they are one",
    // Independence.
    PartsNotMerged "parts-not-merged": "a message that touches cells of two parts makes them one",
    WholeTurnsApart "whole-turns-apart": "a turn that may touch anything, or answer on others' connections, ties all parts together",
    ConnectionInTwoParts "connection-in-two-parts": "requests under way on one connection tie the parts of their cells together",
    SilentRequestsForgotten "silent-requests-forgotten": "a request without an answer ties its connection to its part until it is known to have arrived",
    CopiesSearchedApart "copies-searched-apart": "where packets are lost or doubled everything is one part",
    InfluenceByOthersForgotten "influence-by-others-forgotten": "a packet is left out only if it shares no cell with the one in question, directly or through others",
    InfluenceOfLanesForgotten "influence-of-lanes-forgotten": "a packet counts as related if it has to go before one that is",
    InfluenceIgnoresReadersAhead "influence-ignores-readers-ahead": "a read in front of a related write has to go first, so it is not left out",
    // Foresight.
    WatchedThoughItMightFit "watched-though-it-might-fit": "a read is watched only if no version of its cell might fit",
    CoveredByAnAddition "covered-by-an-addition": "a write passes unseen only under one that overwrites",
    IdleWriteThoughLookedAt "idle-write-though-looked-at": "an overwritten write is left out only if nobody unanswered may have looked at it",
    IdleWriteThoughAnswered "idle-write-though-answered": "an overwritten write is left out only if it was still unanswered when it was overwritten",
    IdleWriteAfterRead "idle-write-after-read": "a write that was read is not left out",
    CoveredThoughFollowed "covered-though-followed": "a write that was overwritten unseen still came before what is behind it on its connection",
    DeadThoughSeen "dead-though-seen": "a content is dead only if no read under way or yet to come can have seen it or what it grows into",
    DeadAfterOverwriting "dead-after-overwriting": "what overwrites a dead content is not dead",
    OutlookWithoutPast "outlook-without-past": "that an answer can never come is said only after a look at the earlier versions, too",
    OutlookWithoutOthers "outlook-without-others": "that an answer can never come is said only after a look at all that the others lead to",
    VersionsDroppedBesideOthers "versions-dropped-beside-others": "what a packet has seen is told from its known answer only if nothing else was under way on its connection",
    DoomedWithoutPast "doomed-without-past": "that an answer can no longer come is said only of what cannot have come at an earlier version",
    DoomedWithoutOthers "doomed-without-others": "that an answer can no longer come is said only after a look at where all that is under way leads",
    DoomedWithoutLater "doomed-without-later": "that an answer can no longer come is said only after a look at what is sent before it comes",
    QuietThoughItMayChange "quiet-though-it-may-change": "a turn that may write is placed early only if no content that can come about makes it write",
    MustWriteTooOften "must-write-too-often": "that a packet changed nothing is tried before it is said that it must change something",
    OvertakenByTheFirstAnswer "overtaken-by-the-first-answer": "an answer on its way is compared with the sight that is due to it, not with the first on its connection",
    BreakCountedAsAnswer "break-counted-as-answer": "where connections break, what was on its way then is lost and no contradiction",
    // Internal turns.
    InternalNeverAgain "internal-never-again": "an internal action may happen again after a message touched its cells",
    InternalAgainAfterAny "internal-again-after-any": "an internal action may happen again only after a message that touched its cells",
    // Ends of connections, quiescence and loss.
    LoosePacketsInTheWay "loose-packets-in-the-way": "what a hung-up connection left behind may be lost, and is in nobody's way",
    LoosePacketsOwed "loose-packets-owed": "what an ended connection left behind may arrive before all is at rest, but need not",
    RestWithPacketsUnderWay "rest-with-packets-under-way": "all is at rest only when the server has taken what it can take",
    RestWithAnswersUnderWay "rest-with-answers-under-way": "all is at rest only when every answer was seen",
    CopiesAfterRest "copies-after-rest": "spare copies are not under way after all has come to rest",
    AnswersAfterRest "answers-after-rest": "where packets get lost, what was under way before all came to rest is not seen after it",
    StaleAfterFresh "stale-after-fresh": "what came to rest before a packet was sent did not come after it",
    // Settling.
    StaleAfterInternal "stale-after-internal": "what is gone since a rest does not come after an internal turn that is heard of",
    VersionsLostAtSettling "versions-lost-at-settling": "settling keeps the versions that pending packets can still see",
    FactsLostAtSettling "facts-lost-at-settling": "facts are forgotten only about secrets that nothing mentions",
    FactsOfMessagesLost "facts-of-messages-lost": "facts are kept about secrets in messages on their way",
    SettledWithTheFirst "settled-with-the-first": "settling keeps every alternative that is different",
    MergedWithTheFirst "merged-with-the-first": "two parts that become one keep every pair of their hypotheses",
    JoinedOutOfTime "joined-out-of-time": "what a part has settled is joined where it was settled, not before what the other has still to go through",
    LateReadsLostByWholeTurns "late-reads-lost-by-whole-turns": "reads that could be placed late are so still when a turn that may touch anything comes",
    RankingDropsLateReads "ranking-drops-late-reads": "a read whose answer the present does not give is tried at earlier versions",
    RestCountedTwice "rest-counted-twice": "parts that come to rest together and are joined later have come to rest once",
    // Growing texts.
    OriginOnlyUnderWay "origin-only-under-way": "a content is given up only if no overwriting request, under way or yet to come, leads to what is read next",
    NeverThoughItMayGrow "never-though-it-may-grow": "a read whose content may still grow into what was seen is not given up",
    LostWithoutWhatComes "lost-without-what-comes": "what a later read sees may have been written by a packet that is yet to be sent",
    LostWithoutWhatIsUnderWay "lost-without-what-is-under-way": "what a later read sees may have been written by a packet that is under way",
    RestSeenThrough "rest-seen-through": "a packet from before a rest that acts late hides what was there from what was sent since",
}

#[cfg(feature = "faults")]
thread_local! {
    static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// Runs something with a fault planted in the searches of this thread.
#[cfg(feature = "faults")]
pub fn with<T>(fault: Option<Fault>, run: impl FnOnce() -> T) -> T {
    struct Restore(Option<Fault>);
    impl Drop for Restore {
        fn drop(&mut self) {
            PLANTED.set(self.0);
        }
    }
    let _restore = Restore(PLANTED.replace(fault));
    run()
}

/// Returns `true` if this fault is planted.
#[cfg(feature = "faults")]
pub(crate) fn planted(fault: Fault) -> bool {
    PLANTED.get() == Some(fault)
}

/// Returns `true` if this fault is planted: never, in a build without faults.
#[cfg(not(feature = "faults"))]
#[inline]
pub(crate) const fn planted(_: Fault) -> bool {
    false
}
