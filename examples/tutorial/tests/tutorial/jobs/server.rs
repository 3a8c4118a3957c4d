//! A server of job queues over TCP: a thread for each connection, and two bugs to switch on.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A mistake of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A `TAKE` that has waited lets others in between reading the job and removing it.
    Twice,
    /// `PUT` wakes one client only, perhaps one that waits for another queue.
    LostWakeUp,
}

/// The time between reading and removing that belong together.
const GAP: Duration = Duration::from_micros(200);

struct Server {
    bug: Option<Bug>,
    queues: Mutex<HashMap<String, VecDeque<String>>>,
    /// All clients that wait, whatever their queue.
    news: Condvar,
}

/// Starts the server. It runs until the process ends. Returns its address.
pub(crate) fn start(bug: Option<Bug>) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let server = Arc::new(Server { bug, queues: Mutex::default(), news: Condvar::new() });
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = Arc::clone(&server);
            thread::spawn(move || server.attend(&stream));
        }
    });
    Ok(address)
}

impl Server {
    /// Answers the requests of a connection until it ends.
    fn attend(&self, mut stream: &TcpStream) -> io::Result<()> {
        for line in BufReader::new(stream).lines() {
            stream.write_all(format!("{}\n", self.answer(&line?)).as_bytes())?;
        }
        Ok(())
    }

    fn answer(&self, line: &str) -> String {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["PUT", queue, job] => {
                queues.entry(queue.to_owned()).or_default().push_back(job.to_owned());
                match self.bug {
                    Some(Bug::LostWakeUp) => self.news.notify_one(),
                    _ => self.news.notify_all(),
                }
                "DONE".to_owned()
            }
            ["TAKE", queue] => {
                let mut has_waited = false;
                loop {
                    let jobs = queues.entry(queue.to_owned()).or_default();
                    if self.bug == Some(Bug::Twice)
                        && has_waited
                        && let Some(job) = jobs.front().cloned()
                    {
                        drop(queues);
                        thread::sleep(GAP);
                        queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
                        queues.entry(queue.to_owned()).or_default().retain(|other| *other != job);
                        return format!("JOB {job}");
                    }
                    if let Some(job) = jobs.pop_front() {
                        return format!("JOB {job}");
                    }
                    queues = self.news.wait(queues).unwrap_or_else(PoisonError::into_inner);
                    has_waited = true;
                }
            }
            ["COUNT", queue] => format!("LEFT {}", queues.get(queue).map_or(0, VecDeque::len)),
            _ => "WHAT?".to_owned(),
        }
    }
}
