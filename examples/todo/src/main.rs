//! Runs the to-do service until its standard input ends: `cargo run -p todo -- [BUG]`. It prints its URL, and at its end the number
//! of requests that it has answered.

#![allow(clippy::print_stdout, reason = "it says where it listens")]

fn main() -> std::io::Result<()> {
    let bug = std::env::args().nth(1);
    let named = |name: &String| todo::Bug::ALL.into_iter().find(|bug| format!("{bug:?}") == *name);
    if let Some(name) = bug.as_ref().filter(|name| named(name).is_none()) {
        return Err(std::io::Error::other(format!(
            "no bug is called {name}; there are {:?}",
            todo::Bug::ALL
        )));
    }
    let bug = bug.as_ref().and_then(named);
    let url = todo::start(bug)?;
    println!("{url}");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    println!("{} requests", todo::answered());
    Ok(())
}
