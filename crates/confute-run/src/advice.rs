//! What to do about trouble: the next step, in a sentence.

use confute_drive::Trouble;

/// What to do next; nothing where nobody knows.
pub fn next(trouble: &Trouble) -> &'static str {
    match trouble {
        Trouble::Refused { .. } => "is the server running? Start it, or look at the host and the port",
        Trouble::Gone { .. } => {
            "look into the server's log: did it crash? Then start it again, and use the same seed"
        }
        Trouble::Restarted { .. } => {
            "keep the server running while it is tested; if it crashed, its log may say why"
        }
        Trouble::Unresponsive { .. } => {
            "look at the host and the port, and at firewalls; --patience waits longer"
        }
        Trouble::Silent { .. } => {
            "if the server is only slow, --patience waits longer; otherwise its log may say why"
        }
        Trouble::Fruitless { .. } => {
            "look into the server's log; it may want TLS (https://), or refuse connections from here"
        }
        Trouble::Flood { .. } => "see what it sends, with curl -v or with nc; is it the right port?",
        Trouble::Unsecured { why, .. } if why.contains("does not speak TLS") => "did you mean http://?",
        Trouble::Unsecured { why, .. } if why.contains("another name") => {
            "call the host by the name in its certificate; --insecure trusts anyone"
        }
        Trouble::Unsecured { why, .. } if why.contains("certificate") => {
            "--ca FILE trusts who issued it, --insecure trusts anyone"
        }
        Trouble::Unsecured { .. } => "look into the server's log; does it speak TLS 1.2 or 1.3 there?",
        Trouble::Local { .. } => "this is a matter of the tester's own machine: look at `ulimit -n`",
        Trouble::Defect(_) => "please report it, with the seed and what was printed to standard error",
        _ => "",
    }
}
