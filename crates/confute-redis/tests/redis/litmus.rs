//! Exchanges that a correct server may or may not give, one for each rule.

use confute::lang::Rule;
use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Options, Verdict, judge};
use confute_redis::Redis::{self, *};
use confute_redis::{Batch, RedisModel, Timeout, rules};

/// Connections of the tester.
const A: u32 = 0;
const B: u32 = 1;

/// A request with its response, on a connection.
type Exchange = (u32, Redis, Redis);

fn text(text: &str) -> String {
    text.to_owned()
}

fn bulk(content: &str) -> Redis {
    Bulk(text(content))
}

fn wrong() -> Redis {
    Error(text("WRONGTYPE Operation against a key holding the wrong kind of value"))
}

fn set(value: &str) -> Exchange {
    (A, Set("k".into(), text(value)), Ok)
}

fn get(value: Redis) -> Exchange {
    (B, Get("k".into()), value)
}

fn push(value: &str, length: i64) -> Exchange {
    (A, RPush("k".into(), text(value)), Integer(length))
}

fn pop(value: &str) -> Exchange {
    (B, BlPop("k".into(), Timeout(20)), Popped("k".into(), text(value)))
}

fn watch() -> Exchange {
    (B, Watch("k".into()), Ok)
}

/// Returns a transaction on B with these commands, after WATCH of the key.
fn exec(commands: Vec<Redis>, queued: Redis, end: Redis) -> Exchange {
    let queue = commands.iter().map(|_| queued.clone());
    let replies = [Ok].into_iter().chain(queue).chain([end]).collect();
    (B, Exec { commands: Batch(commands), watched: vec!["k".into()] }, Transaction(Batch(replies)))
}

fn queued() -> Redis {
    Simple(text("QUEUED"))
}

fn write() -> Vec<Redis> {
    vec![Set("k".into(), text("mine"))]
}

fn executed() -> Redis {
    Array(Batch(vec![Ok]))
}

/// Returns an exchange that sets a time to live of 20 ms, with the server's clock after it.
fn mortal(answer: i64, clock: i64) -> Exchange {
    (A, Mortal("k".into(), 20), Timed(Batch(vec![Integer(answer)]), clock))
}

/// Returns a look if the key exists, with the server's clock before it.
fn aged(answer: i64, clock: i64) -> Exchange {
    (B, Aged("k".into()), Timed(Batch(vec![Integer(answer)]), clock))
}

fn verdict(exchanges: &[Exchange], relaxed: &[&'static str]) -> Verdict {
    let mut events: Vec<Event<Redis>> = [A, B].map(|conn| Event::Opened(WireConn(conn))).into();
    for (conn, request, response) in exchanges {
        events.push(Event::Sent(WireConn(*conn), request.clone()));
        events.push(Event::Received(WireConn(*conn), response.clone()));
    }
    judge(&RedisModel, &Tcp::default(), &events, &Options { relaxed: relaxed.to_vec(), ..Options::default() })
}

/// Returns an exchange that breaks each rule.
fn broken() -> Vec<(&'static Rule, Vec<Exchange>)> {
    let del = |count| (A, Del("k".into()), Integer(count));
    let incr = |number| (A, Incr("k".into()), number);
    vec![
        (&rules::READS_LATEST, vec![set("v1"), set("v2"), get(bulk("v1")), get(bulk("v2"))]),
        (&rules::KEEPS_WRITES, vec![set("v1"), set("v2"), get(bulk("v1")), get(bulk("v1"))]),
        (&rules::KEEPS_UNTIL_EXPIRY, vec![set("v1"), (A, Expire("k".into(), 5_000), Integer(1)), get(Nil)]),
        (&rules::EXPIRES, vec![set("v1"), mortal(1, 100_000), aged(1, 101_021), aged(1, 101_022)]),
        (&rules::INCR_ATOMIC, vec![incr(Integer(1)), (B, Incr("k".into()), Integer(1))]),
        (
            &rules::APPEND_ATOMIC,
            vec![set("v1"), (B, Append("k".into(), text("x")), Integer(3)), get(bulk("v1"))],
        ),
        (&rules::SETNX_ONLY_NEW, vec![set("v1"), (B, SetNx("k".into(), text("v2")), Integer(1))]),
        (&rules::DEL_REMOVES, vec![set("v1"), del(1), get(bulk("v1")), get(bulk("v1"))]),
        (&rules::WRONG_TYPE, vec![push("x", 1), incr(Integer(1))]),
        (&rules::NOT_AN_INTEGER, vec![set("9223372036854775807"), incr(Integer(i64::MIN))]),
        (&rules::BAD_COMMAND, vec![exec(vec![Incomplete], queued(), executed())]),
        (&rules::POPS_ONCE, vec![push("x", 1), pop("x"), pop("x")]),
        (&rules::LIST_ORDER, vec![push("x", 1), push("y", 2), pop("y"), pop("x")]),
        (&rules::BLPOP_FINDS, vec![push("x", 1), (B, BlPop("k".into(), Timeout(20)), Nil)]),
        (&rules::WATCH_ABORTS, vec![watch(), set("v1"), exec(write(), queued(), executed())]),
        (&rules::EXEC_RUNS, vec![watch(), exec(write(), queued(), Nil)]),
        (
            &rules::EXEC_ATOMIC,
            vec![
                set("v1"),
                exec(
                    vec![Get("k".into()), Get("k".into())],
                    queued(),
                    Array(Batch(vec![bulk("v1"), bulk("v2")])),
                ),
                get(bulk("v1")),
            ],
        ),
        (
            &rules::DISCARD_DROPS,
            vec![
                (
                    B,
                    Discard { commands: Batch(write()), watched: Vec::new() },
                    Transaction(Batch(vec![Ok, queued(), Ok])),
                ),
                get(bulk("mine")),
                get(bulk("mine")),
            ],
        ),
    ]
}

#[test]
fn each_rule_has_an_exchange_that_it_alone_explains() {
    for rule in rules::ALL {
        let Some((_, exchanges)) = broken().into_iter().find(|(other, _)| other.name == rule.name) else {
            panic!("no exchange breaks {}", rule.name)
        };
        assert!(verdict(&exchanges, &[]).is_refuted(), "{}", rule.name);
        assert!(verdict(&exchanges, &[rule.name]).is_unrefuted(), "{}", rule.name);
    }
}

/// An INCR that reads, waits and writes overwrites what others wrote meanwhile.
#[test]
fn a_write_that_an_increment_overwrites_is_explained_by_the_increment() {
    let incr = (A, Incr("k".into()), Integer(1));
    let writes = [
        ((B, Set("k".into(), text("v")), Ok), bulk("1")),
        ((B, Append("k".into(), text("0")), Integer(2)), bulk("1")),
        ((B, Del("k".into()), Integer(1)), bulk("1")),
    ];
    for (write, seen) in writes {
        let exchanges = [incr.clone(), write, get(seen)];
        assert!(verdict(&exchanges, &[]).is_refuted(), "{exchanges:?}");
        assert!(verdict(&exchanges, &[rules::INCR_ATOMIC.name]).is_unrefuted(), "{exchanges:?}");
    }
}

#[test]
fn correct_exchanges_are_allowed() {
    let wait = || BlPop("k".into(), Timeout(20));
    let cases: Vec<Vec<Exchange>> = vec![
        vec![get(Nil), set("v1"), get(bulk("v1"))],
        // SET replaces a list, and other commands do not.
        vec![
            push("x", 1),
            get(wrong()),
            set("v1"),
            get(bulk("v1")),
            (A, RPush("k".into(), text("x")), wrong()),
        ],
        vec![set("v1"), (A, Incr("k".into()), Error(text("ERR value is not an integer or out of range")))],
        vec![set("-1"), (A, Incr("k".into()), Integer(0)), (A, Append("k".into(), text("1")), Integer(2))],
        vec![
            push("y", 1),
            (A, LPush("k".into(), text("x")), Integer(2)),
            pop("x"),
            pop("y"),
            (B, wait(), Nil),
        ],
        // Watched keys: changed by another client, by the client itself, not at all, forgotten, changed before WATCH came again.
        vec![watch(), set("v1"), exec(write(), queued(), Nil), get(bulk("v1"))],
        vec![watch(), (B, Set("k".into(), text("own")), Ok), exec(write(), queued(), Nil)],
        vec![set("v1"), watch(), get(bulk("v1")), exec(write(), queued(), executed()), get(bulk("mine"))],
        vec![watch(), set("v1"), (B, Unwatch, Ok), exec(write(), queued(), executed())],
        vec![watch(), set("v1"), watch(), exec(write(), queued(), Nil)],
        vec![watch(), set("v1"), exec(write(), queued(), Nil), exec(write(), queued(), executed())],
        // A short time to live may be over, or not.
        vec![set("v1"), (A, Expire("k".into(), 1), Integer(1)), get(Nil)],
        vec![set("v1"), (A, Expire("k".into(), 1), Integer(1)), get(bulk("v1")), set("v2"), get(bulk("v2"))],
        vec![set("v1"), watch(), (A, Expire("k".into(), 5_000), Integer(1)), exec(write(), queued(), Nil)],
        // At most a second after it is over, or at once.
        vec![set("v1"), mortal(1, 100_000), aged(1, 101_020), aged(0, 101_020), get(Nil)],
        vec![set("v1"), mortal(1, 100_000), aged(0, 100_000), (A, Ttl("k".into()), Integer(-2))],
        vec![mortal(0, 100_000), set("v1"), aged(1, 200_000)],
        vec![set("v1"), mortal(1, 100_000), set("v2"), aged(1, 200_000)],
        vec![set("v1"), mortal(1, 100_000), (A, Expire("k".into(), 5_000), Integer(1)), aged(1, 200_000)],
        vec![exec(
            vec![Incomplete],
            Error(text("ERR wrong number of arguments for 'get' command")),
            Error(text("EXECABORT Transaction discarded because of previous errors.")),
        )],
    ];
    for exchanges in cases {
        assert!(verdict(&exchanges, &[]).is_unrefuted(), "{exchanges:?}");
    }
}

#[test]
fn wrong_exchanges_are_refuted() {
    let cases: Vec<Vec<Exchange>> = vec![
        vec![watch(), set("v1"), (B, Unwatch, Ok), exec(write(), queued(), Nil)],
        vec![watch(), set("v1"), watch(), exec(write(), queued(), executed())],
        vec![watch(), (B, Set("k".into(), text("own")), Ok), exec(write(), queued(), executed())],
        vec![watch(), set("v1"), exec(write(), queued(), Nil), get(bulk("mine"))],
        vec![set("v1"), get(bulk("v1")), get(Nil)],
        vec![push("x", 1), (A, LRange("k".into()), Array(Batch(vec![bulk("x"), bulk("x")])))],
        vec![set("v1"), (A, Ttl("k".into()), Integer(5))],
        vec![set("v1"), (A, Expire("k".into(), 5_000), Integer(1)), (A, Ttl("k".into()), Integer(5_001))],
        vec![set("v1"), (A, Incr("k".into()), wrong())],
        vec![set("v1"), mortal(0, 100_000)],
        // An APPEND keeps the time to live.
        vec![set("v1"), mortal(1, 100_000), (A, Append("k".into(), text("x")), Integer(3)), aged(1, 200_000)],
    ];
    for exchanges in cases {
        assert!(verdict(&exchanges, &[]).is_refuted(), "{exchanges:?}");
    }
}

/// Two clients wait for one element: either may get it, whichever asked first, and the other gets nothing.
#[test]
fn either_of_two_that_wait_is_served() {
    let wait = || BlPop("k".into(), Timeout(20));
    let element = || Popped("k".into(), text("x"));
    let conn = WireConn;
    for (first, second, is_right) in
        [(element(), Nil, true), (Nil, element(), true), (element(), element(), false)]
    {
        let events = [
            Event::Opened(conn(0)),
            Event::Opened(conn(1)),
            Event::Opened(conn(2)),
            Event::Sent(conn(0), wait()),
            Event::Sent(conn(1), wait()),
            Event::Sent(conn(2), RPush("k".into(), text("x"))),
            Event::Received(conn(0), first),
            Event::Received(conn(2), Integer(1)),
            Event::Received(conn(1), second),
        ];
        let verdict = judge(&RedisModel, &Tcp::default(), &events, &Options::default());
        assert_eq!(verdict.is_unrefuted(), is_right, "{verdict:?}");
    }
}
