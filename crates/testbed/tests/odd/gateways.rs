//! Tests of the odd gateway, with an odd origin server behind it.

use confute_testbed::odd::{Habits, OddServer, Oddity, Side, TABLE};

use crate::client::{Client, request};
use crate::origins::warm;

fn start(habits: Habits) -> (OddServer, OddServer, Client) {
    let origin = OddServer::origin(Habits::of([], 1)).unwrap();
    let gateway = OddServer::gateway(habits, "/gate/", origin.addr()).unwrap();
    let client = Client::to(gateway.addr());
    (origin, gateway, client)
}

#[test]
fn each_oddity_alone_forwards_and_relays() {
    for entry in TABLE.iter().filter(|entry| entry.side == Side::Gateway) {
        let (_origin, _gateway, mut client) = start(Habits::of([entry.oddity], 5));
        for round in 0..4 {
            let content = format!("content {round}");
            let put = client.ask("PUT /gate/a", &[], Some(&content)).unwrap();
            assert_eq!(put.status, if round == 0 { 201 } else { 204 }, "{}", entry.name);
            let get = client.ask("GET /gate/a", &[], None).unwrap();
            assert_eq!((get.status, &get.content[..]), (200, content.as_bytes()), "{}", entry.name);
            let tag = get.raw("etag").unwrap();
            let head = client.ask("HEAD /gate/a", &[], None).unwrap();
            assert_eq!(head.raw("etag"), Some(tag.clone()), "{}", entry.name);
            let not = client.ask("GET /gate/a", &[("If-None-Match", &tag)], None).unwrap();
            assert_eq!(not.status, 304, "{}", entry.name);
            let chunks = b"PUT /gate/b HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
            client.send(chunks);
            let chunked = client.answer("PUT").unwrap();
            let is_refused = entry.oddity == Oddity::Refuses411 && chunked.status == 411;
            assert!(is_refused || matches!(chunked.status, 201 | 204), "{}", entry.name);
        }
        let options = client.ask("OPTIONS /gate/a", &[("Max-Forwards", b"0")], None).unwrap();
        assert_eq!(options.status, 200, "{}", entry.name);
    }
}

#[test]
fn pipelined_requests_of_several_clients_get_their_own_answers() {
    let (_origin, gateway, mut client) = start(Habits::of([Oddity::Pipelines], 5));
    for name in 0..4 {
        client.ask(&format!("PUT /gate/{name}"), &[], Some(&format!("content of {name}"))).unwrap();
    }
    std::thread::scope(|scope| {
        for name in 0..4 {
            let address = gateway.addr();
            scope.spawn(move || {
                let mut client = Client::to(address);
                for _ in 0..50 {
                    client.send(&request(&format!("GET /gate/{name}"), &[], None));
                    let answer = client.answer("GET").unwrap();
                    assert_eq!(answer.content, format!("content of {name}").into_bytes());
                }
            });
        }
    });
}

#[test]
fn twins_do_what_they_say() {
    let (_origin, _gateway, mut client) = start(Habits::twin(Oddity::ToChunks, 1));
    warm(&mut client);
    client.ask("PUT /gate/a", &[], Some("whole")).unwrap();
    assert_eq!(client.ask("GET /gate/a", &[], None).unwrap().content, b"whol");
    let (_origin, _gateway, mut client) = start(Habits::twin(Oddity::ResponseChunks, 1));
    warm(&mut client);
    client.ask("PUT /gate/a", &[], Some("whole")).unwrap();
    assert_eq!(client.ask("GET /gate/a", &[], None).unwrap().content, b"whole\n");
}
