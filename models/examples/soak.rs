//! Scratch: soak one model.
use confute::{Options, Tester, network::*, simulate::Plan, Pulse};
use std::time::Instant;
fn run<S: confute_models::Workload>(name: &str, m: &S, net: &dyn Network, messages: usize) where S::Msg: Clone {
    let t0 = Instant::now();
    let watch = |p: &Pulse| t0.elapsed().as_secs() > 20 && p.turns > 0;
    let mut tester = Tester::new(m, net, Options { watch: Some(&watch), ..Options::default() });
    let plan = Plan { messages: messages as _, seed: 7, ..Plan::default() };
    let mut maxopen = 0;
    let mut ev = 0;
    let stats = confute_models::simulate(m, net, &plan, &mut |e| { ev += 1; let ok = tester.observe(e).is_unrefuted(); maxopen = maxopen.max(tester.alternatives()); ok });
    println!("{name:12} {:6} {:.2}s events {ev} turns {} maxopen {maxopen} bytes {} median {:?} {:?}", net.name(), t0.elapsed().as_secs_f64(), tester.turns(), tester.bytes(), stats.as_ref().map(|s| s.median()).ok(), tester.verdict());
}
fn main() {
    let n: usize = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(2000);
    let only = std::env::args().nth(2).unwrap_or_default();
    for net in [&Tcp::default() as &dyn Network, &Direct, &Udp::default()] {
        if !only.is_empty() && !only.contains(net.name()) && only.contains('!') { continue; }
        macro_rules! go { ($n:expr, $m:expr) => { if only.is_empty() || only.trim_matches('!').split(',').any(|x| x == $n || x == net.name()) { run($n, &$m, net, n) } } }
        go!("echo", confute_models::echo::Echo);
        go!("accumulator", confute_models::accumulator::Accumulator);
        go!("proxy", confute_models::proxy::Proxy);
        go!("swap", confute_models::swap::Swap);
        go!("register", confute_models::register::CasRegister);
        go!("kv", confute_models::kv::Kv);
        go!("conditional", confute_models::conditional::Conditional);
        go!("ticket", confute_models::ticket::TicketOffice);
    }
}
