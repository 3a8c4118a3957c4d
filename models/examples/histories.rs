//! Scratch: judge the shared histories.
use std::time::Instant;
fn main() {
    let dir = std::env::args().nth(1).expect("dir");
    let turns = std::cell::Cell::new(0u64);
    let reps: usize = std::env::args().nth(2).and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut tot = 0.0;
    for f in ["c01-ok", "c01-bad", "c10-ok", "c10-bad", "c50-ok"] {
        let file = std::io::BufReader::new(std::fs::File::open(format!("{dir}/kv/{f}.txt")).expect("file"));
        let h = confute::history::read(file, Default::default()).expect("history");
        let r = confute_models::recorded::kv(&h).expect("kv");
        let mut best = f64::MAX;
        let mut v = None;
        for _ in 0..reps {
            let t = Instant::now();
            v = Some(confute::judge(&confute_models::kv::Kv, &confute::network::Tcp::default(), &r.events, &confute::Options { watch: Some(&|p: &confute::Pulse| { turns.set(p.turns); false }), ..Default::default() }));
            best = best.min(t.elapsed().as_secs_f64());
        }
        println!("{f}: {} {:.3} ms {} turns", v.as_ref().is_some_and(|v| v.is_unrefuted()), best * 1e3, turns.get());
    }
    let ver = std::fs::read_to_string(format!("{dir}/etcd/verdicts.txt")).expect("verdicts");
    for l in ver.lines() {
        let mut w = l.split_whitespace();
        let (n, exp) = (w.next().expect("n"), w.next().expect("v") == "linearizable");
        let file = std::io::BufReader::new(std::fs::File::open(format!("{dir}/etcd/{n}.log")).expect("file"));
        let h = confute::history::read(file, Default::default()).expect("history");
        let r = confute_models::recorded::register(&h).expect("register");
        let mut best = f64::MAX;
        let mut v = None;
        for _ in 0..reps {
            let t = Instant::now();
            v = Some(confute::judge(&confute_models::register::CasRegister, &confute::network::Tcp::default(), &r.events, &confute::Options { watch: Some(&|p: &confute::Pulse| { turns.set(p.turns); false }), ..Default::default() }));
            best = best.min(t.elapsed().as_secs_f64());
        }
        tot += best;
        let v = v.expect("ran");
        if v.is_unrefuted() != exp { println!("{n} WRONG {v:?}"); }
        if best > 0.001 { println!("{n} {:.3} ms {}", best * 1e3, turns.get()); }
    }
    println!("etcd total {:.3} ms", tot * 1e3);
}
