//! Tests of the bugs in the proxy, observed by the client or by the origin.

use std::thread;

use super::super::client::{Answer, Client, Recorder, correct};
use super::{Lab, tests};

const OK: &str =
    "HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: from the origin\r\nContent-Length: 2\r\n\r\nok";
const ROUNDS: usize = 40;

/// Sends one request through the proxy and returns the requests that the origin receives.
fn heard(lab: &Lab, line: &str, fields: &str) -> Vec<String> {
    let recorder = Recorder::saying(OK);
    let (_server, mut client) = lab.proxy(recorder.address);
    assert!(client.ask(line, fields, "").status < 300);
    recorder.heard()
}

/// Returns the first response that the client receives if the origin sends this one.
fn told(lab: &Lab, answer: &'static str) -> Answer {
    let recorder = Recorder::saying(answer);
    let (_server, mut client) = lab.proxy(recorder.address);
    client.ask("GET /proxy/a", "", "")
}

/// Counts the rounds that are `wrong`, with a proxy in front of a correct origin.
fn rounds(lab: &Lab, wrong: fn(round: usize, far: &mut Client, near: &mut Client) -> bool) -> usize {
    let (origin, mut near) = correct();
    let (_server, mut far) = lab.proxy(origin.addr());
    (0..ROUNDS).filter(|round| wrong(*round, &mut far, &mut near)).count()
}

tests! {
    hop_by_hop_leak HopByHopLeak |lab| {
        let heard = &heard(lab, "GET /proxy/a", "Connection: Keep-Alive\nKeep-Alive: 7")[0];
        usize::from(heard.contains("Connection: Keep-Alive\r\n") && heard.contains("Keep-Alive: 7\r\n"))
    };
    named_field_leak NamedFieldLeak |lab| {
        let heard = &heard(lab, "GET /proxy/a", "Connection: X-Hop\nX-Hop: secret")[0];
        usize::from(heard.contains("X-Hop: secret\r\n") && !heard.contains("Connection"))
    };
    via_missing ViaMissing |lab| usize::from(!heard(lab, "GET /proxy/a", "")[0].contains("\r\nVia: 1.1 "));
    proxy_host_without_port ProxyHostWithoutPort
        |lab| usize::from(heard(lab, "GET /proxy/a", "")[0].contains("\r\nHost: 127.0.0.1\r\n"));
    proxy_drops_query ProxyDropsQuery |lab| usize::from(heard(lab, "GET /proxy/a?b", "")[0].starts_with("GET /a HTTP"));
    max_forwards_ignored MaxForwardsIgnored |lab| heard(lab, "OPTIONS /proxy/a", "Max-Forwards: 0").len();
    proxy_sends_twice ProxySendsTwice |lab| heard(lab, "POST /proxy/a", "").len() - 1;

    max_forwards_kept MaxForwardsKept
        |lab| usize::from(heard(lab, "OPTIONS /proxy/a", "Max-Forwards: 3")[0].contains("Max-Forwards: 3\r\n"));
    proxy_two_hosts ProxyTwoHosts |lab| heard(lab, "GET /proxy/a", "")[0].matches("Host: ").count() - 1;
    proxy_bare_line_feed ProxyBareLineFeed |lab| usize::from(heard(lab, "GET /proxy/a", "")[0].contains("HTTP/1.1\nHost"));
    proxy_changes_method ProxyChangesMethod
        |lab| usize::from(heard(lab, "POST /proxy/a", "")[0].starts_with("PUT "));
    proxy_drops_fields ProxyDropsFields
        |lab| usize::from(!heard(lab, "GET /proxy/a", "X-End: 1")[0].contains("X-End: 1\r\n"));
    proxy_asks_unasked ProxyAsksUnasked |lab| {
        let recorder = Recorder::saying(OK);
        let (_server, mut client) = lab.proxy(recorder.address);
        (0..12).for_each(|_| assert!(client.ask("GET /proxy/a", "", "").status < 300));
        recorder.heard().len() - 12
    };
    proxy_fails_at_trailers ProxyFailsAtTrailers |lab| {
        let trailed = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Late: t\r\n\r\n";
        usize::from(told(lab, trailed).status == 502)
    };
    proxy_changes_status ProxyChangesStatus
        |lab| usize::from(told(lab, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").status == 410);
    proxy_drops_tag ProxyDropsTag
        |lab| usize::from(told(lab, "HTTP/1.1 200 OK\r\nETag: \"t\"\r\nContent-Length: 0\r\n\r\n").field("etag").is_none());
    proxy_hides_failure ProxyHidesFailure |lab| usize::from(told(lab, "nonsense\r\n\r\n").status == 204);
    proxy_retries_post ProxyRetriesPost |lab| {
        let recorder = Recorder::saying("nonsense\r\n\r\n");
        let (_server, mut client) = lab.proxy(recorder.address);
        assert_eq!(client.ask("POST /proxy/a", "", "").status, 502);
        recorder.heard().len() - 1
    };

    proxy_merges_trailers ProxyMergesTrailers |lab| {
        let trailed = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Late: t\r\n\r\n";
        usize::from(told(lab, trailed).field("x-late") == Some("t"))
    };
    proxy_startled_by_interim ProxyStartledByInterim |lab| {
        let early = "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        usize::from(told(lab, early).status == 502)
    };

    proxy_drops_conditions ProxyDropsConditions |lab| rounds(lab, |_, far, _| {
        far.put("/proxy/a", "x");
        far.ask("PUT /proxy/a", "If-None-Match: *", "y").status == 204
    });
    proxy_cuts_request ProxyCutsRequest |lab| rounds(lab, |_, far, near| {
        far.put("/proxy/a", "content");
        near.get("/a").text() == "conten"
    });
    proxy_cuts_response ProxyCutsResponse |lab| rounds(lab, |_, far, near| {
        near.put("/a", "content");
        far.get("/proxy/a").text() == "conten" && near.get("/a").text() == "content"
    });
    proxy_answers_itself ProxyAnswersItself |lab| {
        let recorder = Recorder::saying(OK);
        let (_server, mut client) = lab.proxy(recorder.address);
        let answers = (0..8).filter(|_| client.get("/proxy/a").text().contains("welcome")).count();
        assert_eq!(recorder.heard().len() + answers, 8);
        answers
    };
    proxy_replays_put ProxyReplaysPut |lab| rounds(lab, |_, far, near| {
        far.put("/proxy/a", "x");
        far.ask("DELETE /proxy/a", "", "").status == 204 && near.get("/a").status == 200
    });
    proxy_keeps_old ProxyKeepsOld |lab| rounds(lab, |round, far, near| {
        far.put("/proxy/a", &round.to_string());
        let got = far.get("/proxy/a");
        got.text() != round.to_string() && near.get("/a").text() == round.to_string()
    });
    proxy_mix_up ProxyMixUp |lab| {
        let (origin, mut near) = correct();
        let (server, _client) = lab.proxy(origin.addr());
        (0..16).for_each(|number| assert_eq!(near.put(&format!("/{number}"), &number.to_string()).status, 201));
        thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|number: usize| {
                    let mut client = Client::to(server.addr());
                    let path = format!("/proxy/{number}");
                    scope.spawn(move || (0..20).filter(|_| client.get(&path).text() != number.to_string()).count())
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        })
    };
}
