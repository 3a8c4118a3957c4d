//! Connections of a simulation, with the server's names and the tester's numbers.

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
    /// Opens a connection of the tester.
    pub(super) fn open(&mut self) -> WireConn {
        let conn = Conn::client(self.wires.len() as u32);
        self.known.insert(conn, Known::default());
        self.bind(conn)
    }

    /// Opens a connection of the server. The tester observes it when it carries a message.
    pub(super) fn connect(&mut self, conn: Conn) {
        self.known.insert(conn, Known::default());
    }

    /// Closes a connection on the server's side.
    pub(super) fn close(&mut self, conn: Conn) {
        self.known.entry(conn).or_default().closed = true;
    }

    /// Closes a connection on the tester's side.
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

    /// Returns the server's name of a connection.
    pub(super) fn conn(&self, wire: WireConn) -> Option<Conn> {
        self.wires.get(wire.0 as usize).map(|wire| wire.conn)
    }

    /// Returns the tester's number of a connection, if the tester has observed it.
    pub(super) fn wire(&self, conn: Conn) -> Option<WireConn> {
        self.known.get(&conn).and_then(|known| known.wire)
    }

    /// Assigns the tester's next number to a connection.
    pub(super) fn bind(&mut self, conn: Conn) -> WireConn {
        let wire = WireConn(self.wires.len() as u32);
        self.wires.push(Wire { conn, hung_up: false });
        self.known.entry(conn).or_default().wire = Some(wire);
        wire
    }
}
