//! Traffic of queues, stacks, counters, sets and lists, whose verdicts are compared with those of a twin whose turns may
//! touch anything. They write without reading (`Slot::update`), keep a cell for each element, and send patterns that
//! fit several messages.

use confute::lang::Text;
use confute::random::Random;
use confute_models::item::Item;
use confute_models::{counter, list_append, queue, set, stack};

use super::{Traffic, Whole, compare, number};

fn item(random: &mut Random) -> Item {
    Item::Int(number(random))
}

const QUEUE: Traffic<queue::Message> = Traffic {
    request: |random, _, _| match random.below(2) {
        0 => queue::Message::Enqueue(item(random)),
        _ => queue::Message::Dequeue,
    },
    alter: |random, answer| {
        if matches!(answer, queue::Message::Dequeued(_) | queue::Message::Empty) {
            *answer = match random.below(4) {
                0 => queue::Message::Empty,
                _ => queue::Message::Dequeued(item(random)),
            };
        }
    },
};

const STACK: Traffic<stack::Message> = Traffic {
    request: |random, _, _| match random.below(2) {
        0 => stack::Message::Push(item(random)),
        _ => stack::Message::Pop,
    },
    alter: |random, answer| {
        if matches!(answer, stack::Message::Popped(_) | stack::Message::Empty) {
            *answer = match random.below(4) {
                0 => stack::Message::Empty,
                _ => stack::Message::Popped(item(random)),
            };
        }
    },
};

const COUNTER: Traffic<counter::Message> = Traffic {
    request: |random, _, _| match random.below(2) {
        0 => counter::Message::Read,
        _ => counter::Message::Add(number(random) - 1),
    },
    alter: |random, answer| {
        if let counter::Message::Value(value) = answer {
            *value += number(random) - 1;
        }
    },
};

const SET: Traffic<set::Message> = Traffic {
    request: |random, keys, _| {
        let item = item(random);
        match random.below(if keys > 1 { 10 } else { 8 }) {
            0..=3 => set::Message::Add(item),
            4..=5 => set::Message::Remove(item),
            6..=7 => set::Message::Contains(item),
            _ => set::Message::Read,
        }
    },
    alter: |random, answer| {
        *answer = match &*answer {
            set::Message::Yes if random.chance(1, 2) => set::Message::Done,
            set::Message::Yes => set::Message::No,
            set::Message::No => set::Message::Yes,
            set::Message::Elements(items) => {
                let (new, mut items) = (item(random), items.clone());
                match items.binary_search(&new) {
                    Ok(place) => drop(items.remove(place)),
                    Err(place) => items.insert(place, new),
                }
                set::Message::Elements(items)
            }
            other => other.clone(),
        };
    },
};

const LISTS: Traffic<list_append::Message> = Traffic {
    request: |random, keys, _| {
        let key = Item::Int(random.below(keys).cast_signed());
        let step = |random: &mut Random| match random.below(2) {
            0 => list_append::Step::Read,
            _ => list_append::Step::Append(item(random)),
        };
        let steps = (0..=random.below(3)).map(|_| step(random)).collect();
        list_append::Message::Txn { key, steps }
    },
    alter: |random, answer| {
        if let list_append::Message::Done(lists) = answer
            && let Some(list) = lists.first_mut()
        {
            let text = list.to_string();
            let mut words: Vec<&str> = text.split_inclusive(' ').collect();
            match random.below(3) {
                0 => words.reverse(),
                1 => drop(words.pop()),
                _ => words.push("1 "),
            }
            *list = Text::from(words.concat());
        }
    },
};

#[test]
fn queue_and_its_twin_agree() {
    compare(&queue::Queue, (&Whole(queue::Queue), &Whole(queue::Queue)), &QUEUE);
}

#[test]
fn stack_and_its_twin_agree() {
    compare(&stack::Stack, (&Whole(stack::Stack), &Whole(stack::Stack)), &STACK);
}

#[test]
fn counter_and_its_twin_agree() {
    compare(&counter::Counter, (&Whole(counter::Counter), &Whole(counter::Counter)), &COUNTER);
}

#[test]
fn set_and_its_twin_agree() {
    compare(&set::Set, (&Whole(set::Set), &Whole(set::Set)), &SET);
}

#[test]
fn list_append_and_its_twin_agree() {
    let twin = Whole(list_append::ListAppend);
    compare(&list_append::ListAppend, (&twin, &twin), &LISTS);
}
