//! Advice about trouble: the next step, in a sentence.

use confute_drive::Trouble;
use confute_record::Door;

/// Returns the next step for the user of this program; empty if none is known.
pub fn next(trouble: &Trouble, door: Door) -> String {
    let patience = door.setting("patience");
    let insecure = door.either("--insecure", "`Reach::insecure`");
    let text = match trouble {
        Trouble::Refused { .. } => "start the server, or check host and port",
        Trouble::Gone { .. } => {
            "check the server's log for a crash; restart it and run again with the same seed"
        }
        Trouble::Restarted { .. } => "keep the server running during the test; if it crashed, check its log",
        Trouble::Unresponsive { .. } => {
            return format!("check host, port and firewalls; {patience} waits longer");
        }
        Trouble::Slow { .. } => return format!("raise {patience}, or make the server faster"),
        Trouble::Silent { .. } => {
            return format!("if the server is only slow, raise {patience}; otherwise check its log");
        }
        Trouble::Fruitless { .. } => {
            "check the server's log; it may require TLS (https://) or refuse connections from this machine"
        }
        Trouble::Flood { .. } => "check the port, and what the server sends (curl -v, nc)",
        Trouble::Unsecured { why, .. } if why.contains("does not speak TLS") => "did you mean http://?",
        Trouble::Unsecured { why, .. } if why.contains("another name") => {
            return format!("use the host name of the certificate; {insecure} accepts any certificate");
        }
        Trouble::Unsecured { why, .. } if why.contains("certificate") => {
            let ca = door.either("--ca FILE", "`Reach::ca`");
            return format!("{ca} trusts its issuer; {insecure} accepts any certificate");
        }
        Trouble::Unsecured { .. } => "check the server's log; does it support TLS 1.2 or 1.3?",
        Trouble::Local { .. } => "the tester's own machine failed: check `ulimit -n`",
        Trouble::Defect(_) => "please report it, with the seed and the output on standard error",
        _ => "",
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_as_the_user_writes_them() {
        let troubles = [
            Trouble::Unsecured {
                address: ([127, 0, 0, 1], 443).into(),
                why: "the certificate has expired".to_owned(),
            },
            Trouble::Unresponsive {
                address: ([127, 0, 0, 1], 80).into(),
                waited: std::time::Duration::from_secs(1),
            },
        ];
        let texts = |door| troubles.each_ref().map(|trouble| next(trouble, door));
        assert_eq!(
            texts(Door::CommandLine),
            [
                "--ca FILE trusts its issuer; --insecure accepts any certificate",
                "check host, port and firewalls; --patience waits longer",
            ]
        );
        assert_eq!(
            texts(Door::Test),
            [
                "`Reach::ca` trusts its issuer; `Reach::insecure` accepts any certificate",
                "check host, port and firewalls; .patience(…) waits longer",
            ]
        );
    }
}
