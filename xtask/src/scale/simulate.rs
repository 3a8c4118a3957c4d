//! `cargo xtask scale simulate`: a simulation of campaigns over many machines, with stragglers and failures.
//!
//! Nothing is tested: times are drawn. The model: every shard has the same number of cases; each case takes a time around the
//! mean; a machine has a speed, and some are stragglers; machines fail at random moments, and a failed shard starts again
//! after a delay, from its journal or from its beginning.

#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use confute::random::Random;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of cases of the campaign
    #[arg(long, default_value = "1000000")]
    cases: u64,
    /// Cases that a machine runs in a second
    #[arg(long, default_value = "5")]
    rate: f64,
    /// Share of machines that are stragglers, at a third of the speed
    #[arg(long, default_value = "0.05")]
    stragglers: f64,
    /// Mean time between failures of a machine, in hours
    #[arg(long, default_value = "24")]
    failures: f64,
    /// Delay before a failed shard starts again, in seconds
    #[arg(long, default_value = "120")]
    delay: f64,
    /// Number of simulated campaigns for each line
    #[arg(long, default_value = "200")]
    runs: u64,
    /// Seed of all random choices
    #[arg(long, default_value = "1")]
    seed: u64,
}

/// The result of one simulated shard.
#[derive(Clone, Copy, Default)]
struct Ran {
    /// Seconds until its end.
    ends: f64,
    /// Seconds of work that were lost.
    lost: f64,
    failures: u64,
}

pub(crate) fn run(args: &Args) {
    println!(
        "A simulation: nothing was tested. {} cases, {} a second on each machine; {:.0} % of the",
        args.cases,
        args.rate,
        100.0 * args.stragglers
    );
    println!(
        "machines have a third of the speed; one failure in {} h on each, {} s until it starts again.",
        args.failures, args.delay
    );
    println!("Medians of {} campaigns.\n", args.runs);
    println!("shards  ideal      with the journal               without                        failures");
    println!("                   end        tail    work lost   end        tail    work lost");
    for shards in [1_u64, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000] {
        let ideal = args.cases as f64 / shards as f64 / args.rate;
        let (with, without) = (simulated(args, shards, true), simulated(args, shards, false));
        println!("{shards:>6}  {:<9}  {}   {}   {:.1}", time(ideal), told(&with), told(&without), with.3);
    }
    println!("\ntail: time after half of the shards have ended, as a share of the whole.");
}

/// Returns the medians of end, tail and lost work, and the mean number of failures.
fn simulated(args: &Args, shards: u64, resumes: bool) -> (f64, f64, f64, f64) {
    let (mut ends, mut tails, mut lost, mut failures) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for run in 0..args.runs {
        let mut random = Random::new(args.seed.wrapping_mul(1_000_003) ^ run);
        let mut ran: Vec<Ran> = (0..shards).map(|_| shard(args, shards, resumes, &mut random)).collect();
        ran.sort_by(|one, other| one.ends.total_cmp(&other.ends));
        let end = ran.last().map_or(0.0, |one| one.ends);
        ends.push(end);
        tails.push((end - ran[ran.len() / 2].ends) / end);
        let work = args.cases as f64 / args.rate;
        lost.push(ran.iter().map(|one| one.lost).sum::<f64>() / work);
        failures += ran.iter().map(|one| one.failures).sum::<u64>();
    }
    (median(ends), median(tails), median(lost), failures as f64 / args.runs as f64)
}

fn shard(args: &Args, shards: u64, resumes: bool, random: &mut Random) -> Ran {
    let speed = if uniform(random) < args.stragglers { 1.0 / 3.0 } else { 0.9 + 0.2 * uniform(random) };
    // The sum of many cases varies little.
    let mut left = args.cases as f64 / shards as f64 / args.rate / speed * (0.98 + 0.04 * uniform(random));
    let whole = left;
    let mut ran = Ran::default();
    // A shard that starts over on a machine that fails often may never end: that is cut off, and shows as a long time.
    while ran.failures < 10_000 {
        let until = -uniform(random).ln() * args.failures * 3600.0;
        if until >= left {
            ran.ends += left;
            return ran;
        }
        ran.failures += 1;
        ran.ends += until + args.delay;
        // With the journal a failure costs the cases that were running: about one each of a few at a time.
        let kept = if resumes { (until - 1.0 / args.rate).max(0.0) } else { 0.0 };
        ran.lost += if resumes { until - kept } else { until + (whole - left) };
        left = if resumes { left - kept } else { whole };
    }
    ran
}

/// Returns a number above 0 and up to 1.
fn uniform(random: &mut Random) -> f64 {
    (random.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn told((end, tail, lost, _): &(f64, f64, f64, f64)) -> String {
    format!("{:<9}  {:>4.0} %  {:>7.2} %  ", time(*end), 100.0 * tail, 100.0 * lost)
}

fn time(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}
