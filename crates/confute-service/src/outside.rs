//! Requests of a service outside of cases: what the server is and can do, and the canary.

use confute_drive::Trouble;

/// Function that sends a request on a connection of its own, and returns the responses.
pub type Caller<'a, M> = dyn Fn(&M) -> Result<Vec<M>, Trouble> + 'a;

/// The part of a service that happens outside of cases. Everything has a default.
pub trait Outside<M>: Send + Sync + 'static {
    /// Finds out before a run whether the server can be tested, and returns remarks about it.
    fn survey(&self, call: &Caller<'_, M>) -> Result<Vec<String>, Trouble> {
        let _ = call;
        Ok(Vec::new())
    }

    /// Returns rules that this server need not keep, because it lacks a feature that they concern. The survey reports why.
    fn waives(&self, call: &Caller<'_, M>) -> Vec<&'static str> {
        let _ = call;
        Vec::new()
    }

    /// Returns a request that writes something and one that reads it: if it is gone at the end of a run, the server has lost its
    /// data, as after a restart.
    fn canary(&self) -> Option<(M, M)> {
        None
    }

    /// Returns the bytes that begin every connection, and are answered by one message that nobody judges: a password, say. They
    /// appear in no report.
    fn greeting(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// Nothing happens outside of cases.
pub(crate) struct Nothing;

impl<M> Outside<M> for Nothing {}
