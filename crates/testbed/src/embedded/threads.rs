//! The threads of a server: one that accepts, one per connection, and their orderly shutdown.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::switches::Stop;

/// Function that serves one connection until it ends.
type Serve = dyn Fn(Arc<TcpStream>) + Send + Sync;

/// Stack size of a thread, in bytes: more than the buffers of a connection need.
const STACK: usize = 256 * 1024;

/// The threads of a server. Dropping it stops and joins them all.
#[derive(Debug)]
pub(crate) struct Threads {
    address: SocketAddr,
    stop: Arc<Stop>,
    open: Arc<Open>,
    acceptor: Option<JoinHandle<()>>,
}

/// The connections that are being served.
#[derive(Debug, Default)]
struct Open(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    closed: bool,
    next: u64,
    serving: BTreeMap<u64, (Arc<TcpStream>, JoinHandle<()>)>,
    /// Threads that have finished, or are about to.
    done: Vec<JoinHandle<()>>,
}

impl Threads {
    pub(crate) fn start(
        listener: TcpListener,
        serve: impl Fn(Arc<TcpStream>) + Send + Sync + 'static,
        limit: usize,
        stop: Arc<Stop>,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let open = Arc::new(Open::default());
        let acceptor = {
            let (open, stop) = (open.clone(), stop.clone());
            let serve: Arc<Serve> = Arc::new(serve);
            thread::Builder::new()
                .stack_size(STACK)
                .spawn(move || accept(&listener, &open, &serve, limit, &stop))?
        };
        Ok(Self { address, stop, open, acceptor: Some(acceptor) })
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop.now();
        self.open.close();
        // This connection wakes the acceptor, which then sees the stop signal.
        drop(TcpStream::connect_timeout(&self.address, Duration::from_secs(1)));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        self.open.join();
    }
}

fn accept(listener: &TcpListener, open: &Arc<Open>, serve: &Arc<Serve>, limit: usize, stop: &Stop) {
    let moment = Duration::from_millis(1);
    loop {
        while open.count() >= limit && !stop.is_now() {
            stop.pause(moment);
        }
        let accepted = listener.accept();
        if stop.is_now() {
            return;
        }
        match accepted {
            Ok((stream, _)) => open.serve(stream, serve),
            // The process is out of descriptors, or the client has aborted the connection.
            Err(_) => stop.pause(moment),
        }
    }
}

impl Open {
    fn table(&self) -> std::sync::MutexGuard<'_, Table> {
        self.0.lock().expect("nobody panics while holding it")
    }

    /// Returns the number of open connections and joins finished threads.
    fn count(&self) -> usize {
        let mut table = self.table();
        let done = std::mem::take(&mut table.done);
        let count = table.serving.len();
        drop(table);
        for thread in done {
            let _ = thread.join();
        }
        count
    }

    fn serve(self: &Arc<Self>, stream: TcpStream, serve: &Arc<Serve>) {
        let stream = Arc::new(stream);
        let mut table = self.table();
        if table.closed {
            return;
        }
        let id = table.next;
        table.next += 1;
        let thread = {
            let (stream, serve, open) = (stream.clone(), serve.clone(), self.clone());
            thread::Builder::new().stack_size(STACK).spawn(move || {
                serve(stream);
                open.forget(id);
            })
        };
        // If no thread can be spawned, the client sees its connection closed.
        if let Ok(thread) = thread {
            table.serving.insert(id, (stream, thread));
        }
    }

    /// Records that a thread has finished. This closes its connection unless it is closed already.
    fn forget(&self, id: u64) {
        let mut table = self.table();
        if let Some((_, thread)) = table.serving.remove(&id) {
            table.done.push(thread);
        }
    }

    /// Shuts down all connections and refuses new ones.
    fn close(&self) {
        let mut table = self.table();
        table.closed = true;
        for (stream, _) in table.serving.values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn join(&self) {
        let mut table = self.table();
        let mut threads = std::mem::take(&mut table.done);
        threads.extend(std::mem::take(&mut table.serving).into_values().map(|(_, thread)| thread));
        drop(table);
        for thread in threads {
            let _ = thread.join();
        }
    }
}
