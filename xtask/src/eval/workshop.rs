//! Programs built from changed sources, each only once.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::mutant::{Mutant, Texts};
use super::source::Source;

/// Directory in which programs are built and kept.
pub(crate) struct Workshop {
    source: Source,
    home: PathBuf,
    /// Texts of the files that the baseline changes, after its changes.
    baseline: Texts,
}

impl Workshop {
    /// Opens the workshop with the changes that make the baseline.
    pub(crate) fn open(home: &Path, baseline: &[Mutant]) -> Result<Self> {
        let source = Source::provide(home)?;
        fs::create_dir_all(home.join("bin"))?;
        let mut workshop = Self { source, home: home.to_owned(), baseline: Texts::new() };
        let mut texts = Texts::new();
        for change in baseline {
            workshop.change(change, &mut texts)?;
        }
        workshop.baseline = texts;
        Ok(workshop)
    }

    /// Returns Debian's version of the sources.
    pub(crate) fn version(&self) -> &str {
        &self.source.version
    }

    /// Returns the path of the baseline or of a mutant, and `true` if it had to be built.
    pub(crate) fn program(&self, mutant: Option<&Mutant>) -> Result<(PathBuf, bool)> {
        let mut texts = self.baseline.clone();
        if let Some(mutant) = mutant {
            self.change(mutant, &mut texts)?;
        }
        let id = mutant.map_or("baseline", |mutant| &mutant.id);
        let path =
            self.home.join("bin").join(format!("{id}-{:012x}", fingerprint(&texts) & 0xffff_ffff_ffff));
        if path.exists() {
            return Ok((path, false));
        }
        self.lay_out(&texts)?;
        self.source.build(&path).with_context(|| format!("{id} does not build"))?;
        Ok((path, true))
    }

    /// Applies a change to the texts so far.
    fn change(&self, mutant: &Mutant, texts: &mut Texts) -> Result<()> {
        for file in mutant.files() {
            if !texts.contains_key(file) {
                texts.insert(file.to_owned(), self.pristine(file)?);
            }
        }
        mutant.apply(texts)
    }

    /// Returns a file as Debian ships it. The original is copied aside before it is changed.
    fn pristine(&self, file: &Path) -> Result<String> {
        let (kept, there) = (self.home.join("pristine").join(file), self.source.tree.join(file));
        if !kept.exists() {
            fs::create_dir_all(kept.parent().unwrap_or(&kept))?;
            fs::copy(&there, &kept).with_context(|| format!("there is no {}", file.display()))?;
        }
        Ok(fs::read_to_string(&kept)?)
    }

    /// Writes these texts into the tree; all other files are as Debian ships them. Unchanged files are not written,
    /// so that they are not recompiled.
    fn lay_out(&self, texts: &Texts) -> Result<()> {
        let pristine = self.home.join("pristine");
        let mut folders = vec![pristine.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let file = path.strip_prefix(&pristine)?;
                let there = self.source.tree.join(file);
                let wanted =
                    texts.get(file).map_or_else(|| fs::read_to_string(&path), |text| Ok(text.clone()))?;
                if fs::read_to_string(&there)? != wanted {
                    fs::write(&there, wanted)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns a hash of some texts.
pub(crate) fn fingerprint(texts: &Texts) -> u64 {
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    hasher.finish()
}
