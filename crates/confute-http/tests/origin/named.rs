//! Regression tests: violations that were once blamed on an unrelated rule, each with the rule that it violates.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use confute::lang::Level;
use confute::network::Tcp;
use confute::trace::Event;
use confute::{Options, blame};
use confute_drive::{AnyMessage, Evidence as _, PastRun, Rerun, judge_again};
use confute_http::Http;
use confute_http::message::{Flaw, Message, Odd, Request, Response};

use crate::story::{Asking, ORIGIN, Story, Telling, delete, get, ok, put, status, with};

/// Annotates a trace as after a live case, and returns the rule sets that it is blamed on, and the level.
fn diagnosed(story: &Story, relaxed: &[&'static str]) -> (Vec<String>, Option<Level>) {
    let mut events: Vec<Event<Message>> = story.events.clone();
    Http::default().annotate(&mut events);
    let options = Options { relaxed: relaxed.to_vec(), ..Options::default() };
    let blame = blame(&ORIGIN, &Tcp::default(), &events, &options);
    (blame.diagnoses.iter().map(|one| one.rules.join(" + ")).collect(), blame.level())
}

#[track_caller]
fn blamed_on(story: &Story, relaxed: &[&'static str], rules: &[&str], level: Level) {
    assert_eq!(diagnosed(story, relaxed), (rules.iter().map(ToString::to_string).collect(), Some(level)));
}

/// Judges a trace as a stored case, and returns the rule sets that it is blamed on, and the level.
fn replayed(story: &Story, relaxed: &[&'static str]) -> (Vec<String>, Option<Level>) {
    let trace: Vec<_> = story.events.iter().map(|event| event.clone().map(AnyMessage::new)).collect();
    let past = PastRun { script: &[], name: "case", seed: 1, relaxed };
    let budget = (Duration::from_mins(1), 1 << 30);
    match judge_again(&Http::default(), &past, &trace, budget, &AtomicBool::new(false)) {
        Rerun::Refuted(found) => {
            (found.diagnoses.iter().map(|one| one.rules.join(" + ")).collect(), found.level)
        }
        Rerun::Explained => panic!("explained"),
        Rerun::Unknown(why) => panic!("{why}"),
    }
}

const SERVES: &[&str] = &["store/serves"];

/// RFC 9110 requires of no 4xx but 412 that the request was not performed, so the violated rule is one of the store.
#[test]
fn a_refused_write_is_not_performed() {
    for code in [403, 411, 423, 429, 307] {
        let refused = || with("v", "x").ask(put("w"), status(code));
        blamed_on(&refused().ask(get(), ok("w").tag("y")), SERVES, &["store/refused-not-done"], Level::Store);
        // The refused write takes effect later.
        let later = refused().ask(get(), ok("v").tag("x")).ask(get(), ok("w").tag("y"));
        blamed_on(&later, SERVES, &["store/refused-not-done"], Level::Store);
    }
}

/// Two requests that compete for a locked resource are both refused, though their tag was the current one. A single
/// change of the tag would explain both refusals, but several refusals are still no more than a habit of the server.
#[test]
fn two_that_are_refused_at_once() {
    let both = with("v", "x")
        .sent(0, put("w").if_match("x"))
        .sent(1, delete().if_match("x"))
        .got(0, status(423))
        .got(1, status(423));
    let told = blame(&ORIGIN, &Tcp::default(), &both.events, &Options::default());
    let deviations = |name| told.diagnoses.iter().find(|one| one.rules == [name]).map(|one| one.deviations);
    assert_eq!(deviations("store/steady-tag"), Some(1), "{told:?}");
    assert_eq!(deviations("store/serves"), Some(2), "{told:?}");
    assert_eq!(told.level(), Some(Level::Steady));
    // A change of the tag is not blamed on refusals.
    let changed = with("v", "x").ask(get(), ok("v").tag("y"));
    let (rules, _) = diagnosed(&changed, &[]);
    assert!(!rules.contains(&"store/serves".to_owned()), "{rules:?}");
}

/// A request with a false condition must not be performed (RFC 9110, 13.1.1 and 13.1.2), whatever the response.
#[test]
fn a_write_that_failed_is_not_performed_later() {
    let new = || ok("<00002>").tag("y");
    let story = with("<00001>", "x").ask(put("<00002>").if_match("other"), status(412)).ask(get(), new());
    blamed_on(&story, &[], &["rfc9110-13.1.1/if-match"], Level::Must);
    let story = with("<00001>", "x").ask(put("<00002>").if_none_match("x"), status(412)).ask(get(), new());
    let (rules, _) = diagnosed(&story, &[]);
    assert!(rules.contains(&"rfc9110-13.1.2/if-none-match".to_owned()), "{rules:?}");
}

#[test]
fn a_write_whose_outcome_is_unknown_is_performed_once() {
    let (other, again) = (|| status(204).tag("z"), || ok("w").tag("y"));
    let open = with("v", "x").ask(put("w"), status(503)).ask(get(), again());
    let twice = open.ask(put("z"), other()).ask(get(), ok("z").tag("z")).ask(get(), ok("w").tag("q"));
    blamed_on(&twice, SERVES, &["store/once"], Level::Store);
    let lost = with("v", "x").sent(1, put("w")).hung_up(1).ask(get(), again());
    let twice = lost.ask(put("z"), other()).ask(get(), ok("z").tag("z")).ask(get(), ok("w").tag("q"));
    let (rules, level) = diagnosed(&twice, &[]);
    assert!(rules.contains(&"store/once".to_owned()) && level == Some(Level::Store), "{rules:?}, {level:?}");
}

#[test]
fn half_of_a_write_whose_outcome_is_open() {
    let story = with("v", "x").ask(put("<00001>"), status(500)).ask(get(), ok("<000").tag("y"));
    let (rules, level) = diagnosed(&story, SERVES);
    assert!(rules.contains(&"store/whole".to_owned()) && level == Some(Level::Store), "{rules:?}, {level:?}");
}

/// A 204 for existing content violates a rule of the store; it is not blamed on a response to another request.
#[test]
fn content_is_sent() {
    let (rules, level) = diagnosed(&with("v", "x").ask(get(), status(204).tag("x")), &[]);
    assert!(rules.contains(&"store/content-sent".to_owned()) && level == Some(Level::Store), "{rules:?}");
    with("", "x").ask(get(), status(204).tag("x")).legal();
}

/// A strong tag is sent with bytes that it does not belong to (RFC 9110, 8.8.1).
#[test]
fn content_that_is_continued_with_other_bytes() {
    let story = with("<00001>", "x").ask(get(), ok("<00...>").tag("x"));
    // A spontaneous change of the content together with its tag explains the trace too.
    blamed_on(&story, &[], &["rfc9110-8.8.3/strong-tag-differs", "store/steady-content"], Level::Store);
}

#[test]
fn a_response_that_nobody_asked_for() {
    let surplus = |status: Response| Response { flaws: vec![Flaw::Surplus], ..status };
    let story = with("v", "x").got(0, surplus(status(200)));
    blamed_on(&story, &[], &["rfc9112-6.3/nothing-after-the-end"], Level::Must);
    // The rest of the content of a request is taken for the next request (RFC 9112, 9.3).
    let story = with("v", "x").ask(put("w"), status(500)).got(0, surplus(status(400)));
    blamed_on(&story, SERVES, &["rfc9112-9.3/body-read"], Level::Must);
    // A response other than an error is no response to such a rest.
    let story = with("v", "x").ask(put("w"), status(500)).got(0, surplus(status(200)));
    blamed_on(&story, SERVES, &["rfc9112-6.3/nothing-after-the-end"], Level::Must);
}

/// A server that responds with 201 to every PUT sends the old strong tag with the new content during a PUT. That the
/// resource had vanished does not permit its old tag for other content (RFC 9110, 8.8.1: unique over time).
#[test]
fn a_torn_read_where_resources_vanish() {
    let relaxed = ["store/serves", "store/stays"];
    let story = with("<00001>", "x")
        .sent(0, put("<00002>"))
        .sent(1, get())
        .got(1, ok("<00002>").tag("x"))
        .got(0, status(201).tag("y"));
    blamed_on(&story, &relaxed, &["store/whole"], Level::Store);
}

/// Wrong content in a read during a PUT counts as a torn read, whatever the PUT may have stored in the end; after the
/// response to the PUT it does not.
#[test]
fn a_read_that_meets_a_put_is_torn() {
    let begun = || with("<00001>", "x").sent(0, put("<00002>")).sent(1, get());
    let old_tag = || ok("<00002>").tag("x");
    blamed_on(&begun().got(1, old_tag()), &[], &["store/whole"], Level::Store);
    let quiet = || begun().got(1, ok("<00001>").tag("x")).got(0, status(204)).ask(get(), old_tag());
    blamed_on(&quiet(), &[], &["rfc9110-8.8.3/strong-tag-differs"], Level::Must);
    // The new content is still empty and has a tag of its own, with or without a response to the PUT.
    let nothing = || ok("").tag("z");
    blamed_on(&begun().got(1, nothing()), &[], &["store/whole"], Level::Store);
    blamed_on(&begun().got(1, nothing()).got(0, status(204).tag("y")), &[], &["store/whole"], Level::Store);
    let changed = with("<00001>", "x").ask(put("<00002>"), status(204)).ask(get(), nothing());
    let (rules, level) = diagnosed(&changed, &[]);
    assert!(rules.contains(&"store/put-exact".to_owned()) && level == Some(Level::Store), "{rules:?}");
    // The announced size of a chunk is larger than all data that follows.
    let large = Request { odd: Some(Odd::VastChunk), chunked: true, ..put("<00002>") };
    let story = with("<00001>", "x").sent(0, large).sent(1, get()).got(1, ok("<00002>").tag("y"));
    blamed_on(&story, &[], &["store/whole"], Level::Store);
}

/// A weak tag guarantees nothing, and a strong tag may change spontaneously (RFC 9110, 8.8.1): another tag for the same
/// content is a warning, even during a PUT.
#[test]
fn another_tag_of_new_content_is_a_warning() {
    let story = with("<00001>", "~x")
        .sent(0, put("<00002>"))
        .sent(1, get())
        .got(1, ok("<00002>").tag("~x"))
        .got(0, status(204))
        .ask(get(), ok("<00002>").tag("~y"));
    let (rules, level) = diagnosed(&story, &[]);
    assert!(rules[0] == "store/whole" && rules.contains(&"store/steady-tag".to_owned()), "{rules:?}");
    assert_eq!(level, Some(Level::Steady));
}

/// A response announces a length but has no content, and the next response follows immediately: this violates framing,
/// though a torn read would explain it too.
#[test]
fn content_that_is_the_next_response() {
    let next = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n<00001>";
    let story = with("<00001>", "x")
        .sent(0, put("<00002>"))
        .sent(1, get())
        .sent(1, get())
        .got(1, Response { pipelined: true, ..ok(next) });
    blamed_on(&story, &[], &["rfc9110-8.6/length-true"], Level::Must);
}

/// If a tag is replaced by a new one, it is unsteady; if it is replaced by the tag of other content, that tag is
/// reused.
#[test]
fn a_tag_that_returns() {
    let two = with("v", "x").ask(put("w"), status(204).tag("y")).ask(get(), ok("w").tag("y"));
    blamed_on(&two.clone().ask(get(), ok("w").tag("z")), &[], &["store/steady-tag"], Level::Steady);
    let (rules, level) = diagnosed(&two.ask(get(), ok("w").tag("x")), &["store/steady-tag"]);
    let is_named = rules.iter().any(|rule| rule == "rfc9110-8.8.3/strong-tag-differs");
    assert!(is_named && level >= Some(Level::Store), "{rules:?}, {level:?}");
}

/// Requests without a response at the end of a case explain nothing: the server need not have handled them.
#[test]
fn what_was_not_answered_yet_explains_nothing() {
    let waiting = |conn| move |story: Story| story.sent(conn, put(&format!("<0000{conn}>")).if_match("x"));
    let story =
        [waiting(2), waiting(3), waiting(4)].into_iter().fold(with("v", "x"), |story, more| more(story));
    let story = story.ask(put("<00009>").if_match("confute-made-this-up"), status(204).tag("y"));
    blamed_on(&story, &[], &["rfc9110-13.1.1/if-match"], Level::Must);
}

/// The second of two PUTs gets the tag of the first, and its response has that tag too. So a read during it is not torn,
/// though `store/whole`, which is relaxed, would explain it.
#[test]
fn a_read_with_the_tag_in_the_response_to_the_put_is_not_torn() {
    let story = with("<00001>", "x")
        .sent(0, put("<00002>"))
        .sent(1, get())
        .got(1, ok("<00002>").tag("x"))
        .got(0, status(204).tag("x"));
    let (rules, level) = diagnosed(&story, &["store/whole"]);
    assert!(rules.contains(&"rfc9110-8.8.3/strong-tag-differs".to_owned()), "{rules:?}");
    assert_eq!(level, Some(Level::Must));
    blamed_on(&story, &[], &["rfc9110-8.8.3/strong-tag-differs"], Level::Must);
}

/// A torn read, which the relaxed rule excuses, is not blamed on other rules beside the violation that follows it.
#[test]
fn what_is_excused_is_not_blamed_on_another_rule() {
    let story = with("<00001>", "x")
        .sent(0, put("<00002>"))
        .sent(1, get())
        .got(1, ok("<00002>").tag("x"))
        .got(0, status(204).tag("y"))
        .ask(get().if_match("~y"), ok("<00002>").tag("y"));
    let rules = ["rfc9110-13.1.1/strong-comparison", "rfc9110-13.1.1/if-match-on-read"];
    let expected = (rules.map(str::to_owned).to_vec(), Some(Level::Must));
    assert_eq!(replayed(&story, &["store/whole"]), expected);
}
