//! Growth: long histories whose values are written once each, right and wrong by one operation.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::families::{GROWTH, Kind, LONG};
use super::generate::Plan;
use super::{Args, Judged, Tool};
use crate::measure::{self, Limit};
use crate::table::{Table, mib, times};

/// Lengths in operations.
const LENGTHS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// CPU time that Confute may take for a history, in seconds.
const LIMIT: u64 = 60;

/// CPU time that a peer may take, in seconds.
const PEER_LIMIT: u64 = 5;

/// Returns the data type and the shape of the histories of a growth.
pub(super) fn find(name: &str, operations: usize, wrong: bool) -> Result<(Kind, Plan)> {
    let growth = GROWTH.iter().find(|(known, ..)| *known == name);
    let (_, kind, mix) = growth.with_context(|| format!("there is no growth {name}"))?;
    Ok((*kind, Plan { operations, wrong, mix: *mix, ..LONG }))
}

/// Measures all growths, and prints a table.
pub(super) fn run(args: &Args, troubles: &mut Vec<String>) -> Result<Vec<serde_json::Value>> {
    let wanted: Vec<_> = GROWTH.iter().filter(|(name, ..)| name.starts_with(&args.only)).collect();
    if args.longest == 0 || wanted.is_empty() {
        return Ok(Vec::new());
    }
    println!("\nGrowth: CPU time per operation, 16 clients, values written once each, history 0.");
    println!("x: the time per operation divided by that of the shortest history.\n");
    let headings =
        ["history", "tool", "verdict", "operations", "per operation", "x", "peak MiB", "bytes per operation"];
    let mut table = Table::new(3, headings);
    let mut figures = Vec::new();
    for (name, ..) in wanted {
        for wrong in [false, true] {
            let label = if wrong { format!("{name}, wrong") } else { (*name).to_owned() };
            let mut verdicts = Vec::new();
            for tool in [Tool::Confute, Tool::Porcupine, Tool::Stateright] {
                let rows = measure_tool(tool, name, wrong, args.longest)?;
                for (operations, judged) in &rows {
                    let said = judged.as_ref().and_then(|judged| judged.linearizable);
                    verdicts.push((tool, *operations, said));
                    row(&mut table, &label, tool, (*operations, judged.as_ref()), &rows);
                    figures.push(serde_json::json!({
                        "growth": label, "tool": tool, "operations": operations, "judged": judged,
                    }));
                }
            }
            check(&label, wrong, &verdicts, troubles);
        }
    }
    print!("{}", table.text());
    println!(
        "\nConfute gets {LIMIT} s for a history, a peer {PEER_LIMIT} s; after a history that it cannot judge, no longer ones."
    );
    Ok(figures)
}

/// Judges histories of growing length until one takes too long.
fn measure_tool(tool: Tool, name: &str, wrong: bool, longest: usize) -> Result<Vec<(usize, Option<Judged>)>> {
    let seconds = if tool == Tool::Confute { LIMIT } else { PEER_LIMIT };
    let limit = Limit { time: Duration::from_secs(seconds), memory: 8 << 30 };
    let mut rows = Vec::new();
    for operations in LENGTHS.into_iter().filter(|operations| *operations <= longest) {
        let arguments = |from: u64| -> Vec<OsString> {
            let mut arguments: Vec<OsString> = ["some", tool.argument(), name].map(OsString::from).into();
            arguments.extend([from.to_string(), "1".to_owned()].map(OsString::from));
            arguments.push(format!("--limit={}", seconds * 1000).into());
            arguments.push(format!("--operations={operations}").into());
            arguments.extend(wrong.then(|| OsString::from("--wrong")));
            arguments
        };
        let judged = measure::each_in_child::<Judged>(&arguments, 1, limit)?.pop().flatten();
        let done = judged.is_some();
        rows.push((operations, judged));
        if !done {
            break;
        }
    }
    Ok(rows)
}

#[expect(clippy::cast_precision_loss, reason = "lengths are small")]
fn row(
    table: &mut Table,
    label: &str,
    tool: Tool,
    (operations, judged): (usize, Option<&Judged>),
    rows: &[(usize, Option<Judged>)],
) {
    let each = |operations: usize, judged: &Judged| judged.cost.best / operations as f64;
    let first = rows.first().and_then(|(operations, judged)| Some(each(*operations, judged.as_ref()?)));
    let is_first = operations == LENGTHS[0];
    let name = if is_first && tool == Tool::Confute { label.to_owned() } else { String::new() };
    let tool = if is_first { tool.name().to_owned() } else { String::new() };
    let cells = match judged {
        None => [
            "none".to_owned(),
            operations.to_string(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
        ],
        Some(judged) => [
            match judged.linearizable {
                Some(true) => "linearizable",
                Some(false) => "not",
                None => "none",
            }
            .to_owned(),
            operations.to_string(),
            format!("{:.0} ns", each(operations, judged) * 1e9),
            first.map_or_else(String::new, |first| times(each(operations, judged) / first)),
            mib(judged.cost.peak),
            format!("{:.0}", judged.cost.peak as f64 / operations as f64),
        ],
    };
    let mut all = vec![name, tool];
    all.extend(cells);
    table.row(all);
}

/// Notes verdicts that contradict the generator, or each other, and those that Confute does not give.
fn check(label: &str, wrong: bool, verdicts: &[(Tool, usize, Option<bool>)], troubles: &mut Vec<String>) {
    for (tool, operations, said) in verdicts {
        let mut others =
            verdicts.iter().filter(|(_, same, _)| same == operations).filter_map(|(.., said)| *said);
        let expected = if wrong { others.next_back() } else { Some(true) };
        match (said, expected) {
            (None, _) if *tool == Tool::Confute => {
                troubles.push(format!("{label}, {operations} operations: no verdict of Confute"));
            }
            (Some(said), Some(expected)) if *said != expected => {
                troubles.push(format!("{label}, {operations} operations: {} says {said}", tool.name()));
            }
            _ => {}
        }
    }
}
