//! `confute plan`: the split of a campaign into shards, and the time that they would take at a measured rate.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use confute_record::{Exit, Shard};
use confute_report::files::{RECORD, read_record};
use confute_report::text::{count, elapsed, grouped};

use crate::args;

/// Shards with the same number of cases.
struct Group {
    first: u64,
    last: u64,
    share: u64,
}

pub(crate) fn run(args: &args::Plan, out: &mut dyn Write) -> Result<Exit> {
    let args::Plan { cases, shards, .. } = *args;
    let rate = rate(args)?;
    let groups = groups(cases, shards)?;
    let take = if shards == 1 {
        String::new()
    } else {
        format!("; shard I takes the cases I, I+{shards}, I+{}, …", 2 * shards)
    };
    writeln!(out, "{} in {}{take}", count(cases, "case"), count(shards, "shard"))?;
    writeln!(out)?;
    writeln!(out, "{:>15}  {:>13}  {:>15}  time of each", "shards", "cases of each", "last case")?;
    for Group { first, last, share } in &groups {
        let range =
            if first == last { grouped(*first) } else { format!("{}-{}", grouped(*first), grouped(*last)) };
        let shard = Shard { index: *last, of: shards };
        let end = share
            .checked_sub(1)
            .and_then(|place| shard.number(place))
            .map_or_else(|| "-".to_owned(), grouped);
        let time = rate.map_or_else(|| "-".to_owned(), |rate| duration(*share, rate));
        writeln!(out, "{range:>15}  {:>13}  {end:>15}  {time}", grouped(*share))?;
    }
    writeln!(out)?;
    if groups.iter().any(|group| group.share == 0) {
        writeln!(out, "Some shards have nothing to do: there are fewer cases than shards.")?;
    }
    match rate {
        Some(rate) => writeln!(
            out,
            "At {rate:.2} cases a second in each shard, as one shard reaches alone. Shards that\n\
             share a machine or a server share its rate. Shrinking and reports come on top:\n\
             up to 16 s by default."
        )?,
        None => writeln!(
            out,
            "Time is not known: measure a short run with `--report-dir trial`, then add `--like trial`."
        )?,
    }
    Ok(Exit::Unrefuted)
}

/// Groups the shards by their numbers of cases. There are at most two groups.
fn groups(cases: u64, shards: u64) -> Result<Vec<Group>> {
    let share = |index| Shard::new(index, shards).map(|shard| shard.share(cases)).map_err(anyhow::Error::msg);
    let more = cases % shards;
    let mut groups = Vec::new();
    if more > 0 {
        groups.push(Group { first: 0, last: more - 1, share: share(0)? });
    }
    groups.push(Group { first: more, last: shards - 1, share: share(shards - 1)? });
    Ok(groups)
}

/// Returns the number of cases that a shard runs in a second, if it is known.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn rate(args: &args::Plan) -> Result<Option<f64>> {
    if let Some(rate) = args.rate {
        if !rate.is_finite() || rate <= 0.0 {
            bail!("--rate {rate}: expected a number above zero");
        }
        return Ok(Some(rate));
    }
    let Some(folder) = &args.like else { return Ok(None) };
    let path = folder.join(RECORD);
    let record = read_record(&path).with_context(|| format!("--like: {}", path.display()))?;
    let time = record.elapsed.as_secs_f64();
    if record.tally.cases == 0 || time <= 0.0 {
        bail!("--like {}: the run there has no cases", folder.display());
    }
    Ok(Some(record.tally.cases as f64 / time))
}

/// Formats the time for so many cases: to the second from one second on.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn duration(cases: u64, rate: f64) -> String {
    let Ok(time) = Duration::try_from_secs_f64(cases as f64 / rate) else { return "-".to_owned() };
    let seconds = time.as_secs();
    match seconds {
        0..120 => elapsed(time),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", grouped(seconds / 3600), seconds % 3600 / 60),
    }
}
