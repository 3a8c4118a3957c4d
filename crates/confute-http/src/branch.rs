//! Branches for coverage: kinds of requests, and the outcomes that a correct server can give to each.
//!
//! A kind consists of what the model distinguishes: the method, the conditions, and their form (a weak tag, a list,
//! several lines). The response shows whether a condition held. Requests of several kinds at once are not counted.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::message::{IfRange, Method, Odd, Request, Response, Tags};

/// The form of `If-Match` or `If-None-Match`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Any,
    Strong,
    Weak,
    List,
    Lines,
}

const FORMS: [Form; 5] = [Form::Any, Form::Strong, Form::Weak, Form::List, Form::Lines];

impl Form {
    fn of(tags: &Tags) -> Self {
        match tags {
            Tags::Any => Form::Any,
            Tags::Lines(lines) => match &lines[..] {
                [line] => match &line[..] {
                    [tag] if tag.weak => Form::Weak,
                    [_] => Form::Strong,
                    _ => Form::List,
                },
                _ => Form::Lines,
            },
        }
    }

    fn name(self) -> &'static str {
        match self {
            Form::Any => "*",
            Form::Strong => "strong",
            Form::Weak => "weak",
            Form::List => "list",
            Form::Lines => "lines",
        }
    }
}

/// The feature of a request besides its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aspect {
    Plain,
    Match(Form),
    NoneMatch(Form),
    MatchAndNoneMatch,
    ModifiedSince,
    UnmodifiedSince,
    NoneMatchAndModifiedSince,
    MatchAndUnmodifiedSince,
    Range,
    IfRangeTag,
    IfRangeDate,
    Chunked,
    Expect,
    Close,
    Odd(Odd),
}

impl Aspect {
    /// Returns the aspect of a request, or `None` if it has more than one.
    fn of(request: &Request) -> Option<Self> {
        let conditions = (&request.if_match, &request.if_none_match);
        let dates = (request.if_modified_since, request.if_unmodified_since);
        let aspects = [
            match (conditions, dates) {
                ((None, None), (None, None)) => None,
                ((Some(tags), None), (None, None)) => Some(Aspect::Match(Form::of(tags))),
                ((None, Some(tags)), (None, None)) => Some(Aspect::NoneMatch(Form::of(tags))),
                ((Some(_), Some(_)), (None, None)) => Some(Aspect::MatchAndNoneMatch),
                ((None, None), (Some(_), None)) => Some(Aspect::ModifiedSince),
                ((None, None), (None, Some(_))) => Some(Aspect::UnmodifiedSince),
                ((None, Some(_)), (Some(_), None)) => Some(Aspect::NoneMatchAndModifiedSince),
                ((Some(_), None), (None, Some(_))) => Some(Aspect::MatchAndUnmodifiedSince),
                _ => return None,
            },
            match &request.if_range {
                _ if request.range.is_empty() => None,
                None => Some(Aspect::Range),
                Some(IfRange::Tag(_)) => Some(Aspect::IfRangeTag),
                Some(IfRange::Date(_)) => Some(Aspect::IfRangeDate),
            },
            request.chunked.then_some(Aspect::Chunked),
            request.expect.map(|_| Aspect::Expect),
            (request.close || request.close_twice).then_some(Aspect::Close),
            request.odd.map(Aspect::Odd),
        ];
        let mut there = aspects.into_iter().flatten();
        let first = there.next().unwrap_or(Aspect::Plain);
        there.next().is_none().then_some(first)
    }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Aspect::Plain => f.write_str("plain"),
            Aspect::Match(form) => write!(f, "If-Match {}", form.name()),
            Aspect::NoneMatch(form) => write!(f, "If-None-Match {}", form.name()),
            Aspect::MatchAndNoneMatch => f.write_str("If-Match with If-None-Match"),
            Aspect::ModifiedSince => f.write_str("If-Modified-Since"),
            Aspect::UnmodifiedSince => f.write_str("If-Unmodified-Since"),
            Aspect::NoneMatchAndModifiedSince => f.write_str("If-None-Match with If-Modified-Since"),
            Aspect::MatchAndUnmodifiedSince => f.write_str("If-Match with If-Unmodified-Since"),
            Aspect::Range => f.write_str("Range"),
            Aspect::IfRangeTag => f.write_str("If-Range tag"),
            Aspect::IfRangeDate => f.write_str("If-Range date"),
            Aspect::Chunked => f.write_str("chunked"),
            Aspect::Expect => f.write_str("Expect"),
            Aspect::Close => f.write_str("Connection: close"),
            Aspect::Odd(odd) => odd.fmt(f),
        }
    }
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Any response.
    Answer,
    Created,
    Done,
    Part,
    NotModified,
    Missing,
    Failed,
    Unsatisfiable,
}

impl End {
    fn fits(self, status: u16) -> bool {
        match self {
            End::Answer => true,
            End::Created => status == 201,
            End::Done => (200..300).contains(&status) && status != 206,
            End::Part => status == 206,
            End::NotModified => status == 304,
            End::Missing => matches!(status, 404 | 410),
            End::Failed => status == 412,
            End::Unsatisfiable => status == 416,
        }
    }

    fn name(self) -> &'static str {
        match self {
            End::Answer => "answered",
            End::Created => "201",
            End::Done => "2xx",
            End::Part => "206",
            End::NotModified => "304",
            End::Missing => "404",
            End::Failed => "412",
            End::Unsatisfiable => "416",
        }
    }
}

/// One of the methods that are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Get,
    Head,
    Put,
    Delete,
    Options,
    Other,
}

/// Returns the verb of a request. HEAD counts as GET, except for plain requests and ranges: the two are the same to
/// conditions and to framing.
fn verb(request: &Request, aspect: Aspect) -> Verb {
    match request.method {
        Method::Head if matches!(aspect, Aspect::Plain | Aspect::Range) => Verb::Head,
        Method::Get | Method::Head => Verb::Get,
        Method::Put => Verb::Put,
        Method::Delete => Verb::Delete,
        Method::Options => Verb::Options,
        Method::Other(_) => Verb::Other,
    }
}

type Branch = (Verb, Aspect, End);

/// All branches that can be reached by reading.
static READS: LazyLock<Vec<Branch>> = LazyLock::new(|| {
    use Aspect::{Close, IfRangeDate, IfRangeTag, Match, ModifiedSince, NoneMatch, Plain, UnmodifiedSince};
    let mut all = Vec::new();
    let mut add = |verb, aspect, ends: &[End]| all.extend(ends.iter().map(|end| (verb, aspect, *end)));
    add(Verb::Get, Plain, &[End::Done, End::Missing]);
    add(Verb::Head, Plain, &[End::Done, End::Missing]);
    for form in FORMS {
        // In If-Match a weak tag matches nothing, and `*` matches any existing content.
        add(
            Verb::Get,
            Match(form),
            match form {
                Form::Any => &[End::Done, End::Missing],
                Form::Weak => &[End::Failed],
                _ => &[End::Done, End::Failed],
            },
        );
        add(
            Verb::Get,
            NoneMatch(form),
            match form {
                Form::Any => &[End::NotModified, End::Missing],
                _ => &[End::Done, End::NotModified],
            },
        );
    }
    for aspect in [ModifiedSince, Aspect::NoneMatchAndModifiedSince] {
        add(Verb::Get, aspect, &[End::Done, End::NotModified]);
    }
    add(Verb::Get, UnmodifiedSince, &[End::Done, End::Failed]);
    add(Verb::Get, Aspect::Range, &[End::Part, End::Unsatisfiable]);
    add(Verb::Head, Aspect::Range, &[End::Done]);
    for aspect in [IfRangeTag, IfRangeDate] {
        add(Verb::Get, aspect, &[End::Part, End::Done]);
    }
    for odd in Odd::without_content() {
        add(Verb::Get, Aspect::Odd(*odd), &[End::Answer]);
    }
    add(Verb::Options, Plain, &[End::Answer]);
    add(Verb::Get, Close, &[End::Answer]);
    all
});

/// All branches that can be reached by reading and writing.
static ALL: LazyLock<Vec<Branch>> = LazyLock::new(|| {
    use Aspect::{Match, NoneMatch, Plain};
    let mut all = READS.clone();
    let mut add = |verb, aspect, ends: &[End]| all.extend(ends.iter().map(|end| (verb, aspect, *end)));
    add(Verb::Put, Plain, &[End::Created, End::Done]);
    add(Verb::Delete, Plain, &[End::Done, End::Missing]);
    for verb in [Verb::Put, Verb::Delete] {
        for form in FORMS {
            add(
                verb,
                Match(form),
                match (form, verb) {
                    (Form::Weak, _) => &[End::Failed],
                    // DELETE of a missing resource has nothing to do, so its condition makes no difference.
                    (Form::Any, Verb::Delete) => &[End::Done],
                    _ => &[End::Done, End::Failed],
                },
            );
            add(
                verb,
                NoneMatch(form),
                match (form, verb) {
                    (Form::Any, Verb::Delete) => &[End::Failed],
                    _ => &[End::Done, End::Failed],
                },
            );
        }
    }
    let dates = [Aspect::UnmodifiedSince, Aspect::MatchAndUnmodifiedSince, Aspect::MatchAndNoneMatch];
    for aspect in dates {
        add(Verb::Put, aspect, &[End::Done, End::Failed]);
    }
    add(Verb::Put, Aspect::Chunked, &[End::Answer]);
    add(Verb::Put, Aspect::Expect, &[End::Answer]);
    add(Verb::Other, Plain, &[End::Answer]);
    // A request whose chunk size is too large need not be answered.
    for odd in Odd::ALL.into_iter().filter(|odd| !odd.is_too_long()) {
        add(Verb::Put, Aspect::Odd(odd), &[End::Answer]);
    }
    all
});

fn all(only_reads: bool) -> &'static [Branch] {
    if only_reads { &READS } else { &ALL }
}

/// Returns the names of the branches.
pub(crate) fn names(only_reads: bool) -> Vec<String> {
    let name = |(verb, aspect, end): &Branch| {
        let verb = format!("{verb:?}").to_uppercase();
        format!("{verb} {aspect}: {}", end.name())
    };
    all(only_reads).iter().map(name).collect()
}

/// Returns the index and the outcome of each branch that this request can reach.
fn ahead(request: &Request, only_reads: bool) -> impl Iterator<Item = (usize, End)> {
    let kind = Aspect::of(request).map(|aspect| (verb(request, aspect), aspect));
    let numbered = all(only_reads).iter().enumerate();
    numbered.filter_map(move |(place, (verb, aspect, end))| {
        (kind == Some((*verb, *aspect))).then_some((place, *end))
    })
}

/// Returns the index of the branch that this exchange reached. It is the first that fits: a 201 is also a 2xx.
pub(crate) fn reached(request: &Request, response: &Response, only_reads: bool) -> Option<usize> {
    ahead(request, only_reads).find(|(_, end)| end.fits(response.status)).map(|(place, _)| place)
}

/// Returns the count of the least reached branch among those that this request can reach, or `None` if there are none.
pub(crate) fn least(request: &Request, reached: &[AtomicU64], only_reads: bool) -> Option<u64> {
    let count = |(place, _): (usize, End)| reached.get(place).map(|count| count.load(Ordering::Relaxed));
    ahead(request, only_reads).filter_map(count).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Tag;

    fn told(request: &Request, status: u16) -> Option<String> {
        let response = Response { status, ..Response::default() };
        reached(request, &response, false).map(|place| names(false)[place].clone())
    }

    #[test]
    fn kinds_are_told_apart() {
        let get = Request { if_none_match: Some(Tags::one(Tag::weak("x"))), ..Request::default() };
        assert_eq!(told(&get, 304).as_deref(), Some("GET If-None-Match weak: 304"));
        assert_eq!(told(&get, 500), None, "no branch of a correct server");
        let head = Request { method: Method::Head, ..get.clone() };
        assert_eq!(told(&head, 200).as_deref(), Some("GET If-None-Match weak: 2xx"));
        let put = Request { method: Method::Put, ..Request::default() };
        assert_eq!(told(&put, 201).as_deref(), Some("PUT plain: 201"));
        assert_eq!(told(&put, 204).as_deref(), Some("PUT plain: 2xx"));
        let both = Request { chunked: true, close: true, ..put };
        assert_eq!(told(&both, 201), None, "more than one thing at once");
    }

    #[test]
    fn no_two_are_the_same() {
        let mut names = names(false);
        assert!(names.len() > READS.len());
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn the_least_reached_counts() {
        let reached: Vec<AtomicU64> = (0..ALL.len() as u64).map(|_| AtomicU64::new(7)).collect();
        let get = Request { if_match: Some(Tags::one(Tag::strong("x"))), ..Request::default() };
        assert_eq!(least(&get, &reached, false), Some(7));
        let (place, _) = ahead(&get, false).last().unwrap();
        reached[place].store(2, Ordering::Relaxed);
        assert_eq!(least(&get, &reached, false), Some(2));
        assert_eq!(least(&get, &[], false), None);
    }
}
