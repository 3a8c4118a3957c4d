//! The errors of a session.

use std::fmt::Display;

use confute_drive::Trouble;

/// Error of a session that could not be run, or whose results could not be stored. The text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// An argument of the user makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A file could not be read, or does not have the expected contents.
    #[error("{0}")]
    Input(String),
    /// A file could not be written.
    #[error("{0}")]
    Output(String),
    /// The model has a mistake, so nothing was found out about the server.
    #[error("{0}")]
    Mistake(String),
    /// Trouble with the server, or with this machine, ended the session.
    #[error(transparent)]
    Trouble(#[from] Trouble),
}

/// Adds the operation that failed to an error, as `{what}: {why}`.
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
