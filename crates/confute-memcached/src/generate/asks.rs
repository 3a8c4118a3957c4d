//! Requests of the traffic about a group of keys.

use confute_drive::{Msg, Past};

use super::{Group, Pick, Traffic};
use crate::ask::{Ask, StoreKind, TokenRef};
use crate::message::{Message, ResponseLine};
use crate::protocol::Memcached;

impl Traffic {
    /// Returns a random request about a key of the group; only with `quiet` may it have `noreply`.
    pub(super) fn ask(
        &mut self,
        group: Group,
        quiet: bool,
        past: &Past<Memcached>,
        pick: &mut Pick<'_>,
    ) -> Ask {
        let key = group.first + pick(u64::from(group.keys)) as u32;
        let noreply = quiet && self.habits.noreply && pick(4) == 0;
        match pick(20) {
            0..=6 => self.get(group, key, pick),
            7..=9 => self.store(StoreKind::Set, key, noreply, pick),
            10 => self.store(StoreKind::Add, key, noreply, pick),
            11 => self.store(StoreKind::Replace, key, noreply, pick),
            12 => {
                let how = if pick(2) == 0 { StoreKind::Append } else { StoreKind::Prepend };
                self.store(how, key, noreply, pick)
            }
            13..=15 => {
                let seen = self.token(key, past, pick);
                let mut cas = self.store(StoreKind::Cas, key, noreply, pick);
                if let Ask::Store { token, .. } = &mut cas {
                    *token = Some(seen);
                }
                cas
            }
            16 => Ask::Delete { key, noreply },
            17 | 18 => {
                let by = [1, 1, 2, 9, 90, u64::MAX][pick(self.numbers()) as usize];
                Ask::Count { key, up: pick(2) == 0, by, noreply }
            }
            _ => Ask::Touch { key, exptime: self.exptime(pick), noreply },
        }
    }

    fn get(&self, group: Group, key: u32, pick: &mut Pick<'_>) -> Ask {
        let mut keys = vec![key];
        if group.keys > 1 && pick(2) == 0 {
            keys.extend((group.first..group.first + group.keys).filter(|other| *other != key));
        }
        Ask::Get { keys, unique: pick(3) != 0 }
    }

    fn store(&mut self, how: StoreKind, key: u32, noreply: bool, pick: &mut Pick<'_>) -> Ask {
        let data = self.data(how, pick);
        let flags = if pick(2) == 0 { 0 } else { pick(1 << 16) as u32 };
        let exptime = if pick(6) == 0 { self.exptime(pick) } else { 0 };
        Ask::Store { how, key, flags, exptime, data, token: None, noreply }
    }

    fn exptime(&self, pick: &mut Pick<'_>) -> i64 {
        if self.habits.expiry { [0, 0, 1, 2, 100, -1][pick(6) as usize] } else { 0 }
    }

    /// Returns the number of candidates to pick from in a list of six numbers: the last one is large.
    fn numbers(&self) -> u64 {
        if self.habits.large { 6 } else { 5 }
    }

    /// Returns data to store: values marked with a serial number, of equal or different length; numbers; the
    /// empty string.
    fn data(&mut self, how: StoreKind, pick: &mut Pick<'_>) -> String {
        self.marks += 1;
        let mark = self.marks;
        match pick(8) {
            _ if matches!(how, StoreKind::Append | StoreKind::Prepend) => format!("<{mark}>"),
            0 => String::new(),
            1 | 2 => {
                ["0", "1", "9", "10", "100", "18446744073709551615"][pick(self.numbers()) as usize].to_owned()
            }
            3 => format!("{mark:x}-{}", "x".repeat(pick(200) as usize)),
            4 => format!("{mark}\r\nEND\r\n"),
            _ => format!("v{mark:07x}"),
        }
    }

    /// Returns mostly the latest token received for this key, sometimes a stale one, one of another key, or a guess.
    fn token(&self, key: u32, past: &Past<Memcached>, pick: &mut Pick<'_>) -> TokenRef {
        let guess = TokenRef::Guess(pick(1000));
        let foreign = pick(8) == 0;
        let wanted = if foreign { (key + 1) % self.keys().max(1) } else { key };
        let back = if pick(4) == 0 { 1 + pick(4) as usize } else { 0 };
        let recent = past.exchanges.iter().rev().take(200);
        let mut seen = recent.filter(|exchange| gave_token(&exchange.ask, &exchange.replies, wanted));
        match seen.nth(back) {
            Some(exchange) if pick(12) != 0 => TokenRef::Seen { step: exchange.step, key: wanted },
            _ => guess,
        }
    }
}

/// Returns `true` if the response to this request has a token for this key.
fn gave_token(ask: &Ask, replies: &[Msg<Memcached>], key: u32) -> bool {
    let Ask::Get { keys, unique: true } = ask else { return false };
    let Some(place) = keys.iter().position(|asked| *asked == key) else { return false };
    let Some(Message::Answer(answer)) = replies.get(place) else { return false };
    matches!(answer.line, ResponseLine::Value { unique: Some(_), .. })
}
