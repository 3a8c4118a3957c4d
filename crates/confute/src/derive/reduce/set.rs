//! The names of the reductions, and sets of them.

use std::fmt;

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident = $text:literal),+ $(,)?) => {
        /// Something that the search leaves out without changing a verdict.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Reduction { $($(#[$doc])* $name),+ }

        impl Reduction {
            /// All reductions.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Returns the name of the reduction, as the search log prints it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }
        }
    };
}

reductions! {
    /// Cells that no message connects are searched separately.
    Parts = "parts",
    /// Online, responses that are still due are awaited before orders are guessed.
    Waiting = "waiting",
    /// Deliveries that cannot contribute to an observation are not tried for it.
    Relevance = "relevance",
    /// The more promising moves are tried first, and those that are sure to fail not at all.
    Ranking = "ranking",
    /// A turn that only reads is placed when its response is observed.
    LateReads = "late-reads",
    /// A delivery whose response differs from the one observed later is dropped at once.
    Foresight = "foresight",
    /// A read whose response is known is taken at the first content that gives it.
    KnownReads = "known-reads",
    /// A delivery that can give its response at no content within reach is not waited for.
    Outlook = "outlook",
    /// A content from which a later read cannot find what it observed is given up.
    LostContents = "lost-contents",
    /// A content with secrets from which some observed response can no longer come is given up.
    Scenes = "scenes",
    /// A text that is no beginning of what is read next is given up.
    GrowingTexts = "growing-texts",
    /// Contents that nothing will see are not told apart.
    DeadContents = "dead-contents",
    /// Writes that are overwritten before anything reads them are not ordered.
    UnseenWrites = "unseen-writes",
    /// A hypothesis that was met before is not tried again.
    Remembering = "remembering",
    /// The past is replaced by the hypotheses that it has led to.
    Settling = "settling",
    /// The past is replaced early where many alternatives are open.
    EarlySettling = "early-settling",
    /// Offline, a part whose turns are functions of its only cell is searched without hypotheses.
    Tables = "tables",
    /// By tables, an order of requests that contradicts the responses about two values alone is given up.
    Projections = "projections",
    /// On a network that loses messages, a response is bound to its observation when it is sent.
    Anticipation = "anticipation",
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of reductions.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reductions(u32);

impl Reductions {
    /// Every reduction.
    pub const ALL: Self = Self((1 << Reduction::ALL.len()) - 1);
    /// No reduction: the search of the paper.
    pub const NONE: Self = Self(0);

    /// Returns the set with this reduction.
    #[must_use]
    pub const fn with(self, reduction: Reduction) -> Self {
        Self(self.0 | 1 << reduction as u32)
    }

    /// Returns the set without this reduction.
    #[must_use]
    pub const fn without(self, reduction: Reduction) -> Self {
        Self(self.0 & !(1 << reduction as u32))
    }

    /// Returns `true` if the set contains this reduction.
    pub const fn has(self, reduction: Reduction) -> bool {
        self.0 >> reduction as u32 & 1 == 1
    }

    /// Returns the reductions in the set.
    pub fn iter(self) -> impl Iterator<Item = Reduction> {
        Reduction::ALL.iter().copied().filter(move |reduction| self.has(*reduction))
    }
}

impl Default for Reductions {
    fn default() -> Self {
        Self::ALL
    }
}

impl fmt::Display for Reductions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ALL => return f.write_str("all"),
            Self::NONE => return f.write_str("none"),
            _ => {}
        }
        let few = self.0.count_ones() as usize * 2 <= Reduction::ALL.len();
        let listed: Vec<&str> = Reduction::ALL
            .iter()
            .filter(|reduction| self.has(**reduction) == few)
            .map(|reduction| reduction.name())
            .collect();
        write!(f, "{}{}", if few { "" } else { "all but " }, listed.join(", "))
    }
}

impl fmt::Debug for Reductions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromIterator<Reduction> for Reductions {
    fn from_iter<I: IntoIterator<Item = Reduction>>(all: I) -> Self {
        all.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let two: Reductions = [Reduction::Parts, Reduction::Scenes].into_iter().collect();
        assert!(two.has(Reduction::Parts) && !two.has(Reduction::Waiting));
        assert_eq!(two.to_string(), "parts, scenes");
        assert_eq!(Reductions::ALL.without(Reduction::Scenes).to_string(), "all but scenes");
        assert_eq!(two.without(Reduction::Parts).without(Reduction::Scenes), Reductions::NONE);
        assert_eq!(Reductions::ALL.iter().count(), Reduction::ALL.len());
    }
}
