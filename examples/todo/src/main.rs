//! Runs the to-do service until it is stopped: `cargo run -p todo -- [BUG]`.

use std::thread;

fn main() -> std::io::Result<()> {
    let bug = std::env::args().nth(1);
    let bugs = [
        todo::Bug::IfMatchIgnored,
        todo::Bug::IfMatchRace,
        todo::Bug::IdReuse,
        todo::Bug::StaleList,
        todo::Bug::LostUpdate,
    ];
    let bug = bug.and_then(|name| bugs.into_iter().find(|bug| format!("{bug:?}") == name));
    let url = todo::start(bug)?;
    #[expect(clippy::print_stdout, reason = "that is how the service tells where it is")]
    {
        println!("{url}");
    }
    loop {
        thread::park();
    }
}
