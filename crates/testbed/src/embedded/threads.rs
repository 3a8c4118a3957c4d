//! The threads of a server: one that accepts, one per connection, and the order in which they end.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::switches::Stop;

/// Serves one connection to its end.
type Serve = dyn Fn(Arc<TcpStream>) + Send + Sync;

/// More than enough for the buffers of a connection.
const STACK: usize = 256 * 1024;

/// Ends all threads when dropped, and waits for them.
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
    /// Threads that are done, or almost.
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
        // Whoever waits for a connection gets one, and sees that it is over.
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
            // Out of descriptors, or a client that has changed its mind.
            Err(_) => stop.pause(moment),
        }
    }
}

impl Open {
    fn table(&self) -> std::sync::MutexGuard<'_, Table> {
        self.0.lock().expect("nobody panics while holding it")
    }

    /// How many there are. Threads that are done are seen off.
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
        // Without a thread, the client sees its connection closed.
        if let Ok(thread) = thread {
            table.serving.insert(id, (stream, thread));
        }
    }

    /// A thread says that it is done. Its connection closes here, if not before.
    fn forget(&self, id: u64) {
        let mut table = self.table();
        if let Some((_, thread)) = table.serving.remove(&id) {
            table.done.push(thread);
        }
    }

    /// Ends all connections, and those to come.
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
