//! Who is connected: the server's names of connections, and the tester's.

use rustc_hash::FxHashMap;

use crate::lang::Conn;
use crate::trace::WireConn;

/// A connection as the tester knows it.
struct Wire {
    conn: Conn,
    hung_up: bool,
}

/// A connection as the server knows it.
#[derive(Default)]
struct Known {
    wire: Option<WireConn>,
    closed: bool,
}

/// All connections of a simulation.
#[derive(Default)]
pub(super) struct Peers {
    wires: Vec<Wire>,
    known: FxHashMap<Conn, Known>,
}

impl Peers {
    /// The tester opens a connection.
    pub(super) fn open(&mut self) -> WireConn {
        let conn = Conn::client(self.wires.len() as u32);
        self.known.insert(conn, Known::default());
        self.bind(conn)
    }

    /// The server opens one. The tester will see it when it carries something.
    pub(super) fn connect(&mut self, conn: Conn) {
        self.known.insert(conn, Known::default());
    }

    /// The server closes one.
    pub(super) fn close(&mut self, conn: Conn) {
        self.known.entry(conn).or_default().closed = true;
    }

    /// The tester closes one.
    pub(super) fn hang_up(&mut self, wire: WireConn) {
        if let Some(wire) = self.wires.get_mut(wire.0 as usize) {
            wire.hung_up = true;
        }
    }

    pub(super) fn is_known(&self, conn: Conn) -> bool {
        self.known.contains_key(&conn)
    }

    pub(super) fn is_closed(&self, conn: Conn) -> bool {
        self.known.get(&conn).is_some_and(|known| known.closed)
    }

    pub(super) fn is_hung_up(&self, wire: WireConn) -> bool {
        self.wires.get(wire.0 as usize).is_none_or(|wire| wire.hung_up)
    }

    /// The server's name of a connection.
    pub(super) fn conn(&self, wire: WireConn) -> Option<Conn> {
        self.wires.get(wire.0 as usize).map(|wire| wire.conn)
    }

    /// The tester's name of a connection, if it has seen it.
    pub(super) fn wire(&self, conn: Conn) -> Option<WireConn> {
        self.known.get(&conn).and_then(|known| known.wire)
    }

    /// Gives a connection the tester's next number.
    pub(super) fn bind(&mut self, conn: Conn) -> WireConn {
        let wire = WireConn(self.wires.len() as u32);
        self.wires.push(Wire { conn, hung_up: false });
        self.known.entry(conn).or_default().wire = Some(wire);
        wire
    }
}
