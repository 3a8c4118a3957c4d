//! Models of the network between server and tester (the paper's Fig 5).
//!
//! Fig 5 is a machine that absorbs packets and emits them again. Such machines differ in the packets that may
//! overtake each other, be lost, or be duplicated. A [`Network`] declares these properties, and the engine
//! stores the packets. Declaring them instead of running a machine lets the search be lazy: a packet is
//! delivered only when an observation requires it.
//!
//! A network does not route: the model decides which peers communicate.

use crate::lang::Conn;

/// Direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the tester to the server.
    ToServer,
    /// From the server to the tester.
    ToTester,
}

/// Order of the packets of one connection and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Packets in the lane with this number keep their order, even across connections.
    Ordered(u64),
    /// Each packet travels independently.
    Unordered,
}

/// A model of the network. Users can implement their own.
pub trait Network {
    /// Returns the name of the network, for traces.
    fn name(&self) -> &'static str;

    /// Returns the lane of the packets of a connection. Lanes of different directions are different, even if
    /// their numbers are equal.
    fn lane(&self, conn: Conn, direction: Direction) -> Lane;

    /// Returns `true` if a packet may be lost.
    fn loses(&self, direction: Direction) -> bool {
        let _ = direction;
        false
    }

    /// Returns the number of copies of a packet that may arrive (at least 1).
    fn copies(&self, direction: Direction) -> u8 {
        let _ = direction;
        1
    }

    /// Returns `true` if there is no network: the server handles a message at the moment it is sent, the
    /// tester observes one at the moment it is sent, and the tester sends only while the server waits for a
    /// message.
    fn is_direct(&self) -> bool {
        false
    }

    /// Returns `true` if a connection may break at any time without a fault of the server or the tester.
    fn breaks(&self) -> bool {
        false
    }

    /// Returns `true` if every packet arrives exactly once and in the order of its connection.
    fn is_reliable(&self) -> bool {
        [Direction::ToServer, Direction::ToTester].into_iter().all(|direction| {
            !self.loses(direction)
                && self.copies(direction) == 1
                && matches!(self.lane(Conn::client(0), direction), Lane::Ordered(_))
        })
    }
}

/// Returns every named network, the simplest first.
pub fn networks() -> &'static [&'static (dyn Network + Sync)] {
    const UDP: Udp = Udp { loss: true, duplication: true, reordering: true };
    &[&Direct, &Tcp { breaks: false }, &UDP]
}

/// Returns the network with this name.
pub fn network(name: &str) -> Option<&'static dyn Network> {
    networks().iter().find(|network| network.name() == name).map(|network| *network as &dyn Network)
}

/// No network: tester and server run in lock-step (§4.2 of the paper).
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

/// Concurrent TCP connections (Fig 5): packets keep their order within a connection and direction, and only
/// there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp {
    /// `true` if connections may break at any time.
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

/// Datagrams; each of the three faults can be switched off.
#[derive(Clone, Copy, Debug)]
pub struct Udp {
    /// `true` if packets may be lost.
    pub loss: bool,
    /// `true` if packets may arrive twice.
    pub duplication: bool,
    /// `true` if packets may overtake each other.
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
