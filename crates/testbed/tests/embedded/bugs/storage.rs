//! Tests of the bugs in the store, alone and under concurrency.

use std::sync::Barrier;
use std::thread;

use super::super::client::{Answer, Client};
use super::super::conditions::winners;
use super::super::trouble::torn;
use super::{Lab, tests};

const ROUNDS: usize = 40;

/// Puts to `/a` repeatedly, and counts the GETs that are `wrong`, given the old content, the new content and the
/// response to the PUT.
fn after_put(lab: &Lab, wrong: fn(old: &str, new: &str, put: &Answer, got: &Answer) -> bool) -> usize {
    let (_server, mut client) = lab.server();
    client.put("/a", "content 0");
    let count = (1..ROUNDS).filter(|round| {
        let (old, new) = (format!("content {}", round - 1), format!("content {round}"));
        let put = client.put("/a", &new);
        let got = client.get("/a");
        put.status == 204 && got.status == 200 && wrong(&old, &new, &put, &got)
    });
    count.count()
}

tests! {
    lost_put LostPut |lab| after_put(lab, |old, _, put, got| got.text() == old && got.tag() != put.tag());
    stale_read StaleRead |lab| {
        let (_server, mut client) = lab.server();
        client.put("/a", "old");
        let tag = client.put("/a", "new").tag().to_owned();
        let stale = (0..ROUNDS).filter(|_| {
            let got = client.get("/a");
            got.text() == "old" && got.tag() != tag
        });
        stale.count() * usize::from(client.get("/a").status == 200)
    };
    deleted_comes_back DeletedComesBack |lab| {
        let (_server, mut client) = lab.server();
        client.put("/a", "old");
        assert_eq!(client.ask("DELETE /a", "", "").status, 204);
        (0..ROUNDS).filter(|_| client.get("/a").status == 200).count()
    };
    put_loses_byte PutLosesByte |lab| after_put(lab, |_, new, _, got| got.text() == &new[..new.len() - 1]);
    put_adds_byte PutAddsByte |lab| after_put(lab, |_, new, _, got| got.text() == format!("{new}\n"));
    delete_does_not DeleteDoesNot |lab| {
        let (_server, mut client) = lab.server();
        (0..ROUNDS)
            .filter(|_| {
                client.put("/a", "x");
                client.ask("DELETE /a", "", "").status == 204 && client.get("/a").status == 200
            })
            .count()
    };
    delete_takes_neighbour DeleteTakesNeighbour |lab| {
        let (_server, mut client) = lab.server();
        client.put("/a", "x");
        client.put("/b", "y");
        client.put("/longer", "z");
        client.ask("DELETE /a", "", "");
        assert_eq!(client.get("/longer").status, 200);
        usize::from(client.get("/b").status == 404)
    };
    new_tag_old_content NewTagOldContent
        |lab| after_put(lab, |old, new, put, got| got.text() == old && got.text() != new && got.tag() == put.tag());
    tag_of_second TagOfSecond |lab| {
        let (_server, mut client) = lab.server();
        let tags: Vec<_> = (0..4).map(|round| client.put("/a", &format!("content {round}")).tag().to_owned()).collect();
        tags.windows(2).filter(|pair| pair[0] == pair[1]).count()
    };
    put_tells_old_tag PutTellsOldTag |lab| after_put(lab, |_, new, put, got| got.text() == new && got.tag() != put.tag());
    creation_untold CreationUntold |lab| {
        let (_server, mut client) = lab.server();
        usize::from(client.put("/a", "x").status == 204)
    };
    replacement_is_201 ReplacementIs201 |lab| {
        let (_server, mut client) = lab.server();
        client.put("/a", "x");
        usize::from(client.put("/a", "y").status == 201)
    };
    content_unsent ContentUnsent |lab| {
        let (_server, mut client) = lab.server();
        client.put("/a", "x");
        (0..ROUNDS).filter(|_| client.get("/a").status == 204).count()
    };
    content_changes ContentChanges |lab| {
        let (_server, mut client) = lab.server();
        client.put("/a", "x");
        (0..ROUNDS).filter(|_| client.get("/a").text() != "x").count()
    };
    refused_but_done RefusedButDone |lab| {
        let (_server, mut client) = lab.server();
        client.put("/a", "old");
        client.send("PUT /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nnew\r\n0\r\n\r\n");
        usize::from(client.receive("PUT").unwrap().status == 411 && client.get("/a").text() == "new")
    };
    date_ahead DateAhead |lab| {
        let (_server, mut client) = lab.server();
        client.put("/a", "x");
        let got = client.get("/a");
        // An hour later there is another number in the middle, and perhaps another day at the beginning.
        let hour = |name: &str| got.field(name).unwrap()[..19].to_owned();
        usize::from(hour("last-modified") != hour("date"))
    };
    head_length_zero HeadLengthZero |lab| {
        let (_server, mut client) = lab.server();
        client.put("/a", "x");
        usize::from(client.ask("HEAD /a", "", "").field("content-length") == Some("0"))
    };

    torn_read TornRead |lab| {
        let (server, mut client) = lab.server();
        client.put("/a", &"0".repeat(100));
        torn(server.addr(), 100)
    };
    two_winners TwoWinners |lab| {
        let (server, mut client) = lab.server();
        let tag = client.put("/a", "x").tag().to_owned();
        winners(server.addr(), 16, "PUT /a", &format!("If-Match: {tag}")) - 1
    };
    two_creators TwoCreators |lab| {
        let (server, _client) = lab.server();
        winners(server.addr(), 16, "PUT /a", "If-None-Match: *") - 1
    };
    put_and_delete_win PutAndDeleteWin |lab| {
        let (server, mut client) = lab.server();
        (0..20)
            .filter(|_| {
                let tag = format!("If-Match: {}", client.put("/a", "x").tag());
                let barrier = Barrier::new(2);
                let both = |line: &str| {
                    let mut client = Client::to(server.addr());
                    barrier.wait();
                    client.ask(line, &tag, "y").status == 204
                };
                thread::scope(|scope| {
                    let put = scope.spawn(|| both("PUT /a"));
                    both("DELETE /a") && put.join().unwrap()
                })
            })
            .count()
    };
}
