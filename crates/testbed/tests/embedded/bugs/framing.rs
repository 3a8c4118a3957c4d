//! Tests of the bugs in framing and liveness.

use std::thread;
use std::time::Duration;

use super::super::client::{Client, request};
use super::super::framing::REFUSED;
use super::{Lab, tests};

const ROUNDS: usize = 40;
const MOMENT: Duration = Duration::from_millis(150);

/// Returns 1 if a request of [`REFUSED`], which must be refused, is performed.
fn accepted(lab: &Lab, what: &str) -> usize {
    let (_, status, bytes) = REFUSED.iter().find(|it| it.0.starts_with(what)).unwrap();
    let (_server, client) = lab.server();
    let answer = client.impatient(MOMENT).raw(bytes);
    usize::from(!answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.starts_with("HTTP/1.1 "))
}

/// Sends a request repeatedly, and counts the responses that are followed by surplus bytes.
fn surplus(lab: &Lab, line: &str, fields: &str, status: u16, more: &str) -> usize {
    let (server, mut client) = lab.server();
    let tag = client.put("/a", "content").tag().to_owned();
    (0..ROUNDS / 4)
        .filter(|_| {
            let client = Client::to(server.addr());
            let text =
                client.raw(request(line, &format!("Connection: close\n{fields}").replace("TAG", &tag), ""));
            assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
            text.split_once("\r\n\r\n").unwrap().1 == more && !more.is_empty()
        })
        .count()
}

/// Sends GETs, each on a new connection, and counts the `odd` responses.
fn odd_gets(lab: &Lab, odd: fn(&str) -> bool) -> usize {
    let (server, mut client) = lab.server();
    client.put("/a", "content");
    let bytes = request("GET /a", "Connection: close", "");
    (0..ROUNDS / 2).filter(|_| odd(&Client::to(server.addr()).raw(&bytes))).count()
}

/// Sends a request repeatedly, and counts the timeouts and the connections that end without a response.
fn unanswered(lab: &Lab, line: &str, how: &str) -> usize {
    let (server, mut client) = lab.server();
    client.put("/a", "content");
    (0..ROUNDS)
        .filter(|_| {
            Client::to(server.addr())
                .impatient(MOMENT)
                .try_ask(line, "", "")
                .is_err_and(|it| it.contains(how))
        })
        .count()
}

tests! {
    swapped_pipeline SwappedPipeline |lab| {
        let (_server, mut client) = lab.server();
        client.put("/a", "first");
        client.put("/b", "second");
        client.send(request("GET /a", "", "") + &request("GET /b", "", ""));
        let answers = [client.receive("GET").unwrap(), client.receive("GET").unwrap()];
        usize::from(answers[0].text() == "second" && answers[1].text() == "first")
    };
    crossed_connections CrossedConnections |lab| {
        let (server, _client) = lab.server();
        let clients: Vec<_> = (0..16).map(|_| Client::to(server.addr())).collect();
        thread::scope(|scope| {
            let threads: Vec<_> = clients
                .into_iter()
                .enumerate()
                .map(|(number, mut client)| {
                    scope.spawn(move || {
                        let path = format!("/{number}");
                        client.put(&path, &path);
                        (0..20).filter(|_| client.get(&path).text() != path).count()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        })
    };
    body_after_head BodyAfterHead |lab| surplus(lab, "HEAD /a", "", 200, "content");
    body_after_304 BodyAfter304 |lab| surplus(lab, "GET /a", "If-None-Match: TAG", 304, "content");
    body_after_204 BodyAfter204 |lab| surplus(lab, "OPTIONS /a", "", 204, "done\n");
    length_one_short LengthOneShort |lab| odd_gets(lab, |it| it.contains("Length: 6\r\n") && it.ends_with("\r\ncontent"));
    length_one_long LengthOneLong |lab| odd_gets(lab, |it| it.contains("Length: 8\r\n") && it.ends_with("\r\ncontent"));
    length_one_too_large LengthOneTooLarge |lab| {
        let (server, _client) = lab.server();
        let odd = |line: &str, end: &str| {
            let text = Client::to(server.addr()).raw(request(line, "Connection: close", "content"));
            usize::from(text.contains(&format!("{}\r\n", end.len() + 1)) && text.ends_with(&format!("\r\n\r\n{end}")))
        };
        // Both, or the symptom is not that of every response.
        odd("PUT /a", "") * odd("GET /a", "content")
    };
    last_chunk_missing LastChunkMissing |lab| odd_gets(lab, |it| it.ends_with("\r\n\r\n7\r\ncontent\r\n"));
    length_with_204 LengthWith204 |lab| {
        let (_server, mut client) = lab.server();
        usize::from(client.ask("OPTIONS /a", "", "").field("content-length") == Some("0"))
    };
    allow_missing AllowMissing |lab| {
        let (_server, mut client) = lab.server();
        let answer = client.ask("POST /a", "", "");
        usize::from(answer.status == 405 && answer.field("allow").is_none())
    };
    body_unread BodyUnread |lab| {
        let (server, _client) = lab.server();
        let twice = |_: &usize| {
            let client = Client::to(server.addr()).impatient(MOMENT / 4);
            client.raw(request("PUT /a", "", "content")).matches("HTTP/1.1 ").count() > 1
        };
        (0..12).filter(twice).count()
    };
    close_ignored CloseIgnored |lab| {
        let (_server, client) = lab.server();
        let text = client.impatient(MOMENT).raw(request("GET /a", "Connection: close", ""));
        usize::from(text.ends_with('…') && !text.contains("Connection: close"))
    };
    conflicting_lengths ConflictingLengths |lab| accepted(lab, "lengths that differ");
    length_over_chunked LengthOverChunked |lab| accepted(lab, "length beside chunks");
    chunk_size_truncated ChunkSizeTruncated |lab| accepted(lab, "more than 32 bits");
    space_before_colon SpaceBeforeColon |lab| accepted(lab, "space before colon");
    two_hosts TwoHosts |lab| accepted(lab, "two Hosts");
    no_host NoHost |lab| accepted(lab, "no Host");

    hang_on_head HangOnHead |lab| unanswered(lab, "HEAD /a", "block");
    third_unanswered ThirdUnanswered |lab| {
        let (_server, client) = lab.server();
        let mut client = client.impatient(MOMENT);
        client.put("/a", "content");
        client.send(request("GET /a", "", "").repeat(4));
        4 - (0..4).filter(|_| client.receive("GET").is_ok()).count()
    };
    continue_unsent ContinueUnsent |lab| {
        let (_server, client) = lab.server();
        let mut client = client.impatient(MOMENT);
        client.send("PUT /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
        let silent = client.receive("PUT").is_err();
        client.send("x");
        usize::from(silent && client.receive("PUT").is_ok_and(|it| it.status == 201))
    };
    closed_unanswered ClosedUnanswered |lab| unanswered(lab, "GET /a", "closed");
}
