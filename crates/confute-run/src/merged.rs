//! The results of a merged record for the next runs: the folder of stored violations, and the baseline.
//!
//! Shards only read both, because they would write over each other. The merge writes them, from the records alone: no server
//! and no protocol is needed.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use confute_record::merge::conclude;
use confute_record::put::put;
use confute_record::{RunRecord, Standing, Violation};

use crate::RunError;
use crate::baseline::Baseline;
use crate::error::While as _;
use crate::record::{CASE, FOUND};
use crate::regressions::{ENDING, file_name};
use crate::stored::File;

/// Stores what the next run needs of a merged record: the violations that refute and are not known, in the folder of
/// regressions, and with `update` the new baseline. Concludes again, because known violations do not refute.
pub fn keep(
    record: &mut RunRecord,
    regressions: Option<&Path>,
    baseline: Option<&Path>,
    update: bool,
) -> Result<(), RunError> {
    let known = baseline.map(|path| Baseline::read(path, &record.model, update)).transpose()?;
    let mut compared = known.as_ref().map(|known| known.compared_record(record));
    if let Some(known) = &known {
        expect(record, known);
    }
    if let Some(folder) = regressions {
        record.notes.stored = store_regressions(record, folder)?;
    }
    if let (true, Some(known), Some(path), Some(compared)) = (update, &known, baseline, &mut compared) {
        let updated = known.updated_by_record(record, compared);
        updated.write(path)?;
        compared.written = Some(path.to_owned());
        expect(record, &updated);
    }
    record.notes.baseline = compared;
    conclude(record);
    Ok(())
}

/// Marks the violations that a baseline knows.
fn expect(record: &mut RunRecord, known: &Baseline) {
    for violation in &mut record.violations {
        let is_open = matches!(violation.standing, Standing::Refutes | Standing::Undecided);
        if is_open && known.knows_record(violation) {
            violation.standing = Standing::Known;
        }
    }
}

/// Stores the violations that refute in a folder, one file per rule: of two cases the one with fewer requests is kept. Returns
/// the files that were written.
fn store_regressions(record: &RunRecord, folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    let mut written = Vec::new();
    for violation in record.standing(Standing::Refutes) {
        let Some(text) = case_of(violation) else { continue };
        let file = File::parse(format!("violation {}", violation.number), text.to_owned())?;
        let path = folder.join(format!("{}.{ENDING}", file_name(&file.about)));
        if path.exists() && File::open(&path)?.requests() <= file.requests() {
            continue;
        }
        fs::create_dir_all(folder)
            .and_then(|()| put(&path, |out| out.write_all(text.as_bytes())))
            .writing(format!("cannot write {}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

/// Returns the text of the smallest stored case. A run that was killed before it shrank the case has only the one in which
/// the violation was found.
fn case_of(violation: &Violation) -> Option<&str> {
    let named = |name: &str| violation.files.iter().find(|file| file.name == name);
    named(CASE).or_else(|| named(FOUND)).map(|file| &*file.content)
}
