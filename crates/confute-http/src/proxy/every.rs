//! For every rule of a gateway, a trace that is refuted, and not refuted if the rule is relaxed.

use confute::network::Tcp;
use confute::trace::Event;
use confute::{Options, judge};

use super::rules::ALL;
use super::traces::{
    AGAIN, CLIENT, ORIGIN, answer, asked, came, error, forwarded, gateway, relayed, sent, through, told,
};
use crate::message::{Field, Fields, Flaw, Frame, Message, Request, Response};

type Events = Vec<Event<Message>>;

fn field(name: &str, value: &str) -> Fields {
    Fields(vec![Field::new(name, value)])
}

fn with(request: Request, fields: &[(&str, &str)]) -> Request {
    let more = fields.iter().map(|(name, value)| Field::new(name, value));
    let fields = Fields(request.forwarded.fields.0.iter().cloned().chain(more).collect());
    request.forwarding(|part| part.fields = fields)
}

fn without(request: Request, name: &str) -> Request {
    request.forwarding(|part| part.fields.0.retain(|field| &*field.0 != name))
}

/// Returns the trace of a request, and its forwarded form.
fn passed(request: Request, seen: Request) -> Events {
    through(request, seen, answer(), relayed())
}

/// Returns the trace of a response of the origin, and the response that the client receives.
fn says(answer: Response, reply: Response) -> Events {
    through(asked("GET"), forwarded("GET"), answer, reply)
}

fn flawed(flaw: Flaw, response: Response) -> Response {
    Response { flaws: vec![flaw], ..response }
}

/// Returns the trace of a request that is forwarded in violation of the rule.
fn requests(rule: &str) -> Option<Events> {
    let get = || (asked("GET"), forwarded("GET"));
    let with_both = |fields: &[(&str, &str)]| (with(asked("PUT"), fields), forwarded("PUT"));
    let host = |host: &str| with(without(forwarded("GET"), "Host"), &[("Host", host)]);
    Some(match rule {
        "rfc9110-7.6.2/zero" => {
            let limit = [("Max-Forwards", "0")];
            passed(with(asked("OPTIONS"), &limit), forwarded("OPTIONS"))
        }
        "rfc9110-7.6.2/updated" => {
            let limit = [("Max-Forwards", "3")];
            passed(with(asked("OPTIONS"), &limit), with(forwarded("OPTIONS"), &limit))
        }
        "rfc9110-7.6.1/connection" => {
            let named = [("Connection", "X-Hop")];
            passed(with(asked("GET"), &named), with(forwarded("GET"), &named))
        }
        "rfc9110-7.6.1/named-fields" => {
            let (named, hop) = (("Connection", "X-Hop"), ("X-Hop", "h"));
            passed(with(asked("GET"), &[named, hop]), with(forwarded("GET"), &[hop]))
        }
        "rfc9110-7.6.1/known-fields" => {
            let known = [("Keep-Alive", "timeout=7")];
            passed(with(asked("GET"), &known), with(forwarded("GET"), &known))
        }
        "rfc9110-7.6.3/via" => passed(asked("GET"), without(forwarded("GET"), "Via")),
        "rfc9110-13.2.1/conditions-forwarded" => {
            let (sent, seen) = with_both(&[("If-Match", "\"x\"")]);
            passed(sent, seen)
        }
        "rfc9112-3.2/one-host" => passed(asked("GET"), without(forwarded("GET"), "Host")),
        "rfc9112-2.1/forwarded-grammar" => {
            passed(asked("GET"), forwarded("GET").forwarding(|part| part.flaws = vec![Flaw::Grammar]))
        }
        "rfc9110-5.1/fields-forwarded" => {
            let to_proxy = |request| Request { path: "http://origin:1/a".into(), ..request };
            let (sent, seen) = with_both(&[("X-End", "1")]);
            passed(to_proxy(sent), to_proxy(seen))
        }
        "gateway/target" => passed(get().0, Request { path: "/b".into(), ..get().1 }),
        "gateway/method" => passed(asked("PUT"), forwarded("POST")),
        "gateway/request-content" => {
            let body = |body: &str, request| Request { body: Some(body.into()), ..request };
            passed(body("hello", asked("PUT")), body("hell", forwarded("PUT")))
        }
        "gateway/request-fields" => {
            let (sent, seen) = with_both(&[("X-End", "1")]);
            passed(sent, seen)
        }
        "gateway/host-port" => passed(asked("GET"), host("origin")),
        "gateway/nothing-invented" => {
            let invented = Request { path: "/".into(), ..Request::default() }.forwarding(|_| {});
            let (sent, seen) = get();
            [passed(sent, seen), came(AGAIN, invented).to_vec()].concat()
        }
        "gateway/once" => [passed(get().0, get().1), came(AGAIN, get().1).to_vec()].concat(),
        "rfc9110-9.2.2/retry" => {
            let mut events = vec![Event::Opened(CLIENT), sent(CLIENT, asked("POST"))];
            events.extend(came(ORIGIN, forwarded("POST")));
            events.push(Event::Sent(ORIGIN, Message::Unanswered));
            events.extend(came(AGAIN, forwarded("POST")));
            events
        }
        "gateway/forwarded" => vec![Event::Opened(CLIENT), sent(CLIENT, asked("GET")), told(error(503))],
        "gateway/from-origin" => vec![Event::Opened(CLIENT), sent(CLIENT, asked("GET")), told(error(200))],
        "gateway/answered" => {
            let mut events = passed(get().0, get().1);
            events.pop();
            events.push(Event::Quiescent);
            events
        }
        _ => return None,
    })
}

/// Returns the trace of a response that is forwarded in violation of the rule.
fn responses(rule: &str) -> Option<Events> {
    let trailed = |unasked| {
        let (trailers, frame) = (field("X-End-Trailer", "t"), Frame::Chunked);
        answer().forwarding(|part| (part.trailers, part.frame, part.unasked) = (trailers, frame, unasked))
    };
    let early = || Response { interim: vec![103], ..answer() };
    let provoked = || error(502).forwarding(|part| part.provoked = true);
    let marked =
        |mark: &str, response: Response| response.forwarding(|part| part.fields = field("X-Confute", mark));
    Some(match rule {
        "rfc9111-5.2.2.6/no-transform" => says(answer(), Response { body: "hallo".into(), ..relayed() }),
        "rfc9111-5.2.2.5/no-store" => {
            let mut events = says(answer(), relayed());
            let again =
                Request { at: 5_000, ..with(without(asked("GET"), "X-Confute"), &[("X-Confute", "2")]) };
            events.extend([sent(CLIENT, again), told(relayed())]);
            events
        }
        "rfc9110-15.2/interim" => says(early(), provoked()),
        "rfc9110-15.2/forwarded" => {
            let to_proxy = |request| Request { path: "http://origin:1/a".into(), ..request };
            through(to_proxy(asked("GET")), to_proxy(forwarded("GET")), early(), relayed())
        }
        "rfc9112-7.1.2/trailers-apart" => {
            let trailer = Field::new("X-End-Trailer", "t");
            says(trailed(false), relayed().forwarding(|part| part.fields.0.push(trailer)))
        }
        "rfc9112-7.1/trailers-decoded" => says(trailed(false), provoked()),
        "rfc9112-7.1/unasked-trailers" => says(trailed(true), provoked()),
        "gateway/status" => says(answer(), Response { status: 404, ..relayed() }),
        "gateway/response-fields" => says(answer(), marked("a1", relayed())),
        "gateway/failure-told" => {
            let cut = Response { close: true, ..answer() }.forwarding(|part| part.cut = Some(0));
            says(cut, error(200))
        }
        "rfc9112-9.2/own-answer" => says(answer(), marked("a2", relayed())),
        "rfc9112-9.3.2/order" => says(answer(), Response { pipelined: true, ..marked("a2", relayed()) }),
        "rfc9112-6.3/nothing-after-the-end" => says(answer(), flawed(Flaw::Surplus, relayed())),
        "rfc9112-7.1/chunks" => says(answer(), flawed(Flaw::Chunks, relayed())),
        "rfc9112-2.1/grammar" => says(answer(), flawed(Flaw::Grammar, relayed())),
        "rfc9112-6.1/framing-fields" => says(answer(), flawed(Flaw::Framing, relayed())),
        "rfc9112-9.6/nothing-after-close" => says(answer(), flawed(Flaw::AfterClose, relayed())),
        "rfc9110-8.6/length-true" => {
            says(answer(), flawed(Flaw::Surplus, Response { body: "hell".into(), ..relayed() }))
        }
        _ => return None,
    })
}

#[test]
fn every_rule_has_a_trace_that_shows_it() {
    for rule in ALL {
        let mut found = [requests, responses].iter().filter_map(|traces| traces(rule.name));
        let events = found.next().unwrap_or_else(|| panic!("no trace shows {}", rule.name));
        assert!(found.next().is_none(), "{} is shown twice", rule.name);
        let judged = |relaxed: Vec<&'static str>| {
            let deviations = 3;
            judge(
                &gateway(),
                &Tcp::default(),
                &events,
                &Options { relaxed, deviations, ..Options::default() },
            )
        };
        assert!(judged(vec![]).is_refuted(), "{}: {:?}", rule.name, judged(vec![]));
        // The mapping of the target by a proxy is not under test here.
        let verdict = judged(vec![rule.name, "gateway/target"]);
        assert!(verdict.is_unrefuted(), "{}: {verdict:?}", rule.name);
        assert!(
            rule.name == "gateway/target" || judged(vec!["gateway/target"]).is_refuted(),
            "{}",
            rule.name
        );
    }
}
