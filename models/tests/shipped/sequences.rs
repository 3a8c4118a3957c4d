//! Sequences compared with those of the standard library.

use std::collections::VecDeque;

use confute::fingerprint::Fingerprint;
use confute::random::Random;
use confute_models::item::Item;
use confute_models::sequences::{Fifo, Lifo};

#[test]
fn sequences_equal_plain_ones() {
    let mut random = Random::new(7);
    let (mut fifo, mut lifo) = (Fifo::default(), Lifo::default());
    let (mut queue, mut stack) = (VecDeque::new(), Vec::new());
    for _ in 0..2_000 {
        if random.chance(1, 2) {
            let item = Item::Int(random.below(3).cast_signed());
            (fifo, lifo) = (fifo.push(item.clone()), lifo.push(item.clone()));
            queue.push_back(item.clone());
            stack.push(item);
        } else if !queue.is_empty() {
            let place = random.below(3).min(queue.len() as u64 - 1) as usize;
            let (first, rest) = fifo.take(place).unwrap();
            assert_eq!(Some(first), queue.remove(place));
            let (top, below) = lifo.take(place).unwrap();
            assert_eq!(top, stack.remove(stack.len() - 1 - place));
            (fifo, lifo) = (rest, below);
        }
        assert_eq!((fifo.len(), lifo.len()), (queue.len(), stack.len()));
        assert_eq!((fifo.is_empty(), lifo.is_empty()), (queue.is_empty(), stack.is_empty()));
        assert_eq!(fifo, queue.iter().cloned().collect());
        assert_eq!(lifo, stack.iter().cloned().collect());
        assert_eq!(Fingerprint::of(&fifo), Fingerprint::of(&queue.iter().cloned().collect::<Fifo>()));
    }
    assert_eq!(fifo.take(queue.len()), None);
    assert_eq!(lifo.take(stack.len()), None);
}

#[test]
fn order_and_kind_count() {
    let fifo = |items: &[Item]| items.iter().cloned().collect::<Fifo>();
    let lifo = |items: &[Item]| items.iter().cloned().collect::<Lifo>();
    let [one, two, text] = [Item::Int(1), Item::Int(2), Item::from("1")];
    let pairs = [
        ([one.clone(), two.clone()], [two.clone(), one.clone()]),
        ([one.clone(), one.clone()], [one.clone(), text.clone()]),
    ];
    for (left, right) in pairs {
        assert_ne!(fifo(&left), fifo(&right));
        assert_ne!(lifo(&left), lifo(&right));
    }
    assert_eq!(
        format!("{:?} {:?}", fifo(&[one.clone(), text.clone()]), lifo(&[one, text])),
        "[1 \"1\"] [\"1\" 1]"
    );
}
