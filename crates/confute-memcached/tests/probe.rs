mod common;
use common::{Plan, Server, run};
use confute_memcached::Habits;
use std::time::Duration;
fn env(name: &str, or: u64) -> u64 {
    std::env::var(name).ok().and_then(|t| t.parse().ok()).unwrap_or(or)
}
#[test]
fn probe() {
    let Some(server) = Server::start(&[]) else { return };
    let (mut all, mut bad, mut most, mut events) = (Duration::ZERO, 0, Duration::ZERO, 0);
    for number in 0..env("CASES", 6) {
        let habits = Habits {
            singles: env("KEYS", 6) as u32,
            pairs: env("PAIRS", 1) as u32,
            outstanding: env("OUT", 24) as usize,
            noreply: env("NOREPLY", 1) == 1,
            expiry: env("EXP", 1) == 1,
            steps: env("STEPS", 400) as usize,
        };
        let case = format!("p-{:x}-{number}-", std::process::id());
        let plan = Plan {
            seed: number,
            connections: env("CONNS", 32) as u32,
            habits,
            case,
            time: Duration::from_secs(env("TIME", 5)),
        };
        let ran = run(server.address, &plan);
        all += ran.thinking;
        most = most.max(ran.thinking);
        bad += u32::from(!ran.verdict.is_unrefuted());
        events += ran.events.len();
        if env("QUIET", 0) == 0 || ran.verdict.is_refuted() {
            println!(
                "case {number}: {} events, {} turns, {:?} median {} {}",
                ran.events.len(),
                ran.turns,
                ran.thinking,
                ran.median_outstanding(),
                if ran.verdict.is_unrefuted() { "ok".into() } else { format!("{:?}", ran.verdict) }
            );
        }
    }
    println!("cases: all {all:?}, most {most:?}, {bad} not unrefuted, {:?} an event", all / events as u32);
}
