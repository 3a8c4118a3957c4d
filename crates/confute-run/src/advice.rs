//! Advice about trouble: the next step, in a sentence.

use confute_drive::Trouble;

/// Returns the next step for the user; empty if none is known.
pub fn next(trouble: &Trouble) -> &'static str {
    match trouble {
        Trouble::Refused { .. } => "start the server, or check host and port",
        Trouble::Gone { .. } => {
            "check the server's log for a crash; restart it and run again with the same seed"
        }
        Trouble::Restarted { .. } => "keep the server running during the test; if it crashed, check its log",
        Trouble::Unresponsive { .. } => "check host, port and firewalls; --patience waits longer",
        Trouble::Slow { .. } => "raise --patience, or make the server faster",
        Trouble::Silent { .. } => "if the server is only slow, raise --patience; otherwise check its log",
        Trouble::Fruitless { .. } => {
            "check the server's log; it may require TLS (https://) or refuse connections from this machine"
        }
        Trouble::Flood { .. } => "check the port, and what the server sends (curl -v, nc)",
        Trouble::Unsecured { why, .. } if why.contains("does not speak TLS") => "did you mean http://?",
        Trouble::Unsecured { why, .. } if why.contains("another name") => {
            "use the host name of the certificate; --insecure accepts any certificate"
        }
        Trouble::Unsecured { why, .. } if why.contains("certificate") => {
            "--ca FILE trusts its issuer; --insecure accepts any certificate"
        }
        Trouble::Unsecured { .. } => "check the server's log; does it support TLS 1.2 or 1.3?",
        Trouble::Local { .. } => "the tester's own machine failed: check `ulimit -n`",
        Trouble::Defect(_) => "please report it, with the seed and the output on standard error",
        _ => "",
    }
}
