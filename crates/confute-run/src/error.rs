//! The errors of a session.

use std::fmt::Display;

use confute_drive::Trouble;

/// Why a session could not be run, or something of it not be stored. The text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Something that the user said makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A file could not be read as what it should be.
    #[error("{0}")]
    Input(String),
    /// A file could not be written.
    #[error("{0}")]
    Output(String),
    /// The model is wrong, so nothing was found out about the server.
    #[error("{0}")]
    Mistake(String),
    /// The server, or this machine, kept it from going on.
    #[error(transparent)]
    Trouble(#[from] Trouble),
}

/// Adds what was being done to an error, as `{what}: {why}`.
pub(crate) trait While<T> {
    fn reading(self, what: impl Display) -> Result<T, RunError>;
    fn writing(self, what: impl Display) -> Result<T, RunError>;
}

impl<T, E: Display> While<T> for Result<T, E> {
    fn reading(self, what: impl Display) -> Result<T, RunError> {
        self.map_err(|why| RunError::Input(format!("{what}: {why}")))
    }
    fn writing(self, what: impl Display) -> Result<T, RunError> {
        self.map_err(|why| RunError::Output(format!("{what}: {why}")))
    }
}
