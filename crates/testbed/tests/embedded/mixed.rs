//! Ordinary mixed traffic, sent to two servers in lockstep: every difference is caused by the bug.
//!
//! Both servers derive their tags from the number of writes, so two correct ones send the same responses except for
//! dates and ports.

use confute_testbed::embedded::{Area, Bug, Config, Embedded};

use super::client::{Client, correct, request, start};
use super::framing::REFUSED;

/// Number of bursts within which every bug shows that a single client can observe.
const ENOUGH: usize = 600;

/// Bugs that no single client can observe: they require a race, access to the origin, or another origin. Bugs that
/// rewrite heads have a test of their own.
const HIDDEN: &[Bug] = &[
    Bug::TornRead,
    Bug::TwoWinners,
    Bug::TwoCreators,
    Bug::PutAndDeleteWin,
    Bug::CrossedConnections,
    Bug::ProxyMixUp,
    Bug::HopByHopLeak,
    Bug::NamedFieldLeak,
    Bug::ViaMissing,
    Bug::ProxyHostWithoutPort,
    Bug::ProxySendsTwice,
    Bug::ProxyMergesTrailers,
    Bug::ProxyStartledByInterim,
    Bug::RefusedButDone,
    Bug::DateAhead,
    Bug::AllowMissing,
    Bug::BodyUnread,
    Bug::MaxForwardsKept,
    Bug::ProxyFailsAtTrailers,
    Bug::ProxyRetriesPost,
    Bug::ProxyChangesMethod,
    Bug::ProxyDropsFields,
    Bug::ProxyHidesFailure,
    Bug::ProxyAsksUnasked,
];

/// Random generator of requests, which reuses the tags it has received.
struct Traffic {
    seed: u64,
    prefix: &'static str,
    tags: Vec<String>,
    /// Number of malformed requests so far.
    refused: usize,
}

impl Traffic {
    fn below(&mut self, limit: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) as usize % limit
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn tag(&mut self) -> String {
        let age = self.pick(&["0", "0", "0", "1", "2"]).parse::<usize>().unwrap();
        let tag = self.tags.iter().rev().nth(age).cloned().unwrap_or_else(|| "\"none\"".to_owned());
        let form = self.pick(&[
            "TAG",
            "TAG",
            "W/TAG",
            "W/TAG",
            "\"x\", TAG",
            "W/\"x\", TAG",
            "*",
            "*",
            "\"x\"\nNAME: TAG",
        ]);
        form.replace("TAG", &tag)
    }

    /// Returns a request and its method.
    fn request(&mut self) -> (String, &'static str) {
        let method = self.pick(&[
            "GET", "GET", "GET", "GET", "PUT", "PUT", "PUT", "PUT", "HEAD", "HEAD", "DELETE", "OPTIONS",
        ]);
        let new = format!("new-{}", self.below(1_000_000));
        let path = self.pick(&["a", "a", "a", "a", "a?b", "c", "NEW"]).replace("NEW", &new);
        let mut fields = Vec::new();
        let kinds = [
            "",
            "",
            "If-Match",
            "If-None-Match",
            "If-Modified-Since",
            "If-Unmodified-Since",
            "If-Match If-Unmodified-Since",
            "If-None-Match If-Modified-Since",
            "Range",
            "Range If-Range",
        ];
        for name in self.pick(&kinds).split_whitespace() {
            let value = match name {
                "If-Match" | "If-None-Match" => self.tag().replace("NAME", name),
                "Range" => format!("bytes={}", self.pick(&["0-1", "1-", "-2", "99-"])),
                "If-Range" => self.tag().lines().next().unwrap_or_default().to_owned(),
                _ => format!("Sat, 29 Oct {} 19:43:31 GMT", self.pick(&["1994", "2094"])),
            };
            fields.push(format!("{name}: {value}"));
        }
        if method == "OPTIONS" {
            fields.push("Max-Forwards: 0".to_owned());
        }
        let body = if method == "PUT" { format!("content {}", self.below(1000)) } else { String::new() };
        (request(&format!("{method} {}{path}", self.prefix), &fields.join("\n"), &body), method)
    }

    /// Returns the bytes to send at once, and the methods of the requests in them.
    fn burst(&mut self) -> (String, Vec<&'static str>) {
        match self.below(20) {
            0 | 1 => {
                self.refused += 1;
                let (_, _, bytes) = REFUSED[self.refused % REFUSED.len()];
                (bytes.to_owned(), vec![""])
            }
            2 => (request("GET /a", "Connection: close", ""), vec!["GET"]),
            3 => {
                let path = self.prefix.trim_start_matches("/proxy");
                (
                    format!(
                        "PUT {path}e HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
                    ),
                    vec!["PUT"],
                )
            }
            4..7 => {
                let requests = [self.request(), self.request(), self.request()];
                let (bytes, methods): (Vec<_>, Vec<_>) = requests.into_iter().unzip();
                (bytes.concat(), methods)
            }
            _ => {
                let (bytes, method) = self.request();
                (bytes, vec![method])
            }
        }
    }
}

/// One of the two servers, with a client.
struct Side {
    _servers: Vec<Embedded>,
    server: Embedded,
    client: Client,
}

impl Side {
    fn new(bug: Option<Bug>) -> Self {
        let (origin, _) = correct();
        let config = Config { bugs: bug.into_iter().collect(), ..Config::default() };
        let server = start(config.proxy("/proxy/", origin.addr()));
        let client = Self::client(&server);
        Self { _servers: vec![origin], server, client }
    }

    fn client(server: &Embedded) -> Client {
        Client::to(server.addr()).impatient(std::time::Duration::from_millis(400))
    }

    /// Sends bytes and returns the responses, without the fields that differ between any two servers.
    fn hears(&mut self, bytes: &str, methods: &[&str]) -> Vec<String> {
        self.client.send(bytes);
        let mut said = Vec::new();
        for method in methods {
            let mut answer = self.client.receive(method);
            if answer.as_ref().is_ok_and(|it| it.status == 100) {
                said.push("100".to_owned());
                self.client.send("new");
                answer = self.client.receive(method);
            }
            let closed = answer.as_ref().map_or(true, |it| it.field("connection") == Some("close"));
            said.push(answer.map_or_else(
                |error| error,
                |it| {
                    let kept =
                        |line: &&str| !["Date", "Last-Modified", "Via"].iter().any(|it| line.starts_with(it));
                    let head: Vec<_> = it.head.lines().filter(kept).collect();
                    format!("{}\n\n{}", head.join("\n"), it.text())
                },
            ));
            if closed {
                said.push(format!("closed: {}", self.client.is_closed()));
                self.client = Self::client(&self.server);
                break;
            }
        }
        said
    }
}

/// Returns the number of the first burst to which the two servers respond differently, if there is one.
fn differ(bug: Option<Bug>) -> Option<usize> {
    let proxied = bug.is_some_and(|bug| bug.area() == Area::Proxying);
    let mut traffic =
        Traffic { seed: 7, prefix: if proxied { "/proxy/" } else { "/" }, tags: Vec::new(), refused: 0 };
    let (mut right, mut wrong) = (Side::new(None), Side::new(bug));
    (0..ENOUGH).find(|_| {
        let (bytes, methods) = traffic.burst();
        let said = right.hears(&bytes, &methods);
        // Most requests concern /a, so its tags are worth remembering.
        if bytes.split(' ').nth(1).is_some_and(|path| path.ends_with("/a")) {
            let tags = said[0].lines().filter_map(|line| line.strip_prefix("ETag: "));
            traffic.tags.extend(tags.map(str::to_owned));
        }
        said != wrong.hears(&bytes, &methods)
    })
}

#[test]
fn two_correct_servers_say_the_same() {
    assert_eq!(differ(None), None);
}

#[test]
fn bugs_show_in_ordinary_traffic() {
    let visible = Bug::all().iter().filter(|bug| !HIDDEN.contains(bug) && bug.rewrite().is_none());
    let unseen: Vec<_> = visible.filter(|&&bug| differ(Some(bug)).is_none()).collect();
    assert!(unseen.is_empty(), "{unseen:?} do not show");
}
