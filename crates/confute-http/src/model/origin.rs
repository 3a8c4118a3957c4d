//! An origin server (RFC 9110 and 9112): one cell for each path, and what each method does with it.
//!
//! Nothing happens between requests: what changes by itself (a weak tag becomes strong) is a moment that is a secret, and
//! a server that closes a connection is for the driver to tell, as the tester hanging up. GET and HEAD only look.
//!
//! Premise: nobody else writes below the prefix.

use std::sync::Arc;

use confute::lang::{Conn, Fresh, Io, Number, Rule, ServerModel, Slot, Stop, Sym, Table, Token, Turn};

use super::expected::{Expected, Judged, Kind, Read};
use super::lax::Lax;
use super::precondition::{Applies, Conditions};
use super::validators::{Aftermath, Entry, Meant, Validator};
use crate::message::{IfRange, Method, Msg, Odd, Request, Tags};
use crate::rules::{self, RULES};

/// The model of an origin server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin {
    /// Which tags a simulated server makes. A tester has to be ready for any.
    pub tags: TagStyle,
}

/// Which tags a server makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagStyle {
    /// Any that are right.
    #[default]
    Any,
    /// Weak for so many microseconds after the request that made it, then strong.
    WeakFor(i64),
}

pub(super) const RESOURCES: Table<Arc<str>, Entry> =
    Table::unknown("resources", |fresh: &mut Fresh<'_>, _| Entry::unknown(fresh));

impl ServerModel for Origin {
    type Msg = Msg;
    type Out = Expected;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        let Msg::Request(request) = &*message else { return io.replies(0) };
        let more = u32::from(request.close_twice) + request.unasked_after;
        if more > 0 {
            io.replies(1 + more)?;
        }
        let turn = |cell| Exchange {
            model: *self,
            conn,
            request,
            cell,
            by: None,
            lax: Lax::default(),
            broken: Vec::new(),
        };
        match request.method {
            Method::Get | Method::Head => turn(Some(RESOURCES.view(io, &request.path)?)).read(io),
            Method::Put | Method::Delete | Method::Other(_) => {
                turn(Some(RESOURCES.edit(io, &request.path)?)).write(io)
            }
            Method::Options => turn(None).options(io),
        }
    }

    /// RFC 9112, 9.3.2: safe requests in a row on one connection may be evaluated in parallel.
    fn is_parallel(&self, request: &Msg) -> bool {
        matches!(request, Msg::Request(request) if request.method.is_safe() && !request.close_twice)
    }

    fn concerns(&self, rule: &Rule, message: &Msg) -> bool {
        Lax::concerns(rule, message)
    }

    /// Whatever makes a server refuse one request (a lock, load) is there for others too.
    fn is_habitual(&self, rule: &Rule) -> bool {
        rule.name == rules::SERVES.name
    }

    fn rules(&self) -> &'static [Rule] {
        RULES
    }
}

/// A request on its way to an answer.
pub(super) struct Exchange<'a> {
    pub(super) model: Origin,
    conn: Conn,
    pub(super) request: &'a Request,
    cell: Option<Slot<Entry>>,
    /// The moment of the last open write that it found performed.
    pub(super) by: Option<Sym<Number>>,
    pub(super) lax: Lax,
    /// Rules about what a PUT stores that it breaks.
    pub(super) broken: Vec<&'static Rule>,
}

impl Exchange<'_> {
    /// Answers.
    pub(super) fn send(&self, io: &mut Io<'_, Origin>, kind: Kind) -> Turn {
        let held = self.request.expect.filter(|_| self.request.body.is_some());
        let expected = Expected {
            sent: self.request.sent_at,
            held,
            by: self.by.clone(),
            lax: self.lax,
            kind: Box::new(kind),
        };
        let mut more = Vec::new();
        let never = || Expected { kind: Box::new(Kind::Never), ..expected.clone() };
        if self.request.close_twice {
            more.push(if io.deviates(&rules::CLOSE)? { expected.clone() } else { never() });
        }
        let has_content = self.request.body.is_some();
        for _ in 0..self.request.unasked_after {
            let kind = match () {
                () if has_content && io.deviates(&rules::BODY_READ)? => Kind::Rejected,
                // An error behind content is what comes of content that was not read. That it came for nothing is the general
                // case, so it counts twice there.
                () if often(io, &rules::SURPLUS, 1 + u32::from(has_content))? => Kind::Untold,
                () => Kind::Never,
            };
            more.push(Expected { kind: Box::new(kind), lax: Lax::SURPLUS, ..expected.clone() });
        }
        io.send(self.conn, expected)?;
        more.into_iter().try_for_each(|one| io.send(self.conn, one))
    }

    /// What is stored.
    pub(super) fn stored(&self, io: &mut Io<'_, Origin>) -> Result<Entry, Stop> {
        self.cell.as_ref().ok_or(Stop::Dead)?.get(io)?.ok_or(Stop::Dead)
    }

    /// Stores.
    pub(super) fn store(&self, io: &mut Io<'_, Origin>, entry: Entry) -> Turn {
        self.cell.as_ref().ok_or(Stop::Dead)?.set(io, entry)
    }

    /// What is decided before the method matters: `None` if nothing is.
    pub(super) fn prejudge(&mut self, io: &mut Io<'_, Origin>) -> Result<Option<Kind>, Stop> {
        self.lax = Lax::of(io)?;
        let request = self.request;
        if request.expect.is_some() {
            self.lax.also(io, &rules::CONTINUE, Lax::CONTINUE)?;
        }
        let rule: &'static Rule = match request.odd {
            None => return self.unusual(io),
            Some(Odd::NoHost) => &rules::NO_HOST,
            Some(Odd::TwoHosts) => &rules::TWO_HOSTS,
            Some(Odd::SpaceBeforeColon) => &rules::SPACE_BEFORE_COLON,
            Some(Odd::ConflictingLengths) => &rules::CONFLICTING_LENGTHS,
            // These are for `write` to know.
            Some(Odd::LengthBesideChunks | Odd::HugeChunk | Odd::VastChunk) => return Ok(None),
            Some(Odd::EqualLengths | Odd::Folded) => {
                return Ok(if io.choose(2)? == 0 { None } else { Some(Kind::Bad) });
            }
        };
        if io.deviates(rule)? {
            return Ok(None);
        }
        // Who serves nobody does not look at what is wrong with a request.
        let serves = !io.deviates(&rules::SERVES)?;
        Ok(Some(if serves { Kind::Bad } else { Kind::Refused { is_write: false, missing: false } }))
    }

    /// A refusal without reason.
    pub(super) fn refused(&self) -> Kind {
        let is_write = !self.request.method.is_safe();
        Kind::Refused { is_write, missing: self.request.method == Method::Put }
    }

    /// What a server need not put up with: content without a length, and expectations. Several lines it must.
    fn unusual(&self, io: &mut Io<'_, Origin>) -> Result<Option<Kind>, Stop> {
        let several = |tags: &Option<Tags>| matches!(tags, Some(Tags::Lines(lines)) if lines.len() > 1);
        if (several(&self.request.if_match) || several(&self.request.if_none_match))
            && io.deviates(&rules::SEVERAL_LINES)?
            && io.choose(2)? == 1
        {
            return Ok(Some(Kind::Bad));
        }
        if self.request.chunked && io.choose(2)? == 1 {
            return Ok(Some(Kind::Status([411, 501])));
        }
        if self.request.expect.is_some() && io.choose(2)? == 1 {
            return Ok(Some(Kind::Status([417, 417])));
        }
        // Clients must not send one (RFC 9110, 13.1.5), so a server may say that it is wrong.
        if matches!(&self.request.if_range, Some(IfRange::Tag(tag)) if tag.weak) && io.choose(2)? == 1 {
            return Ok(Some(Kind::Bad));
        }
        Ok(None)
    }

    fn options(mut self, io: &mut Io<'_, Origin>) -> Turn {
        if let Some(kind) = self.prejudge(io)? {
            return self.send(io, kind);
        }
        self.lax.also(io, &rules::ALLOW, Lax::ALLOW)?;
        if self.request.is_conditional() {
            self.lax.also(io, &rules::OPTIONS_UNCONDITIONAL, Lax::OPTIONS)?;
        }
        self.send(io, Kind::Options)
    }

    fn read(mut self, io: &mut Io<'_, Origin>) -> Turn {
        let mut entry = self.stored(io)?;
        if let Some(kind) = self.prejudge(io)? {
            return self.send(io, kind);
        }
        if io.forgives(&rules::SERVES) && entry.late.is_none() {
            // A read changes nothing, so whether it is refused need not be decided before the answer is seen. Where writes are
            // open, one that is refused puts no bounds on their moments, so that is decided first.
            self.lax.also(io, &rules::ALLOW, Lax::ALLOW)?;
            self.lax.add(Lax::REFUSED);
        } else if io.deviates(&rules::SERVES)? {
            self.lax.also(io, &rules::ALLOW, Lax::ALLOW)?;
            return self.send(io, self.refused());
        }
        if entry.late.is_untold() {
            return self.send(io, Kind::Untold);
        }
        entry = self.catch_up(io, entry)?;
        let request = self.request;
        while let Some(Aftermath::Stale { before }) = entry.after.clone().as_deref()
            && io.choose(2)? == 1
        {
            entry = before.clone();
        }
        let mut judged = None;
        match entry.after.take().as_deref() {
            Some(Aftermath::Torn { changed, of }) if io.choose(2)? == 1 => {
                io.assume(changed.at_most(&Sym::known(&request.sent_at), 0).negate())?;
                let head = request.method == Method::Head;
                return self.send(io, Kind::Torn { head, body: entry.body, tag: entry.tag, of: of.clone() });
            }
            Some(Aftermath::Growing(body)) if io.choose(2)? == 1 => {
                return self.send(io, Kind::Stage { body: body.clone() });
            }
            Some(Aftermath::Race { changed, before }) if request.is_conditional() && io.choose(2)? == 1 => {
                io.assume(changed.at_most(&Sym::known(&request.sent_at), 0).negate())?;
                io.assume(before.present.holds())?;
                judged = Some(Judged::from(before));
            }
            Some(Aftermath::Unsteady { tag, date }) if io.choose(2)? == 1 => {
                if let Some(former) = tag {
                    entry.tag = Self::changed_tag(io, former, entry.reuses)?;
                }
                if *date {
                    entry.modified = io.fresh()?;
                }
            }
            _ => {}
        }
        if let Some(fault) = entry.fault.take().filter(|fault| request.sent_at < fault.until) {
            for rule in fault.rules {
                if !io.deviates(rule)? {
                    return Err(Stop::Dead);
                }
            }
        }
        self.unsteady(io, &mut entry)?;
        // Nobody knows what content was there before.
        entry.reuses |= entry.is_foreign && io.deviates(&rules::TAG_DIFFERS)?;
        let judged = judged.unwrap_or_else(|| Judged::from(&entry));
        let conditions = Conditions::of(io, request, &judged.tag, false)?;
        let applies = Applies::of(io, request, &entry.tag)?;
        self.overlook(io)?;
        let head = request.method == Method::Head;
        let range = request.range.clone();
        self.send(io, Kind::Read(Read { head, entry, judged, conditions, range, applies }))
    }

    /// Changes a tag, date or content by itself before a read. A read stores nothing, so a transient date costs two deviations. What was put has the unsteadiness of its tag from there: only then is it known which tag it must not have,
    /// because other content had it.
    fn unsteady(&self, io: &mut Io<'_, Origin>, entry: &mut Entry) -> Turn {
        let times = if entry.is_foreign { 1 } else { 2 };
        let other_tag = entry.is_foreign && io.deviates(&rules::STEADY_TAG)?;
        if other_tag {
            entry.tag = Self::other_tag(io)?;
        }
        if (other_tag && io.choose(2)? == 1) || often(io, &rules::STEADY_DATE, times)? {
            entry.modified = io.fresh()?;
        }
        // It explains much: it counts as much as an answer to somebody else.
        if often(io, &rules::STEADY_CONTENT, 3)? {
            let tag = Self::other_tag(io)?;
            *entry = Entry { meant: Some(Meant::Nothing), tag, ..Entry::any(io)? };
            io.assume(entry.present.holds())?;
        }
        Ok(())
    }

    /// A tag that was not there before.
    pub(super) fn other_tag(io: &mut Io<'_, Origin>) -> Result<Validator, Stop> {
        Validator::fresh(io, TagStyle::Any, 0)
    }

    /// The tag that content has after it changed by itself: never that of the content before, unless tags are used again.
    pub(super) fn changed_tag(
        io: &mut Io<'_, Origin>,
        former: &Sym<Token>,
        reuses: bool,
    ) -> Result<Validator, Stop> {
        let tag = Self::other_tag(io)?;
        if !reuses {
            io.assume(tag.strong.equals(former).negate())?;
        }
        Ok(tag)
    }

    /// Rules about answers to reads.
    fn overlook(&mut self, io: &mut Io<'_, Origin>) -> Turn {
        let request = self.request;
        self.lax.also(io, &rules::STAYS, Lax::STAYS)?;
        self.lax.also(io, &rules::HEAD_LENGTH, Lax::HEAD_LENGTH)?;
        self.lax.also(io, &rules::NOT_MODIFIED_TAG, Lax::NOT_MODIFIED_TAG)?;
        if request.method == Method::Get {
            self.lax.also(io, &rules::CONTENT_SENT, Lax::EMPTY)?;
            // It explains any content, so it counts twice, and tags that are given twice are blamed first.
            if often(io, &rules::TAG_DIFFERS, 2)? {
                self.lax.add(Lax::GARBLED);
            }
        }
        if request.is_conditional() {
            self.lax.also(io, &rules::ON_MISSING, Lax::ON_MISSING)?;
        }
        if request.if_modified_since.is_some() && request.if_none_match.is_none() {
            self.lax.also(io, &rules::IF_MODIFIED_SINCE, Lax::IF_MODIFIED_SINCE)?;
        }
        if !request.range.is_empty() {
            self.lax.also(io, &rules::CONTENT_RANGE, Lax::CONTENT_RANGE)?;
            self.lax.also(io, &rules::PART, Lax::PART)?;
            self.lax.also(io, &rules::RANGE_ASKED, Lax::ASKED)?;
            self.lax.also(io, &rules::UNSATISFIABLE, Lax::UNSATISFIABLE)?;
            if request.method == Method::Head {
                self.lax.also(io, &rules::RANGE_ONLY_GET, Lax::ONLY_GET)?;
            }
        }
        Ok(())
    }
}

/// Whether a rule is broken so many times at once. To break it less often changes nothing, so that is not tried.
pub(super) fn often(io: &mut Io<'_, Origin>, rule: &'static Rule, times: u32) -> Result<bool, Stop> {
    if !io.deviates(rule)? {
        return Ok(false);
    }
    for _ in 1..times {
        if !io.deviates(rule)? {
            return Err(Stop::Dead);
        }
    }
    Ok(true)
}
