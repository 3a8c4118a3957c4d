//! The commands incr and decr.

use confute::lang::{Io, Stop, Turn};

use super::number::{Numeric, numeric};
use super::{Change, Content, Entry, Found, Item, MemcachedModel, Say};
use crate::message::ResponseLine;
use crate::rules;

impl Change<'_> {
    pub(super) fn count(&self, io: &mut Io<'_, MemcachedModel>, up: bool, by: u64) -> Turn {
        let (found, entry) = self.look(io)?;
        match found {
            Found::There(item) => self.count_item(io, entry, &item, up, by),
            Found::Vanished(item) => self.vanished(io, entry, &item, ResponseLine::NotFound),
            Found::Absent if io.deviates(&rules::COUNT_CHECKED)? => {
                let number = if up { by } else { 0 };
                let content = Content::Exact(number.to_string().into());
                let item = Item { content, flags: 0, token: io.fresh()?, gone: io.fresh()?, dies: None };
                self.put(io, Entry { item: Some(item), ..entry })?;
                self.answer(io, super::Reply::say(Say::Number { number, width: 0 }))
            }
            Found::Absent => self.nothing(io, ResponseLine::NotFound),
            Found::Failed => self.fail(io),
        }
    }

    fn count_item(
        &self,
        io: &mut Io<'_, MemcachedModel>,
        entry: Entry,
        item: &Item,
        up: bool,
        by: u64,
    ) -> Turn {
        let Some(before) = self.number(io, &item.content)? else {
            let reply = self.there(io, item, Say::Refused)?;
            return self.answer(io, reply);
        };
        let number = match (up, io.deviates(&rules::COUNT_SUMS)?) {
            (true, false) => before.wrapping_add(by),
            (false, false) => before.saturating_sub(by),
            // Wrong results that a deviation allows: saturating instead of wrapping or vice versa, no change,
            // the operand.
            (true, true) => [before.saturating_add(by), before, by][io.choose(3)?],
            (false, true) => [before.wrapping_sub(by), before, by][io.choose(3)?],
        };
        let (digits, width) = (number.to_string(), item.content.width());
        let content = if digits.len() < width {
            Content::Padded { number, width }
        } else {
            Content::Exact(digits.into())
        };
        let reply = self.there(io, item, Say::Number { number, width })?;
        let next = Item { content, token: io.fresh()?, ..item.clone() };
        self.replaced_over(io, entry, item, Some(next), reply)
    }

    fn number(&self, io: &mut Io<'_, MemcachedModel>, content: &Content) -> Result<Option<u64>, Stop> {
        Ok(match numeric(content) {
            Numeric::Is(number) if number > i64::MAX.cast_unsigned() => {
                (!io.deviates(&rules::COUNT_LARGE)?).then_some(number)
            }
            Numeric::Is(number) => Some(number),
            Numeric::Perhaps(number) => (io.choose(2)? == 0).then_some(number),
            Numeric::Not => io.deviates(&rules::COUNT_NUMBERS)?.then_some(0),
        })
    }
}
