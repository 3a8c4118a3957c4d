//! A tester for echo servers over TCP: model, wire, traffic and kit. `confute-test` runs it in `tests/echo.rs`.

use std::fmt::{self, Display, Formatter};

use clap::{Arg, ArgMatches, Command};
use confute::lang::{Io, Level, Rule, ServerModel, Turn};
use confute_drive::{AnyGenerator, Generator, Past, Peer, Protocol, Reader, Side, Step, Target, Until, View};
use confute_run::{Book, Kit, RunError, Subject, address, kit};
use serde::{Deserialize, Serialize};

/// A message: one line, in either direction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Line(String);

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A response repeats its request.
pub const SAME: Rule =
    Rule { name: "echo/same", level: Level::Must, summary: "A response is the line of its request." };

/// The model of a correct echo server, which is also the protocol.
#[derive(Clone, Copy, Debug)]
pub struct Echo;

impl ServerModel for Echo {
    type Msg = Line;
    type Out = Line;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, line) = io.recv()?;
        let reply = if io.deviates(&SAME)? { Line(String::new()) } else { (*line).clone() };
        io.send(conn, reply)
    }
    fn rules(&self) -> &'static [Rule] {
        &[SAME]
    }
}

impl Protocol for Echo {
    type Model = Self;
    type Ask = u32;
    type Reader = Lines;
    fn model(&self) -> &Self {
        self
    }
    fn resolve(&self, ask: &u32, case: &str, _: &Past<Self>) -> Option<Line> {
        Some(Line(format!("{case} {ask}")))
    }
    fn encode(&self, Line(line): &Line, bytes: &mut Vec<u8>) {
        bytes.extend(format!("{line}\n").as_bytes());
    }
    fn reader(&self, _: Side) -> Lines {
        Lines(Vec::new())
    }
}

/// Parser of lines, with a buffer for an incomplete one.
pub struct Lines(Vec<u8>);

impl Reader<Line> for Lines {
    fn feed(&mut self, bytes: &[u8], lines: &mut Vec<Line>) {
        self.0.extend(bytes);
        while let Some(end) = self.0.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.0.drain(..=end).collect();
            lines.push(Line(String::from_utf8_lossy(&line[..end]).into_owned()));
        }
    }
    fn end(&mut self, _: bool, _: &mut Vec<Line>) {}
    fn held(&self) -> usize {
        self.0.len()
    }
}

/// Traffic of this many steps: random lines, on connections without an outstanding response.
struct Traffic(u32);

impl Generator<Echo> for Traffic {
    fn next(&mut self, view: &View<'_, Echo>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<u32>> {
        self.0 = self.0.checked_sub(1)?;
        let free = view.outstanding.iter().position(|owed| *owed == 0);
        let Some(on) = free else { return Some(Step::Wait(Until::Something)) };
        Some(Step::Ask { on: Peer::Opened(on as u32), ask: pick(1 << 32) as u32, cuts: Vec::new() })
    }
}

/// Returns the subject for the echo server at this address.
pub fn server(place: &str) -> Result<Subject, RunError> {
    Ok(Subject::new("echo", Echo, Target::new(address(place)?), |_| AnyGenerator::new(Traffic(200))))
}

/// The kit of echo servers, for a table of kits.
pub struct EchoKit;

impl Kit for EchoKit {
    fn name(&self) -> &'static str {
        "echo"
    }
    fn books(&self) -> Vec<Book> {
        let summary = "An echo server over TCP.";
        vec![Book { name: "echo", summary, rules: &[SAME], command: "confute echo ADDR" }]
    }
    fn command(&self, command: Command) -> Option<Command> {
        Some(command.about("Test an echo server").arg(Arg::new("address").value_name("ADDR").required(true)))
    }
    fn open(&self, arguments: &ArgMatches, _: &kit::Run<'_>) -> Result<Subject, RunError> {
        server(arguments.get_one::<String>("address").map_or("", String::as_str))
    }
    fn reopen(&self, stored: &kit::StoredSettings<'_>) -> Option<Result<Subject, RunError>> {
        (stored.model == "echo").then(|| server(stored.target.unwrap_or("127.0.0.1:0")))
    }
}
