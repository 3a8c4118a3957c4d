//! Families of random models: the family determines the shape of the operations, chance the details.

use confute::lang::Access::{Read as R, Write as W};

use super::mini::Place::{At, Next, Picked, This};
use super::mini::{Cond, Do, From, Mini, Op, Source};
use super::random::Dice;

macro_rules! families {
    ($($family:ident),+ $(,)?) => {
        /// The family of a model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum Family { $($family),+ }
        /// All families.
        pub const FAMILIES: &[Family] = &[$(Family::$family),+];
    };
}
families!(
    Cells,
    Lists,
    Conditional,
    Counter,
    Replies,
    Transfer,
    Relay,
    Proxy,
    Broadcast,
    Pairing,
    Session,
    Closer,
    Hangup,
    Kicker,
    Lister,
    Evict,
    Bump,
    Push,
    Choosy,
    Unknown,
    Deviant,
    Undecided,
    Additions,
    Wild,
    Objects,
    Items,
    Waits,
);

const NONE: Source = Source::None;
const FRESH: Source = Source::Fresh { new: false };
const NEW: Source = Source::Fresh { new: true };

fn put(slot: usize) -> Do {
    Do::Put { slot, num: NONE, tok: NONE }
}
fn answer(op: u8) -> Do {
    Do::Answer { op, show: None }
}
fn show(op: u8, slot: usize) -> Do {
    Do::Answer { op, show: Some(slot) }
}
fn read() -> Op {
    Op::new(&[(This, R)], vec![show(100, 0)])
}
fn write() -> Op {
    Op::new(&[(This, W)], vec![put(0), answer(110)])
}
fn cas() -> Op {
    Op::new(&[(This, W)], vec![Do::If(Cond::Holds(0), vec![put(0), answer(110)], vec![answer(111)])])
}
fn append() -> Op {
    Op::new(&[(This, W)], vec![Do::Append(0), answer(110)])
}
fn peers(mut op: Op) -> Op {
    op.peers = Some(W);
    op
}

/// Returns a random model of this family.
pub fn mini(family: Family, dice: &mut Dice) -> Mini {
    let keys = 1 + dice.below(3) as u8;
    let mut mini =
        Mini { family, keys, unknown: false, ops: vec![], upstream: None, on_close: None, internal: vec![] };
    let ops = match family {
        Family::Cells => vec![read(), read(), write(), cas()],
        Family::Lists => {
            let tell = Op::new(&[(This, W)], vec![Do::Append(0), show(100, 0)]);
            vec![read(), read(), append(), if dice.percent(50) { tell } else { append() }]
        }
        Family::Conditional => {
            mini.unknown = true;
            conditional()
        }
        Family::Counter => {
            let tok = if dice.percent(50) { NEW } else { NONE };
            let bump = Do::Put { slot: 0, num: NEW, tok };
            let below = Do::If(Cond::NumBelow(0), vec![answer(120)], vec![answer(121)]);
            let told = if dice.percent(50) { show(110, 0) } else { answer(110) };
            vec![read(), Op::new(&[(This, R)], vec![below]), Op::new(&[(This, W)], vec![bump, told])]
        }
        Family::Replies => {
            let silent = Op::new(&[(This, W)], vec![put(0)]);
            let twice = Op::new(&[(This, R)], vec![answer(115), show(100, 0)]);
            let maybe = Do::If(Cond::Empty(0), vec![], vec![show(100, 0)]);
            let maybe = Op::new(&[(This, R)], vec![maybe]);
            vec![read(), silent, twice, if dice.percent(40) { maybe } else { write() }]
        }
        Family::Transfer => {
            mini.keys = keys.max(2);
            let copy = Op::new(&[(This, W), (Next, W)], vec![Do::Copy { from: 0, to: 1 }, answer(112)]);
            let moved = vec![Do::Copy { from: 0, to: 1 }, Do::Clear(0), answer(112)];
            let moved =
                Op::new(&[(This, W), (Next, W)], vec![Do::If(Cond::Empty(0), vec![answer(113)], moved)]);
            let both = Op::new(
                &[(This, R), (Next, R)],
                vec![Do::If(
                    Cond::Empty(0),
                    vec![show(100, 1)],
                    vec![Do::If(Cond::Empty(1), vec![answer(114)], vec![show(102, 0)])],
                )],
            );
            vec![read(), both, write(), if dice.percent(50) { copy } else { moved }]
        }
        Family::Relay => {
            let ask = Op {
                connect: true,
                pending: Some(W),
                body: vec![Do::Forward, Do::Remember],
                ..Op::default()
            };
            mini.upstream = Some(Op { pending: Some(W), body: vec![Do::Relay], ..Op::default() });
            let fire = Op { connect: true, body: vec![Do::Forward], ..Op::default() };
            vec![ask.clone(), if dice.percent(30) { fire } else { ask }, write(), read()]
        }
        Family::Proxy => {
            let body = vec![Do::Forward, Do::Receive(From::Upstream), Do::AnswerSecond];
            let ask = Op { connect: true, body, ..Op::default() };
            // Messages from upstream that no turn waits for are ignored.
            mini.upstream = Some(Op::new(&[], vec![]));
            vec![ask, read(), write()]
        }
        Family::Broadcast => {
            let publish = Op::new(&[(This, W)], vec![put(0), Do::Publish { op: 130, show: Some(0) }]);
            let subscribe = Op::new(&[], vec![Do::Subscribe, answer(116)]);
            vec![read(), peers(subscribe.clone()), peers(publish), peers(subscribe)]
        }
        Family::Pairing => {
            let pair =
                Op::new(&[(This, R)], vec![Do::Receive(From::Anyone), Do::AnswerSecond, Do::AnswerOther]);
            let late =
                Op::new(&[(This, W)], vec![put(0), Do::Receive(From::Anyone), Do::AnswerOther, show(100, 0)]);
            vec![read(), read(), write(), if dice.percent(50) { pair } else { late }]
        }
        Family::Session => {
            let two =
                Op::new(&[(This, W)], vec![answer(117), Do::Receive(From::Asker), put(0), show(100, 0)]);
            let ask = Op::new(&[(This, W)], vec![put(0), Do::Receive(From::Asker), Do::AnswerSecond]);
            vec![read(), write(), if dice.percent(50) { two } else { ask }, read()]
        }
        _ => eventful(&mut mini, dice),
    };
    mini.ops = ops;
    mini
}

/// Returns the operations of a family whose cells hold values that the server chose before.
fn unknown(mini: &mut Mini, dice: &mut Dice) -> Vec<Op> {
    mini.unknown = true;
    let set = Do::Put { slot: 0, num: Source::Message, tok: Source::Keep };
    let tag = Do::Put { slot: 0, num: Source::Keep, tok: FRESH };
    let is = Do::If(Cond::Num(0), vec![answer(120)], vec![answer(121)]);
    let below = Do::If(Cond::NumBelow(0), vec![answer(120)], vec![answer(121)]);
    let ask = Op::new(&[(This, R)], vec![if dice.percent(50) { is } else { below }]);
    let write = vec![if dice.percent(60) { set } else { tag }, answer(110)];
    vec![read(), ask, Op::new(&[(This, W)], write)]
}

/// Returns the operations of a family whose connections end, whose turns start by themselves, or whose rules may be
/// broken.
fn eventful(mini: &mut Mini, dice: &mut Dice) -> Vec<Op> {
    match mini.family {
        Family::Closer => {
            let quit = Op::new(&[(This, R)], vec![show(100, 0), Do::Close]);
            let bye = Op::new(&[(This, W)], vec![put(0), Do::Close]);
            let full = Do::If(Cond::Empty(0), vec![put(0), answer(110)], vec![answer(118), Do::Close]);
            let full = Op::new(&[(This, W)], vec![full]);
            vec![read(), quit, if dice.percent(50) { bye } else { full }, write()]
        }
        Family::Kicker => {
            let subscribe = peers(Op::new(&[], vec![Do::Subscribe, answer(116)]));
            vec![read(), subscribe, peers(Op::new(&[], vec![Do::Kick, answer(112)])), write()]
        }
        Family::Lister => {
            mini.keys = mini.keys.max(2);
            let clear = Op::new(&[(This, W)], vec![Do::Clear(0), answer(110)]);
            vec![read(), Op::new(&[], vec![Do::List]), write(), clear]
        }
        Family::Hangup => {
            let log = Op::new(&[(At(0), W)], vec![Do::Append(0)]);
            let leave = peers(Op::new(&[], vec![Do::Unsubscribe]));
            let publish = peers(Op::new(&[(This, R)], vec![Do::Publish { op: 130, show: Some(0) }]));
            let subscribe = peers(Op::new(&[], vec![Do::Subscribe, answer(116)]));
            if dice.percent(60) {
                mini.on_close = Some(log);
                vec![read(), read(), write(), append()]
            } else {
                mini.on_close = Some(leave);
                vec![read(), subscribe, publish, write()]
            }
        }
        Family::Evict => {
            mini.internal = vec![Op::new(&[(Picked, W)], vec![Do::Clear(0)])];
            vec![read(), read(), write(), if dice.percent(50) { cas() } else { append() }]
        }
        Family::Bump => {
            let bump = Op::new(&[(Picked, W)], vec![Do::Append(0)]);
            let reset = Op::new(&[(At(0), W)], vec![Do::Clear(0)]);
            let renew = Op::new(&[(Picked, W)], vec![Do::Put { slot: 0, num: NEW, tok: NONE }]);
            mini.internal = match dice.below(3) {
                0 => vec![bump],
                1 => vec![bump, reset],
                _ => vec![renew],
            };
            vec![read(), read(), write()]
        }
        Family::Push => {
            let push = peers(Op::new(&[(At(0), R)], vec![Do::Publish { op: 130, show: Some(0) }]));
            mini.internal = vec![push];
            vec![read(), peers(Op::new(&[], vec![Do::Subscribe, answer(116)])), write()]
        }
        Family::Choosy => {
            let lossy = Op::new(&[(This, W)], vec![Do::Choose(vec![vec![put(0)], vec![]]), answer(110)]);
            let coy = Op::new(&[(This, R)], vec![Do::Choose(vec![vec![show(100, 0)], vec![answer(119)]])]);
            let odd = Do::Choose(vec![vec![put(0)], vec![Do::Append(0)], vec![Do::Clear(0)]]);
            vec![read(), coy, lossy, Op::new(&[(This, W)], vec![odd, answer(110)])]
        }
        Family::Unknown => unknown(mini, dice),
        Family::Deviant => {
            let stale = Do::If(Cond::Deviates, vec![answer(110)], vec![put(0), answer(110)]);
            let wrong = Do::If(Cond::Deviates, vec![answer(119)], vec![show(100, 0)]);
            vec![read(), Op::new(&[(This, R)], vec![wrong]), Op::new(&[(This, W)], vec![stale])]
        }
        Family::Undecided => {
            // The choice becomes observable only after the second message.
            let ways = [show(100, 0), answer(119)].map(|last| vec![Do::Receive(From::Asker), last]);
            vec![read(), Op::new(&[(This, R)], vec![Do::Choose(ways.into())]), write()]
        }
        Family::Additions => {
            let add = Op::new(&[(This, W)], vec![Do::Add(0), answer(110)]);
            vec![read(), write(), add.clone(), add]
        }
        Family::Wild => {
            mini.unknown = dice.percent(30);
            let mut ops = vec![read()];
            for _ in 0..2 + dice.below(2) {
                let mut body = wild(dice, 2);
                body.push(if dice.percent(60) { show(100, dice.below(2)) } else { answer(110) });
                ops.push(Op::new(&[(This, W), (if dice.percent(50) { Next } else { At(0) }, W)], body));
            }
            ops
        }
        Family::Objects => objects(mini, dice),
        Family::Items => {
            // A queue or a stack; now and then with reads, which are about all values.
            let take = Op::new(&[(This, W)], vec![Do::Take { front: dice.percent(50) }]);
            let add = Op::new(&[(This, W)], vec![Do::Add(0), answer(110)]);
            vec![take.clone(), add.clone(), if dice.percent(25) { read() } else { take }, add]
        }
        Family::Waits => waits(mini, dice),
        family => unreachable!("{family:?} is among the other families"),
    }
}

/// Returns operations of which some wait: a take that waits for a value, a read that does, a write that waits for room, a swap that
/// waits for its value. Now and then they wait by choice, against the rule, or for a secret.
fn waits(mini: &mut Mini, dice: &mut Dice) -> Vec<Op> {
    let when = |cond, then| vec![Do::If(cond, vec![Do::Wait], then)];
    let take = Op::new(&[(This, W)], when(Cond::Empty(0), vec![Do::Take { front: dice.percent(50) }]));
    let look = Op::new(&[(This, R)], when(Cond::Empty(0), vec![show(100, 0)]));
    let room = vec![Do::If(Cond::Empty(0), vec![put(0), answer(110)], vec![Do::Wait])];
    let room = Op::new(&[(This, W)], room);
    let swap = vec![Do::If(Cond::Holds(0), vec![put(0), answer(111)], vec![Do::Wait])];
    let swap = Op::new(&[(This, W)], swap);
    let far = Op::new(&[(This, W), (Next, W)], when(Cond::Empty(1), vec![put(0), answer(112)]));
    let mine = vec![take.clone(), look, room, swap, far];
    let rare = match dice.below(6) {
        0 => Op::new(&[(This, W)], vec![Do::Choose(vec![vec![Do::Wait], vec![put(0), answer(113)]])]),
        1 => Op::new(&[(This, W)], when(Cond::Deviates, vec![put(0), answer(113)])),
        2 => Op::new(&[(This, W)], when(Cond::Deviates, when(Cond::Empty(0), vec![put(0), answer(113)]))),
        3 => {
            mini.unknown = true;
            Op::new(&[(This, R)], when(Cond::NumBelow(0), vec![answer(120)]))
        }
        4 => Op::new(&[(This, W)], vec![Do::Clear(0), answer(110)]),
        _ => dice.of(&mine).clone(),
    };
    vec![read(), if dice.percent(50) { write() } else { append() }, take, dice.of(&mine).clone(), rare]
}

/// Returns operations on objects, which create, find, change, remove and list them.
fn objects(mini: &mut Mini, dice: &mut Dice) -> Vec<Op> {
    // Ids of removed objects may be given again.
    mini.unknown = dice.percent(40);
    let create = || Op::new(&[], vec![Do::Create { choosy: false }]);
    let rare = match dice.below(4) {
        0 => Do::Create { choosy: true },
        1 => Do::Replace,
        2 => Do::Remove,
        _ => Do::Roster,
    };
    let roster = Op::new(&[], vec![if dice.percent(50) { Do::Roster } else { Do::Remove }]);
    vec![Op::new(&[], vec![Do::Find]), create(), create(), roster, Op::new(&[], vec![rare])]
}

/// Returns PUT if the tag matches, and GET unless it does: Fig 1 and Fig 6. The value is the number.
fn conditional() -> Vec<Op> {
    let get = Do::If(Cond::Tok(0), vec![answer(GET_NOT_MODIFIED)], vec![show(GET_OK, 0)]);
    let set = Do::Put { slot: 0, num: Source::Message, tok: FRESH };
    let put = Do::If(Cond::Tok(0), vec![set, answer(PUT_DONE)], vec![answer(PUT_FAILED)]);
    vec![Op::new(&[(This, R)], vec![get]), Op::new(&[(This, W)], vec![put])]
}
pub const GET_OK: u8 = 100;
pub const GET_NOT_MODIFIED: u8 = 104;
pub const PUT_DONE: u8 = 110;
pub const PUT_FAILED: u8 = 111;

fn wild(dice: &mut Dice, depth: usize) -> Vec<Do> {
    let mut body = Vec::new();
    for _ in 0..dice.below(3) {
        let slot = dice.below(2);
        body.push(match dice.below(if depth > 0 { 8 } else { 5 }) {
            0 => put(slot),
            1 => Do::Put {
                slot,
                num: *dice.of(&[NONE, Source::Keep, Source::Message, NEW]),
                tok: *dice.of(&[NONE, FRESH, NEW]),
            },
            2 => Do::Append(slot),
            3 => Do::Clear(slot),
            4 => Do::Copy { from: slot, to: 1 - slot },
            5 | 6 => {
                let cond = *dice.of(&[
                    Cond::Empty(slot),
                    Cond::Holds(slot),
                    Cond::Tok(slot),
                    Cond::Num(slot),
                    Cond::NumBelow(slot),
                ]);
                Do::If(cond, wild(dice, depth - 1), wild(dice, depth - 1))
            }
            _ => Do::Choose(vec![wild(dice, depth - 1), wild(dice, depth - 1)]),
        });
    }
    body
}
