//! Programs built from changed sources, each once.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::mutant::{Mutant, Texts};
use super::source::Source;

/// Where programs are built and kept.
pub(crate) struct Workshop {
    source: Source,
    home: PathBuf,
    /// The files that the baseline changes, as they are then.
    baseline: Texts,
}

impl Workshop {
    /// Takes sources and what makes a baseline of them.
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

    /// Debian's version of the sources.
    pub(crate) fn version(&self) -> &str {
        &self.source.version
    }

    /// The baseline, or a mutant of it: where the program is, and whether it had to be built.
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

    /// Applies a change to what there is so far.
    fn change(&self, mutant: &Mutant, texts: &mut Texts) -> Result<()> {
        for file in mutant.files() {
            if !texts.contains_key(file) {
                texts.insert(file.to_owned(), self.pristine(file)?);
            }
        }
        mutant.apply(texts)
    }

    /// A file as Debian has it. What is changed is kept aside first.
    fn pristine(&self, file: &Path) -> Result<String> {
        let (kept, there) = (self.home.join("pristine").join(file), self.source.tree.join(file));
        if !kept.exists() {
            fs::create_dir_all(kept.parent().unwrap_or(&kept))?;
            fs::copy(&there, &kept).with_context(|| format!("there is no {}", file.display()))?;
        }
        Ok(fs::read_to_string(&kept)?)
    }

    /// Makes the tree what these say; everything else in it is as Debian has it. What does not change is not touched, so that
    /// it need not be compiled.
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

/// A number for some texts.
pub(crate) fn fingerprint(texts: &Texts) -> u64 {
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    hasher.finish()
}
