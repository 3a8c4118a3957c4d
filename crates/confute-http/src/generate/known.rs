//! Knowledge about a resource from the responses of the case so far: its existence, validators and content.

use std::sync::Arc;

use confute_drive::Past;

use crate::ask::{AskRequest, AskTag};
use crate::message::{Message, Method, Response, Tag};
use crate::protocol::Http;

/// Number of latest exchanges that are considered.
const RECENT: usize = 200;

/// Returns `true` if the resource `full` has this name or took the place of one that had.
fn is_named(full: &str, name: &str) -> bool {
    full.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the resource that takes the place of `name` after `generation` resources that were given up.
pub(super) fn successor(name: &Arc<str>, generation: u32) -> Arc<str> {
    if generation == 0 { name.clone() } else { format!("{name}.{generation}").into() }
}

/// Returns the number of writes to a resource whose responses leave open if they are performed.
pub(super) fn left_open(past: &Past<Http>, name: &str) -> usize {
    let writes = latest(past).filter(|(_, ask, _)| &*ask.name == name && !ask.method.is_safe());
    writes
        .filter(|(_, _, replies)| {
            replies.iter().find_map(Message::response).is_some_and(Response::leaves_open)
        })
        .count()
}

/// Returns the latest exchanges with the server itself, the last first: the step, the request and the responses.
fn latest(past: &Past<Http>) -> impl Iterator<Item = (usize, &AskRequest, &[Message])> {
    let own = past
        .exchanges
        .iter()
        .rev()
        .filter_map(|exchange| Some((exchange.step, exchange.ask.own_request()?, &*exchange.replies)));
    own.take(RECENT)
}

/// The state of a resource as the responses so far suggest it.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// `true` if the resource seems to exist.
    pub(super) exists: bool,
    /// Step whose response had the tag that seems to be current.
    pub(super) tag: Option<usize>,
    /// `true` if that tag is weak.
    pub(super) is_weak: bool,
    /// Step whose response had the tag before that.
    pub(super) stale: Option<usize>,
    /// Step whose response had the tag of another resource.
    pub(super) foreign: Option<usize>,
    /// Step whose response had the `Last-Modified` that seems to be current.
    pub(super) date: Option<usize>,
    /// The content that was put or read last.
    pub(super) body: Option<Arc<str>>,
}

impl Known {
    /// Collects the knowledge about the resource that has this name now.
    pub(super) fn of(past: &Past<Http>, name: &Arc<str>) -> Self {
        let mut known = Known::default();
        let mut current: Option<&Tag> = None;
        let mut is_decided = false;
        let mut current_name: Option<&Arc<str>> = None;
        for (step, ask, replies) in latest(past) {
            let response = replies.iter().rev().find_map(Message::response);
            let Some(response) = response else { continue };
            if current_name.is_none() && is_named(&ask.name, name) {
                current_name = Some(&ask.name);
            }
            if current_name != Some(&ask.name) {
                if response.etag.is_some() {
                    known.foreign.get_or_insert(step);
                }
                continue;
            }
            let is_success = (200..300).contains(&response.status) && response.status != 202;
            if !is_decided {
                let deletes = ask.method == Method::Delete && is_success;
                known.exists = !deletes && (is_success || matches!(response.status, 304 | 412 | 416));
                is_decided = deletes || is_success || response.status == 404;
            }
            if known.body.is_none() && is_success {
                let is_get = ask.method == Method::Get && response.status == 200;
                known.body = if is_get { Some(response.body.clone()) } else { ask.body.clone() };
            }
            if response.last_modified.is_some() {
                known.date.get_or_insert(step);
            }
            match (&response.etag, current) {
                (Some(tag), None) => {
                    (known.tag, current) = (Some(step), Some(tag));
                    known.is_weak = tag.weak;
                }
                (Some(tag), Some(other)) if tag.opaque != other.opaque => {
                    known.stale = Some(step);
                    break;
                }
                _ => {}
            }
        }
        known
    }

    /// Returns the tag in the response to `step` or, without a step, one that no server has.
    pub(super) fn seen(step: Option<usize>, kind: fn(usize) -> AskTag) -> AskTag {
        step.map_or_else(|| AskTag::Guess(Tag::strong(Tag::MADE_UP)), kind)
    }

    /// Returns the current tag as it is.
    pub(super) fn current(&self) -> AskTag {
        self.tag(AskTag::Seen)
    }

    /// Returns the current tag, as it is or with its strength changed.
    pub(super) fn tag(&self, kind: fn(usize) -> AskTag) -> AskTag {
        Self::seen(self.tag, kind)
    }
}
