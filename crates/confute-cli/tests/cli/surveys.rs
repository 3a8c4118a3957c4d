//! Gateways that go wrong at the first request already, and the question of the configuration.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use confute_testbed::embedded::{Config, Embedded};

use super::hostile::{Ran, confute, relay};

/// The fault of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The first request is answered by the gateway itself.
    OwnFirst,
    /// Every request is answered by the gateway itself.
    OwnAll,
    /// Every request is refused.
    RefusesAll,
    /// The first request is forwarded with another target.
    OtherTarget,
}

const OWN: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nwelcome\n";
const REFUSED: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno\n";

/// Starts a gateway that has this fault, and is correct otherwise. It forwards to the returned origin.
fn gateway(fault: Fault) -> (SocketAddr, SocketAddr) {
    let free = || TcpListener::bind("127.0.0.1:0").unwrap();
    let (listener, origin) = (free(), free().local_addr().unwrap());
    let behind = Arc::new(Embedded::start(Config::default().proxy("/", origin)).unwrap());
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(AtomicU32::new(0));
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (behind, requests) = (behind.clone(), requests.clone());
            thread::spawn(move || fault.treat(client, behind.addr(), &requests));
        }
    });
    (address, origin)
}

impl Fault {
    fn treat(
        self,
        mut client: TcpStream,
        behind: SocketAddr,
        connections: &AtomicU32,
    ) -> std::io::Result<()> {
        // A connection without a request does not count.
        if client.peek(&mut [0])? == 0 {
            return Ok(());
        }
        let is_first = connections.fetch_add(1, Ordering::Relaxed) == 0;
        let answer = match self {
            Fault::OwnFirst | Fault::OwnAll => OWN,
            Fault::RefusesAll | Fault::OtherTarget => REFUSED,
        };
        let mut buffer = [0; 4096];
        if self == Fault::OtherTarget && is_first {
            let count = client.read(&mut buffer)?;
            let request = String::from_utf8_lossy(&buffer[..count]).replacen("-a HTTP", "_a HTTP", 1);
            let mut server = TcpStream::connect(behind)?;
            server.write_all(request.as_bytes())?;
            std::io::copy(&mut server, &mut client).map(drop)
        } else if is_first || matches!(self, Fault::OwnAll | Fault::RefusesAll) {
            while client.read(&mut buffer)? > 0 {
                client.write_all(answer)?;
            }
            Ok(())
        } else {
            relay(client, behind);
            Ok(())
        }
    }
}

fn run(fault: Fault, more: &[&str]) -> Ran {
    let (address, origin) = gateway(fault);
    let origin = origin.to_string();
    let always = ["--origin", &origin, "--max-time", "3s", "--shrink-time", "2s"];
    confute(address, &[&always[..], more].concat())
}

#[test]
fn a_gateway_that_goes_wrong_at_the_first_request_is_refuted() {
    for (fault, rule, remark) in [
        (Fault::OwnFirst, "gateway/from-origin", "where the tester listens as origin; it was answered 200"),
        (Fault::OtherTarget, "gateway/target", "_a what is below"),
    ] {
        let ran = run(fault, &[]);
        assert_eq!(ran.code, Some(1), "{fault:?} {}{}", ran.out, ran.err);
        assert!(ran.out.starts_with(&format!("violation 1: {rule} (level store)")), "{fault:?} {}", ran.out);
        // Nothing else is wrong with it, and the fault does not show again.
        assert!(!ran.out.contains("violation 2"), "{fault:?} {}", ran.out);
        let flat = ran.flat();
        for part in ["seen in 1 case; shown here: survey-", "did not show again", remark] {
            assert!(flat.contains(part), "{fault:?} lacks {part:?}: {}", ran.out);
        }
        assert!(flat.contains("what is below / arrives at the origin below /"), "{fault:?} {}", ran.out);
    }
}

#[test]
fn a_gateway_that_forwards_nothing_may_not_be_set_up() {
    for fault in [Fault::OwnAll, Fault::RefusesAll] {
        let ran = run(fault, &[]);
        assert_eq!(ran.code, Some(3), "{fault:?} {}{}", ran.out, ran.err);
        let flat = ran.flat();
        for part in ["did not arrive at", "Does the server forward what is below / to", "--no-survey"] {
            assert!(flat.contains(part), "{fault:?} lacks {part:?}: {}", ran.out);
        }
        assert!(!ran.out.contains("violation"), "{fault:?} {}", ran.out);
    }
    // The user asserts that it is.
    for (fault, rule) in [(Fault::OwnAll, "gateway/from-origin"), (Fault::RefusesAll, "gateway/forwarded")] {
        let ran = run(fault, &["--no-survey"]);
        assert_eq!(ran.code, Some(1), "{fault:?} {}{}", ran.out, ran.err);
        // Its responses to HEAD may have content too.
        assert!(ran.out.contains(&format!(": {rule} (level store)")), "{fault:?} {}", ran.out);
        assert!(ran.flat().contains("what is below / is expected at the origin below /"), "{}", ran.out);
    }
}
