//! Faults that were blamed on a rule that has nothing to do with them, each with the rule that it breaks.

use confute::lang::Level;
use confute::network::Tcp;
use confute::trace::Event;
use confute::{Options, blame};
use confute_drive::Evidence as _;
use confute_http::Http;
use confute_http::message::{Flaw, Msg, Odd, Request, Response};

use crate::story::{Asking, ORIGIN, Story, Telling, delete, get, ok, put, status, with};

/// The sets of rules that a trace is blamed on once it was annotated, as after a live case, and the level.
fn diagnosed(story: &Story, relaxed: &[&'static str]) -> (Vec<String>, Option<Level>) {
    let mut events: Vec<Event<Msg>> = story.events.clone();
    Http::default().annotate(&mut events);
    let options = Options { relaxed: relaxed.to_vec(), ..Options::default() };
    let blame = blame(&ORIGIN, &Tcp::default(), &events, &options);
    (blame.diagnoses.iter().map(|one| one.rules.join(" + ")).collect(), blame.level())
}

#[track_caller]
fn blamed_on(story: &Story, relaxed: &[&'static str], rules: &[&str], level: Level) {
    assert_eq!(diagnosed(story, relaxed), (rules.iter().map(ToString::to_string).collect(), Some(level)));
}

const SERVES: &[&str] = &["store/serves"];

/// RFC 9110 says of no 4xx but 412 that the request was not performed, so it is a matter of the store.
#[test]
fn a_refused_write_is_not_performed() {
    for code in [403, 411, 423, 429, 307] {
        let refused = || with("v", "x").ask(put("w"), status(code));
        blamed_on(&refused().ask(get(), ok("w").tag("y")), SERVES, &["store/refused-not-done"], Level::Store);
        // At some moment later.
        let later = refused().ask(get(), ok("v").tag("x")).ask(get(), ok("w").tag("y"));
        blamed_on(&later, SERVES, &["store/refused-not-done"], Level::Store);
    }
}

/// Two requests that compete for a locked resource are both refused, and their tag was the current one. That the tag changed
/// once would explain both, but several refusals are no more than a habit.
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
    // A tag that did change is not blamed on refusals.
    let changed = with("v", "x").ask(get(), ok("v").tag("y"));
    let (rules, _) = diagnosed(&changed, &[]);
    assert!(!rules.contains(&"store/serves".to_owned()), "{rules:?}");
}

/// A false condition forbids to perform the request (RFC 9110, 13.1.1 and 13.1.2), whatever the answer says.
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

/// 204 of content that is there is a matter of the store, not of somebody else's answer.
#[test]
fn content_is_sent() {
    let (rules, level) = diagnosed(&with("v", "x").ask(get(), status(204).tag("x")), &[]);
    assert!(rules.contains(&"store/content-sent".to_owned()) && level == Some(Level::Store), "{rules:?}");
    with("", "x").ask(get(), status(204).tag("x")).legal();
}

/// A strong tag with bytes that it does not belong to (RFC 9110, 8.8.1).
#[test]
fn content_that_is_continued_with_other_bytes() {
    let story = with("<00001>", "x").ask(get(), ok("<00...>").tag("x"));
    // That the content has changed by itself, with its tag, explains it too.
    blamed_on(&story, &[], &["rfc9110-8.8.3/strong-tag-differs", "store/steady-content"], Level::Store);
}

#[test]
fn a_response_that_nobody_asked_for() {
    let surplus = |status: Response| Response { flaws: vec![Flaw::Surplus], ..status };
    let story = with("v", "x").got(0, surplus(status(200)));
    blamed_on(&story, &[], &["rfc9112-6.3/nothing-after-the-end"], Level::Must);
    // What is left of the content of a request is taken for the next one (RFC 9112, 9.3).
    let story = with("v", "x").ask(put("w"), status(500)).got(0, surplus(status(400)));
    blamed_on(&story, SERVES, &["rfc9112-9.3/body-read"], Level::Must);
    // Something else than an error is no answer to that.
    let story = with("v", "x").ask(put("w"), status(500)).got(0, surplus(status(200)));
    blamed_on(&story, SERVES, &["rfc9112-6.3/nothing-after-the-end"], Level::Must);
}

/// The old strong tag with the new content, while the PUT is at work, of a server that answers 201 to every PUT: that the
/// resource had gone does not make its old tag that of other content (RFC 9110, 8.8.1: unique over time).
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

/// What a read shows while a PUT is at work is torn, whatever the PUT might have stored for good; what a read shows after the
/// response to the PUT is not.
#[test]
fn a_read_that_meets_a_put_is_torn() {
    let begun = || with("<00001>", "x").sent(0, put("<00002>")).sent(1, get());
    let old_tag = || ok("<00002>").tag("x");
    blamed_on(&begun().got(1, old_tag()), &[], &["store/whole"], Level::Store);
    let quiet = || begun().got(1, ok("<00001>").tag("x")).got(0, status(204)).ask(get(), old_tag());
    blamed_on(&quiet(), &[], &["rfc9110-8.8.3/strong-tag-differs"], Level::Must);
    // Nothing of it yet, with a tag of that, whether or not the response to the PUT is seen.
    let nothing = || ok("").tag("z");
    blamed_on(&begun().got(1, nothing()), &[], &["store/whole"], Level::Store);
    blamed_on(&begun().got(1, nothing()).got(0, status(204).tag("y")), &[], &["store/whole"], Level::Store);
    let changed = with("<00001>", "x").ask(put("<00002>"), status(204)).ask(get(), nothing());
    let (rules, level) = diagnosed(&changed, &[]);
    assert!(rules.contains(&"store/put-exact".to_owned()) && level == Some(Level::Store), "{rules:?}");
    // A chunk of which more is said than can come.
    let large = Request { odd: Some(Odd::VastChunk), chunked: true, ..put("<00002>") };
    let story = with("<00001>", "x").sent(0, large).sent(1, get()).got(1, ok("<00002>").tag("y"));
    blamed_on(&story, &[], &["store/whole"], Level::Store);
}

/// A weak tag promises nothing, and a strong one may change by itself (RFC 9110, 8.8.1): another tag for the same content is a
/// warning, also while a PUT is at work.
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

/// A length without content, and the next response right behind it: framing, whatever else may be torn.
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

/// A tag that is replaced by another new one is unsteady; one that is replaced by that of other content is used twice.
#[test]
fn a_tag_that_returns() {
    let two = with("v", "x").ask(put("w"), status(204).tag("y")).ask(get(), ok("w").tag("y"));
    blamed_on(&two.clone().ask(get(), ok("w").tag("z")), &[], &["store/steady-tag"], Level::Steady);
    let (rules, level) = diagnosed(&two.ask(get(), ok("w").tag("x")), &["store/steady-tag"]);
    let is_named = rules.iter().any(|rule| rule == "rfc9110-8.8.3/strong-tag-differs");
    assert!(is_named && level >= Some(Level::Store), "{rules:?}, {level:?}");
}

/// Requests that were not answered yet when a case ended are no excuse: they may as well not have been handled.
#[test]
fn what_was_not_answered_yet_explains_nothing() {
    let waiting = |conn| move |story: Story| story.sent(conn, put(&format!("<0000{conn}>")).if_match("x"));
    let story =
        [waiting(2), waiting(3), waiting(4)].into_iter().fold(with("v", "x"), |story, more| more(story));
    let story = story.ask(put("<00009>").if_match("confute-made-this-up"), status(204).tag("y"));
    blamed_on(&story, &[], &["rfc9110-13.1.1/if-match"], Level::Must);
}
