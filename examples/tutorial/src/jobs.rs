//! A service of job queues, whose TAKE waits until there is a job.

use confute_test::prelude::*;

/// The messages of the service. Each is a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
pub enum Line {
    /// Adds a job to a queue.
    #[request("PUT {} {}")]
    Put(Name, String),
    /// Removes the oldest job of a queue and returns it. `waits`: this may be once others have put one, or never.
    #[request("TAKE {}", waits)]
    Take(Name),
    /// Returns the number of jobs in a queue.
    #[request("COUNT {}", reads)]
    Count(Name),
    /// The job was added.
    #[response("DONE")]
    Done,
    /// The job that was removed.
    #[response("JOB {}")]
    Job(String),
    /// The number of jobs.
    #[response("LEFT {}")]
    Left(usize),
    /// Bytes that are no response.
    #[unreadable]
    Odd(String),
}

/// A job is given once.
pub const ONCE: Rule = Rule::must("jobs/once", "A job is given to one TAKE only.");
/// Takers are woken.
pub const WAKES: Rule = Rule {
    name: "jobs/wakes",
    level: Level::Live,
    summary: "No TAKE waits while there is a job in its queue.",
};

/// The jobs of each queue, the oldest first.
const QUEUES: Table<Name, Vec<String>> = Table::new("queues");

/// The model of a correct server.
pub struct Jobs;

impl ServerModel for Jobs {
    type Msg = Line;
    type Out = Expected<Line>;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            Line::Put(queue, job) => {
                let cell = QUEUES.edit(io, queue)?;
                let mut jobs = cell.get(io)?.unwrap_or_default();
                jobs.push(job.clone());
                cell.set(io, jobs)?;
                io.send(conn, Line::Done)
            }
            Line::Take(queue) => {
                let cell = QUEUES.edit(io, queue)?;
                let mut jobs = cell.get(io)?.unwrap_or_default();
                if jobs.is_empty() || io.deviates(&WAKES)? {
                    return io.wait();
                }
                let job = jobs.remove(0);
                if !io.deviates(&ONCE)? {
                    cell.set(io, jobs)?;
                }
                io.send(conn, Line::Job(job))
            }
            Line::Count(queue) => {
                let jobs = QUEUES.get(io, queue)?.unwrap_or_default();
                io.send(conn, Line::Left(jobs.len()))
            }
            _ => io.replies(0),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[ONCE, WAKES]
    }
}
