//! A script for curl that sends the requests of a case one after the other, as they were sent.

use std::fmt::Write as _;

use confute::trace::Event;
use confute_drive::Kept;

use crate::protocol::Rest;
use crate::wire;

/// Returns the script.
pub(super) fn script(rest: &Rest, kept: &Kept<'_, Rest>) -> String {
    let mut script = String::from("#!/bin/sh\n");
    for line in kept.about {
        let _ = writeln!(script, "# {line}");
    }
    script.push_str("# The requests as they were sent, one after the other. Ids and tags are those of that run, so a service that\n");
    script.push_str("# has other ones now needs them replaced; `confute replay` does that by itself.\n");
    let _ = writeln!(script, "base=${{1:-{}}}", quoted(kept.url.trim_end_matches('/')));
    for event in kept.trace {
        match event {
            Event::Sent(on, message) => {
                let Some(request) = message.request() else { continue };
                let Some(ready) = rest.outline.named(&request.resource) else { continue };
                let target = wire::target(request, ready, "");
                let _ = writeln!(script, "\n# on connection {}", on.0);
                let _ = write!(script, "curl -sS -i -X {} \"$base\"{}", request.method, quoted(&target));
                for (name, value) in wire::fields(request, ready) {
                    let _ = write!(script, " \\\n  -H {}", quoted(&format!("{name}: {value}")));
                }
                if let Some(body) = &request.body {
                    let _ = write!(script, " \\\n  --data-binary {}", quoted(body));
                }
                script.push('\n');
            }
            Event::Received(on, message) => {
                let _ = writeln!(script, "# connection {} received: {message}", on.0);
            }
            _ => {}
        }
    }
    script
}

/// Returns a text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
