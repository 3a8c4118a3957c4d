//! The messages and connections of a turn.

use super::{Act, MOST_MESSAGES, Runner};
use crate::erased::{Letter, Message};
use crate::lang::{Conn, Incoming, Mistake, Scope, Stop, Turn};

impl Runner<'_> {
    pub(super) fn recv(
        &mut self,
        from: Option<Conn>,
        closes: bool,
    ) -> Result<(Conn, Incoming<Message>), Stop> {
        self.tick()?;
        if self.start.pickable.is_some() {
            return Err(Stop::Blocked);
        }
        if from.is_some() || self.ran.received > 0 || !self.ran.opened.is_empty() {
            if self.ran.received > 0 && !self.ran.whole && self.ran.looked {
                return Err(Mistake::SecondReceive.into());
            }
            self.widen("recv")?;
            if self.start.dry {
                return Err(Stop::Looked);
            }
        }
        let Some((conn, item)) = self.start.inbox.get(self.ran.received) else { return Err(Stop::Blocked) };
        if from.is_some_and(|from| from != *conn) || (!closes && matches!(item, Incoming::Closed)) {
            return Err(Stop::Refused);
        }
        self.ran.received += 1;
        if self.ran.received > MOST_MESSAGES {
            return Err(Mistake::Endless { effects: self.effects }.into());
        }
        self.own = Some(*conn);
        Ok((*conn, item.clone()))
    }

    pub(super) fn send(&mut self, to: Conn, message: Box<dyn Letter>) -> Turn {
        self.tick()?;
        if self.closed.contains(&to) {
            return Err(Mistake::SendOnClosed { conn: to.to_string() }.into());
        }
        if self.own == Some(to) {
            self.sent_to_own += 1;
        } else if !self.ran.whole {
            if self.ran.looked {
                return Err(Mistake::ForeignSend { conn: to.to_string() }.into());
            }
            self.ran.whole = true;
        }
        self.act(Act::Send(to, message));
        Ok(())
    }

    pub(super) fn connect(&mut self) -> Result<Conn, Stop> {
        self.tick()?;
        self.widen("connect")?;
        let conn = Conn::opened(self.start.cause, self.connects);
        self.connects += 1;
        self.act(Act::Connect(conn));
        Ok(conn)
    }

    pub(super) fn close(&mut self, conn: Conn) -> Turn {
        self.tick()?;
        if self.own != Some(conn) || self.ran.looked {
            self.widen("close")?;
        }
        self.closed.push(conn);
        self.act(Act::Close(conn));
        Ok(())
    }

    pub(super) fn scope(&mut self, scope: Scope) -> Turn {
        self.tick()?;
        match scope {
            Scope::Whole => self.widen("whole"),
            Scope::Replies(count) => {
                if self.ran.looked {
                    return Err(Mistake::WidenedLate { what: "replies" }.into());
                }
                self.ran.replies = Some(count);
                Ok(())
            }
        }
    }

    pub(super) fn act(&mut self, act: Act) {
        self.acted += 1;
        if self.acted > self.start.acted {
            self.ran.acts.push(act);
        }
    }
}
