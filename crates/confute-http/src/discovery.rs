//! First requests through a gateway: they show whether what it forwards arrives at the tester, and how it maps paths.

use std::hash::{BuildHasher as _, RandomState};

use confute_drive::{Caller, CaseRun, Peer, Step, Talk, Trouble, Until};

use crate::ask::AskRequest;
use crate::message::{Message, Method, Request};
use crate::protocol::{GatewaySide, Http};
use crate::proxy::{Mapping, rules};

/// Methods of the requests, in order. The first that arrives under its name is the last: only a gateway that is not
/// set up, or that breaks a rule, gets more than one.
const METHODS: [Method; 4] = [Method::Get, Method::Put, Method::Delete, Method::Get];

/// The result of the first requests.
#[derive(Debug)]
pub(crate) struct Discovery {
    /// Prefix of paths at the origin, if a request arrived there under its name.
    pub(crate) to: Option<String>,
    /// Remarks about the gateway, or the reason why it cannot be tested.
    pub(crate) said: Result<Vec<String>, Trouble>,
    /// The cases, one for each request.
    pub(crate) cases: Vec<CaseRun>,
}

/// A request that arrived at the origin.
struct Arrival {
    path: String,
    host: Option<String>,
    /// Prefix of the path before the name of the case, if that is there.
    to: Option<String>,
}

/// Sends the first requests.
pub(crate) fn discover(http: &Http, gateway: &GatewaySide, mapping: &Mapping, caller: Caller) -> Discovery {
    // A name that no other run has.
    let random = RandomState::new().hash_one(std::process::id()) as u32;
    let caller = caller.named(format!("survey-{random:08x}-"));
    // The mapping is unknown yet.
    let relaxed = [rules::TARGET.name];
    let talk = Talk::new(http, caller).relaxing(&relaxed);
    let mut to = None;
    let said = requests(gateway, mapping, &talk, &mut to);
    Discovery { to, said, cases: talk.into_cases() }
}

fn requests(
    gateway: &GatewaySide,
    mapping: &Mapping,
    talk: &Talk<'_, Http>,
    to: &mut Option<String>,
) -> Result<Vec<String>, Trouble> {
    let (prefix, origin) = (&gateway.prefix, gateway.listens);
    let (mut missed, mut elsewhere) = (Vec::new(), Vec::new());
    for method in METHODS {
        let body = (method == Method::Put).then(|| "survey".into());
        let ask =
            AskRequest { method: method.clone(), name: "a".into(), mark: Some(0), body, ..<_>::default() };
        let (on, ask) = (Peer::Opened(0), ask.into());
        let steps = vec![Step::Ask { on, ask, cuts: Vec::new() }, Step::Wait(Until::Outstanding(0))];
        let case = talk.case(steps)?;
        let sent = format!("{} {prefix}{}-a", method.name(), case.name);
        let response =
            case.past.exchanges.iter().flat_map(|exchange| &exchange.replies).find_map(Message::response);
        let answer = response.map_or_else(
            || "no answer came back either".to_owned(),
            |response| format!("it was answered {}", response.status),
        );
        let requests = case.past.asked.iter().filter_map(|(_, message)| message.request());
        let arrived: Vec<_> = requests.map(|request| Arrival::of(request, &case.name)).collect();
        match arrived.iter().find(|arrival| arrival.to.is_some()).or(arrived.first()) {
            None => missed.push(format!(
                "{sent} did not arrive at {origin}, where the tester listens as origin; {answer}"
            )),
            Some(Arrival { path, to: None, .. }) => {
                elsewhere.push(format!("{sent} arrived at {origin} as {path}"));
            }
            Some(Arrival { to: Some(found), host, .. }) => {
                let host = host
                    .as_ref()
                    .map_or_else(|| "without Host".to_owned(), |host| format!("with Host: {host}"));
                let mapped = format!("what is below {prefix} arrives at the origin below {found}, {host}");
                *to = Some(found.clone());
                return Ok([missed, elsewhere, vec![mapped]].concat());
            }
        }
        match case.trouble {
            None => {}
            // The others would take as long.
            Some(Trouble::Silent { .. } | Trouble::Slow { .. }) => break,
            Some(trouble) => return Err(trouble),
        }
    }
    if gateway.is_promised || !elsewhere.is_empty() {
        let expected = format!("what is below {prefix} is expected at the origin below {}", mapping.to);
        return Ok([missed, elsewhere, vec![expected]].concat());
    }
    let first = missed.first().map_or("no request was sent", |first| first);
    Err(Trouble::Unprepared(format!(
        "{first}. Does the server forward what is below {prefix} to http://{origin}? If it should, --no-survey tests that"
    )))
}

impl Arrival {
    /// Describes a request of the case with this name.
    fn of(request: &Request, case: &str) -> Self {
        let path = request.path.to_string();
        let to = path.find(&format!("{case}-")).map(|at| path[..at].to_owned());
        Self { path, host: request.forwarded.fields.all("Host").next().map(str::to_owned), to }
    }
}
