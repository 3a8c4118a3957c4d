//! Tests of the account: what it charges to whom, and its bounds.

use super::*;

struct Cells;

impl Display for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("values[\"x\"]")
    }
}

fn taken(event: u64) -> Note<'static> {
    Note::Taken { event, action: &"deliver it", depth: 1, open: 2 }
}

#[test]
fn work_is_charged_to_the_innermost() {
    let ticks = std::cell::Cell::new(0);
    let clock = || {
        ticks.set(ticks.get() + 1);
        Duration::from_millis(ticks.get())
    };
    let account = SearchAccount::new(10, Some(&clock));
    account.note(0, Note::Part { number: 3, cells: &Cells, entries: 7 });
    account.note(2, taken(4));
    account.note(2, Note::Enter(Reduction::Outlook));
    account.note(5, Note::Enter(Reduction::KnownReads));
    account.note(15, Note::Leave);
    account.note(15, Note::LeftOut(Reduction::Outlook));
    account.note(16, Note::Leave);
    account.note(20, Note::Outcome { event: 9, outcome: "explained" });
    assert_eq!(
        account.to_string(),
        "\
by reduction           left out       turns        time
  known-reads                 0          10      1.0 ms
  outlook                     1           4      3.0 ms
  plain search                            6      3.0 ms

by part                taken up       turns        time
  part 3                      1          20      7.0 ms  explained up to event 9: values[\"x\"]

steps (4 lines)
part 3: 7 entries to explain; values[\"x\"]
  event 5, turn 2: deliver it (1 conjectured); 2 open
    left out: outlook
  event 9, turn 20: explained
"
    );
}

#[test]
fn the_size_is_bounded() {
    let account = SearchAccount::new(10, None);
    for number in 0..20_000 {
        account.note(number as u64, Note::Part { number, cells: &"long ".repeat(100), entries: 1 });
    }
    let text = account.to_string();
    assert!(
        text.contains("steps (20000 lines)\n") && text.contains("[19990 lines are left out here"),
        "{text}"
    );
    assert!(text.contains("  9980 more"), "{text}");
    assert!(text.lines().count() < 50, "{text}");
    let longest =
        text.lines().skip_while(|line| !line.starts_with("steps")).map(|line| line.chars().count()).max();
    assert!(longest <= Some(161), "{longest:?}");
}
