//! Checker of the three conventions of a turn (see [`crate::lang`]) while it runs.
//!
//! It is slightly stricter than one run needs, on purpose: checking for a deviation counts as a choice even
//! while the rule is in force, so that a model which passes here still passes once rules are relaxed.

use crate::lang::{Access, Conn, Mistake, Scope};

/// Number of effects far above that of any sensible turn.
const TOO_MANY: usize = 100_000;

/// State of a turn as far as the conventions are concerned.
pub(super) struct Habits {
    internal: bool,
    effects: usize,
    looked: bool,
    whole: bool,
    /// Connection of the last received message.
    peer: Option<Conn>,
    announced: Option<u32>,
    sent: u32,
    /// Cells in the order of opening: the footprint.
    opened: Vec<(u32, Access)>,
}

impl Habits {
    /// Returns the state at the start of a turn with a message, or of an internal one.
    pub(super) fn new(internal: bool) -> Self {
        Self {
            internal,
            effects: 0,
            looked: false,
            whole: false,
            peer: None,
            announced: None,
            sent: 0,
            opened: Vec::new(),
        }
    }

    /// Counts an effect; every effect calls this.
    pub(super) fn effect(&mut self) -> Result<(), Mistake> {
        self.effects += 1;
        if self.effects > TOO_MANY { Err(Mistake::Endless { effects: TOO_MANY }) } else { Ok(()) }
    }

    pub(super) fn look(&mut self) -> Result<(), Mistake> {
        if self.has_not_received() {
            return Err(Mistake::NotReceived { what: "makes a choice".to_owned() });
        }
        self.looked = true;
        Ok(())
    }

    /// Returns `true` if the turn should have received a message first.
    fn has_not_received(&self) -> bool {
        self.peer.is_none() && !self.whole && !self.internal
    }

    pub(super) fn has_opened(&self) -> bool {
        !self.opened.is_empty()
    }

    pub(super) fn receive(&mut self, from_one: bool) -> Result<(), Mistake> {
        if self.peer.is_some() && self.looked && !self.whole {
            return Err(Mistake::SecondReceive);
        }
        if from_one || self.peer.is_some() || self.has_opened() { self.widen("recv") } else { Ok(()) }
    }

    pub(super) fn received(&mut self, conn: Conn) {
        self.peer = Some(conn);
    }

    pub(super) fn scope(&mut self, scope: Scope) -> Result<(), Mistake> {
        match scope {
            Scope::Whole => self.widen("whole"),
            Scope::Replies(_) if self.looked => Err(Mistake::WidenedLate { what: "replies" }),
            Scope::Replies(count) => {
                self.announced = Some(count);
                Ok(())
            }
        }
    }

    /// Records an operation that only a whole turn may perform.
    pub(super) fn widen(&mut self, what: &'static str) -> Result<(), Mistake> {
        if self.looked && !self.whole {
            return Err(Mistake::WidenedLate { what });
        }
        self.whole = true;
        Ok(())
    }

    pub(super) fn send(&mut self, to: Conn) -> Result<(), Mistake> {
        if self.peer == Some(to) {
            self.sent += 1;
            return Ok(());
        }
        self.widen("send").map_err(|_| Mistake::ForeignSend { conn: to.to_string() })
    }

    pub(super) fn close(&mut self, conn: Conn) -> Result<(), Mistake> {
        if self.peer == Some(conn) && !self.looked { Ok(()) } else { self.widen("close") }
    }

    pub(super) fn open(
        &mut self,
        cell: u32,
        access: Access,
        describe: impl FnOnce() -> String,
    ) -> Result<(), Mistake> {
        if self.has_not_received() {
            return Err(Mistake::NotReceived { what: format!("opens `{}`", describe()) });
        }
        let late = self.looked && !self.whole;
        match self.opened.iter_mut().find(|(opened, _)| *opened == cell) {
            Some((_, before)) if *before >= access => {}
            Some(_) if late => return Err(Mistake::WriteToView { cell: describe() }),
            Some((_, before)) => *before = access,
            None if late && !self.internal => {
                let access = if access == Access::Read { "to read" } else { "to write" };
                return Err(Mistake::OpenedLate { cell: describe(), access });
            }
            None => self.opened.push((cell, access)),
        }
        Ok(())
    }

    pub(super) fn write(&self, cell: u32, describe: impl FnOnce() -> String) -> Result<(), Mistake> {
        if self.whole || self.opened.iter().any(|(open, access)| *open == cell && *access > Access::Read) {
            return Ok(());
        }
        Err(Mistake::WriteToView { cell: describe() })
    }

    /// Checks the end of the turn. A turn without reads and choices has shown all its messages, and need not
    /// have announced their number.
    pub(super) fn end(&self) -> Result<(), Mistake> {
        if self.peer.is_none() && !self.internal {
            return Err(Mistake::NotReceived { what: "ends".to_owned() });
        }
        let announced = self.announced.unwrap_or(if self.looked { 1 } else { self.sent });
        if self.whole || self.internal || self.sent == announced {
            return Ok(());
        }
        Err(Mistake::Replies { sent: self.sent, announced })
    }

    /// Returns the cells the turn touched; `None` if it may have touched any.
    pub(super) fn footprint(&self) -> Option<Vec<u32>> {
        if self.whole { None } else { Some(self.opened.iter().map(|(cell, _)| *cell).collect()) }
    }
}
