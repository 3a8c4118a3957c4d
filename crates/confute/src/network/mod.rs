//! Models of the network between server and tester (the paper's Fig 5).
//!
//! Fig 5 is a machine that absorbs packets and emits them again. What distinguishes one such machine from another is
//! which packets may overtake which, which may be lost, and which may come twice; so that is what a [`Network`] says,
//! and the engine keeps the packets. Saying it rather than running it lets the search be lazy: a packet is emitted only
//! when an observation needs it.
//!
//! A network does not route: who talks to whom is the model's affair.

use crate::lang::Conn;

/// Which way a packet travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the tester to the server.
    ToServer,
    /// From the server to the tester.
    ToTester,
}

/// How packets of one connection and direction are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Packets in the lane of this number keep their order, whatever their connection.
    Ordered(u64),
    /// Each packet travels by itself.
    Unordered,
}

/// A model of the network. Users can write their own.
pub trait Network {
    /// Its name, for traces.
    fn name(&self) -> &'static str;

    /// In which lane the packets of a connection travel. The lanes of the two directions are never the same lane, even
    /// if their numbers are.
    fn lane(&self, conn: Conn, direction: Direction) -> Lane;

    /// Whether a packet may be lost.
    fn loses(&self, direction: Direction) -> bool {
        let _ = direction;
        false
    }

    /// How many copies of a packet may arrive (at least 1).
    fn copies(&self, direction: Direction) -> u8 {
        let _ = direction;
        1
    }

    /// Whether there is no network at all: a message is handled at the moment of sending, seen at the moment of its
    /// being sent, and the tester sends only while the server waits for a message.
    fn is_direct(&self) -> bool {
        false
    }

    /// Whether a connection may break at any time, by nobody's fault.
    fn breaks(&self) -> bool {
        false
    }

    /// Whether every packet arrives exactly once and in the order of its connection.
    fn is_reliable(&self) -> bool {
        [Direction::ToServer, Direction::ToTester].into_iter().all(|direction| {
            !self.loses(direction)
                && self.copies(direction) == 1
                && matches!(self.lane(Conn::client(0), direction), Lane::Ordered(_))
        })
    }
}

/// No network: tester and server in lock-step (§4.2 of the paper).
#[derive(Clone, Copy, Debug, Default)]
pub struct Direct;

impl Network for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }
    fn lane(&self, _: Conn, _: Direction) -> Lane {
        Lane::Ordered(0)
    }
    fn is_direct(&self) -> bool {
        true
    }
}

/// Concurrent TCP connections (Fig 5): order is kept within a connection and direction, nothing else is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp {
    /// Whether connections may break at any time.
    pub breaks: bool,
}

impl Network for Tcp {
    fn name(&self) -> &'static str {
        "tcp"
    }
    fn lane(&self, conn: Conn, _: Direction) -> Lane {
        Lane::Ordered(conn.0)
    }
    fn breaks(&self) -> bool {
        self.breaks
    }
}

/// Datagrams: each property can be switched off.
#[derive(Clone, Copy, Debug)]
pub struct Udp {
    /// Packets may vanish.
    pub loss: bool,
    /// Packets may arrive twice.
    pub duplication: bool,
    /// Packets may overtake each other.
    pub reordering: bool,
}

impl Default for Udp {
    fn default() -> Self {
        Self { loss: true, duplication: true, reordering: true }
    }
}

impl Network for Udp {
    fn name(&self) -> &'static str {
        "udp"
    }
    fn lane(&self, conn: Conn, _: Direction) -> Lane {
        if self.reordering { Lane::Unordered } else { Lane::Ordered(conn.0) }
    }
    fn loses(&self, _: Direction) -> bool {
        self.loss
    }
    fn copies(&self, _: Direction) -> u8 {
        if self.duplication { 2 } else { 1 }
    }
}
