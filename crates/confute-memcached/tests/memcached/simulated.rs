//! The model as a simulated server, judged by the tester derived from it.

use confute::network::Tcp;
use confute::random::Random;
use confute::simulate::{ExchangePlan, exchange};
use confute::trace::Event;
use confute::{Options, Tester, Verdict};
use confute_drive::Dialogue as _;
use confute_memcached::{Command, Memcached, MemcachedModel, Message, ResponseLine, Store, rules};

const KEYS: u64 = 6;

fn request(random: &mut Random, seen: &[Message]) -> Message {
    let key = format!("k{}", random.below(KEYS));
    let mark = format!("{:08x}", random.below(1 << 32));
    let numbers = ["1", "10", "100", "18446744073709551615"];
    let data = if random.chance(1, 4) { numbers[random.below(4) as usize].to_owned() } else { mark };
    let tokens: Vec<_> = seen
        .iter()
        .rev()
        .filter_map(|message| match message {
            Message::Answer(answer) => match &answer.line {
                ResponseLine::Value { key: of, unique: Some(unique), .. } => {
                    Some((of.clone(), unique.clone()))
                }
                _ => None,
            },
            Message::Ask(_) => None,
        })
        .collect();
    let how = match random.below(9) {
        0..=2 => Store::Set,
        3 => Store::Add,
        4 => Store::Replace,
        5 => Store::Append,
        6 => Store::Prepend,
        _ => {
            let own = tokens.iter().find(|(of, _)| **of == *key);
            let any = tokens.first().filter(|_| random.chance(1, 8));
            Store::Cas(any.or(own).map_or_else(|| "7".into(), |(_, unique)| unique.clone()))
        }
    };
    let exptime = if random.chance(1, 10) { [-1, 1, 100][random.below(3) as usize] } else { 0 };
    let key = key.as_str().into();
    let command = match random.below(20) {
        0..=8 => Command::Get { key, more: Vec::new(), unique: random.chance(2, 3) },
        9..=14 => Command::Store { how, key, flags: random.below(9) as u32, exptime, data: data.into() },
        15 | 16 => Command::Delete { key },
        17 | 18 => Command::Count { key, up: random.chance(1, 2), by: 1 + random.below(99) },
        _ => Command::Touch { key, exptime },
    };
    command.asked()
}

struct Soaked {
    verdict: Verdict,
    deviations: u64,
}

fn soak(model: MemcachedModel, plan: &ExchangePlan) -> Soaked {
    let (network, protocol) = (Tcp::default(), Memcached::default());
    let judging = MemcachedModel { keeps: model.keeps };
    let mut tester = Tester::new(&judging, &network, Options { turns: 20_000_000, ..Options::default() });
    let mut micros = 0;
    let statistics = exchange(&model, &network, plan, &mut request, &mut |_, _| None, &mut |mut event| {
        // The server has no clock: time advances with each event.
        micros += 100;
        if let Event::Sent(_, message) | Event::Received(_, message) = &mut event {
            protocol.stamp(message, micros);
        }
        tester.observe(event).is_unrefuted()
    })
    .expect("the model makes no mistakes");
    Soaked { verdict: tester.verdict().clone(), deviations: statistics.deviations }
}

#[test]
fn the_model_never_refutes_itself() {
    for keeps in [true, false] {
        for seed in 0..6 {
            let plan = ExchangePlan { seed, messages: 3_000, at_once: 10, ..ExchangePlan::default() };
            let soaked = soak(MemcachedModel { keeps }, &plan);
            assert!(soaked.verdict.is_unrefuted(), "keeps {keeps}, seed {seed}: {:?}", soaked.verdict);
        }
    }
}

#[test]
fn a_model_that_breaks_a_rule_is_refuted() {
    // Rules that cannot be broken here: nothing is lost by itself, no item lives long enough, and every
    // request gets a response.
    let idle = [rules::GONE_STAYS_GONE.name, rules::NOREPLY_DONE.name, rules::NOREPLY_SERVED.name];
    for rule in rules::ALL.iter().filter(|rule| !idle.contains(&rule.name)) {
        let refuted = (0..20).find(|seed| {
            let plan = ExchangePlan {
                seed: *seed,
                messages: 3_000,
                at_once: 6,
                deviate: vec![rule.name],
                one_in: 4,
                ..ExchangePlan::default()
            };
            let soaked = soak(MemcachedModel { keeps: true }, &plan);
            assert!(soaked.deviations > 0 || soaked.verdict.is_refuted(), "{} is never broken", rule.name);
            soaked.verdict.is_refuted()
        });
        assert_eq!(refuted, Some(0), "{}", rule.name);
    }
}
