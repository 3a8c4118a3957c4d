//! The messages of a case as a sequence diagram: connections to the left, the server to the right, time going down.
//!
//! Only the times at the tester are known. An arrow is therefore exact at the tester's end, and a bar on the
//! server's lane spans from the request to its response: the request was handled at some moment in between.
//! Overlapping bars are drawn side by side.

use confute::trace::WireConn;
use maud::{Markup, html};

use super::scene::{Kind, Row, Scene};
use crate::text::clip;

/// Minimum distance between rows.
const ROW: usize = 36;
const TOP: usize = 40;
/// Vertical offset of an arrow between its ends.
const SLANT: usize = 8;
/// Maximum number of characters of a message on its arrow.
const LABEL: usize = 64;
/// Minimum width for the text of a message.
const SHORT: usize = 160;
/// Right edge of the event numbers; `TIME` is that of the times, and `STRIP` the left edge of the bars for
/// open alternatives.
const NUMBER: usize = 44;
const TIME: usize = 114;
const STRIP: usize = 130;
/// Maximum number of columns of bars; bars that find no free column share the last one.
const COLUMNS: usize = 16;
const BAR: usize = 14;
/// Maximum number of connections with a separate rail each; with more, later connections reuse the rails of
/// earlier ones that have ended.
const RAILS: usize = 12;

/// The horizontal position of a connection, and its first and last rows.
struct Lane {
    conn: WireConn,
    x: usize,
    first: usize,
    last: usize,
}

struct Layout {
    lanes: Vec<Lane>,
    y: Vec<usize>,
    /// The column of each bar.
    columns: Vec<usize>,
    /// Horizontal position of the server's lane, and of the right edge of its bars.
    server: (usize, usize),
    /// Horizontal position of the first connection.
    left: usize,
    width: usize,
    height: usize,
    strip: bool,
}

/// Draws the diagram. Messages are links whose names begin with `prefix`.
pub(super) fn svg(scene: &Scene, prefix: &str) -> Markup {
    let layout = Layout::new(scene);
    let (width, height) = (layout.width, layout.height);
    let about = format!("Sequence diagram of {} events, time going down", scene.rows.len());
    html! {
        svg.diagram width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } role="group" aria-label=(about) {
            title { (about) }
            g aria-hidden="true" {
                (layout.rails())
                @for (span, column) in scene.spans.iter().zip(&layout.columns) {
                    @let (from, to) = layout.extent(span.from, span.to);
                    @let of = [span.from, span.to].into_iter().flatten().map(|row| scene.rows[row].number.to_string());
                    rect.span.open[!span.answered] x=(layout.server.0 - BAR / 2 + column * BAR + 1) y=(from)
                        width=(BAR - 2) height=(to - from) rx="2" data-of=(of.collect::<Vec<_>>().join(" ")) {
                        title { "c" (span.conn.0) ": handled at some moment in here" }
                    }
                }
            }
            @for (place, row) in scene.rows.iter().enumerate() {
                (layout.row(place, row, prefix))
            }
        }
    }
}

impl Layout {
    fn new(scene: &Scene) -> Self {
        let rows = &scene.rows;
        let strip = rows.iter().any(|row| row.open.is_some());
        let y = heights(rows);
        let columns = columns(scene, rows.len());
        let bars = columns.iter().max().map_or(1, |most| most + 1);
        let left = if strip { STRIP + 56 } else { STRIP + 16 };
        let (mut lanes, ours) = rails(rows, false, left);
        // Messages on connections of the tester begin at the right of their own rail, those on connections of
        // the server at the right of the server.
        let ends = rows
            .iter()
            .filter(|row| !row.accepted)
            .map(|row| lane(&lanes, row).unwrap_or(left) + 12 + room(row));
        let server = ends.max().unwrap_or(0).max(left + ours + SHORT) + 16;
        let after = server + bars * BAR + 8;
        let theirs = rows.iter().filter(|row| row.accepted).map(room).max();
        let mut width = after + 40;
        if let Some(room) = theirs {
            let (accepted, wide) = rails(rows, true, after + 24 + room.max(SHORT));
            width = after + 24 + room.max(SHORT) + wide + 16;
            lanes.extend(accepted);
        }
        let height = y.last().map_or(TOP, |last| last + 40);
        Self { lanes, y, columns, server: (server, after - BAR / 2), left, width, height, strip }
    }

    /// Returns the vertical extent of a bar.
    fn extent(&self, from: Option<usize>, to: Option<usize>) -> (usize, usize) {
        (from.map_or(TOP - 12, |row| self.y[row]), to.map_or(self.height - 8, |row| self.y[row]))
    }

    fn rails(&self) -> Markup {
        let whole = self.lanes.len() <= RAILS;
        let end = self.height - 8;
        html! {
            @for lane in &self.lanes {
                @let (from, to) = if whole { (TOP - 12, end) } else { (self.y[lane.first] - 12, self.y[lane.last] + 8) };
                line.rail x1=(lane.x) x2=(lane.x) y1=(from) y2=(to) {}
                // Crowded rails have no names: each message names its connection.
                @if whole { text.name x=(lane.x) y=(from - 4) text-anchor="middle" { "c" (lane.conn.0) } }
            }
            line.rail.server x1=(self.server.0) x2=(self.server.0) y1=(TOP - 12) y2=(end) {}
            text.name x=(self.server.0) y=(TOP - 16) text-anchor="middle" { "server" }
            text.name x=(NUMBER) y=(TOP - 16) text-anchor="end" { "no" }
            text.name x=(TIME) y=(TOP - 16) text-anchor="end" { "time" }
            @if self.strip { text.name x=(STRIP) y=(TOP - 16) { "open" } }
        }
    }

    /// Draws one event: its number and time, and its arrow.
    fn row(&self, place: usize, row: &Row, prefix: &str) -> Markup {
        let y = self.y[place];
        let name = format!("{prefix}-m{}", row.number);
        let way = match row.kind {
            Kind::Sent => "sent",
            Kind::Received => "received",
            Kind::Other => "event",
        };
        let spoken = format!("{} {} {way}: {}", row.number, row.lane(), clip(&row.text, 200));
        // The clickable area must not cover the bars.
        let hit = if row.accepted { (self.server.1, self.width) } else { (0, self.server.0 - BAR / 2) };
        let body = html! {
            title { (spoken) }
            rect.hit x=(hit.0) y=(y - 24) width=(hit.1 - hit.0) height=(ROW - 2) {}
            text.beside x=(NUMBER) y=(y + 4) text-anchor="end" { (row.number) }
            @if let Some(micros) = row.micros {
                text.beside x=(TIME) y=(y + 4) text-anchor="end" { (moment(micros)) }
            }
            @if let Some(open) = row.open {
                rect.open x=(STRIP) y=(y - 6) width=(open.checked_ilog2().map_or(0, |log| 6 + log as usize * 2).min(24)) height="12" {}
                text.beside x=(STRIP + 28) y=(y + 4) { (open) }
            }
            (self.arrow(y, row))
            @if row.fatal {
                text.verdict x=(self.label(row)) y=(y + 20) { "nothing explains this" }
            }
        };
        html! {
            @if row.kind == Kind::Other {
                g.event.fatal[row.fatal] id=(name) { (body) }
            } @else {
                a.message.fatal[row.fatal] id=(name) href={ "#" (name) } aria-label=(spoken) { (body) }
            }
        }
    }

    fn label(&self, row: &Row) -> usize {
        if row.accepted { self.server.1 + 16 } else { lane(&self.lanes, row).unwrap_or(self.left) + 12 }
    }

    fn arrow(&self, y: usize, row: &Row) -> Markup {
        let label = clip(&labelled(row), LABEL);
        let x = self.label(row);
        let lane = lane(&self.lanes, row).unwrap_or(self.left);
        let server = if row.accepted { self.server.1 } else { self.server.0 - BAR / 2 };
        // The time is exact at the tester's end and unknown at the server's.
        let (from, to) = match row.kind {
            Kind::Sent => ((lane, y), (server, y + SLANT)),
            Kind::Received => ((server, y - SLANT), (lane, y)),
            Kind::Other => {
                return html! {
                    @if row.conn.is_some() {
                        line.end x1=(lane - 5) y1=(y - 5) x2=(lane + 5) y2=(y + 5) {}
                        line.end x1=(lane - 5) y1=(y + 5) x2=(lane + 5) y2=(y - 5) {}
                    } @else {
                        line.silence x1=(self.left) y1=(y + 6) x2=(self.server.1) y2=(y + 6) {}
                    }
                    text.label x=(x) y=(y - 4) { (label) }
                };
            }
        };
        let up = if row.kind == Kind::Received { SLANT } else { 0 };
        html! {
            line.arrow x1=(from.0) y1=(from.1) x2=(to.0) y2=(to.1) {}
            polygon.head points=(head(from, to)) {}
            circle.dot cx=(lane) cy=(y) r="3" {}
            text.label x=(x) y=(y - 4 - up) { (label) }
        }
    }
}

fn labelled(row: &Row) -> String {
    if row.conn.is_some() { format!("{} {}", row.lane(), row.text) } else { row.text.clone() }
}

/// Returns the width of the message of a row.
fn room(row: &Row) -> usize {
    (labelled(row).chars().count().min(LABEL) * 73).div_ceil(10)
}

/// Returns the horizontal position of the connection of a row.
fn lane(lanes: &[Lane], row: &Row) -> Option<usize> {
    lanes.iter().find(|lane| Some(lane.conn) == row.conn).map(|lane| lane.x)
}

/// Returns the vertical position of each row: a delay adds space, logarithmically.
fn heights(rows: &[Row]) -> Vec<usize> {
    let mut y = TOP + 16;
    let mut before: Option<&Row> = None;
    let heights = rows.iter().map(|row| {
        if let Some(last) = before {
            let delay = row.micros.unwrap_or(0).saturating_sub(last.micros.unwrap_or(u64::MAX));
            let room = (1 + delay / 1000).ilog2() as usize * 5;
            y += ROW + room.min(64) + if last.fatal { 20 } else { 0 };
        }
        before = Some(row);
        y
    });
    heights.collect()
}

/// Returns the connections on one side of the server, and their total width.
fn rails(rows: &[Row], accepted: bool, left: usize) -> (Vec<Lane>, usize) {
    let mut lanes: Vec<Lane> = Vec::new();
    for (place, row) in rows.iter().enumerate().filter(|(_, row)| row.accepted == accepted) {
        let Some(conn) = row.conn else { continue };
        match lanes.iter_mut().find(|lane| lane.conn == conn) {
            Some(lane) => lane.last = place,
            None => lanes.push(Lane { conn, x: 0, first: place, last: place }),
        }
    }
    let reuse = lanes.len() > RAILS;
    if !reuse {
        lanes.sort_by_key(|lane| lane.conn);
    }
    // The last row of the connection on each rail.
    let mut rails: Vec<usize> = Vec::new();
    for lane in &mut lanes {
        let free = rails.iter().position(|last| reuse && *last + 1 < lane.first);
        let rail = free.unwrap_or(rails.len());
        if free.is_none() {
            rails.push(0);
        }
        rails[rail] = lane.last;
        lane.x = rail;
    }
    let gap = if rails.len() > RAILS { 24 } else { 36 };
    lanes.iter_mut().for_each(|lane| lane.x = left + lane.x * gap);
    (lanes, rails.len() * gap)
}

/// Assigns a column to each bar, so that overlapping bars are side by side.
fn columns(scene: &Scene, rows: usize) -> Vec<usize> {
    let mut ends: Vec<usize> = Vec::new();
    let columns = scene.spans.iter().map(|span| {
        let (from, to) = (span.from.unwrap_or(0), span.to.unwrap_or(rows));
        let free = ends.iter().position(|end| *end <= from);
        let column = free.unwrap_or_else(|| ends.len().min(COLUMNS - 1));
        match ends.get_mut(column) {
            Some(end) => *end = (*end).max(to),
            None => ends.push(to),
        }
        column
    });
    columns.collect()
}

fn head(from: (usize, usize), to: (usize, usize)) -> String {
    let back = if from.0 < to.0 { to.0 - 9 } else { to.0 + 9 };
    format!("{},{} {back},{} {back},{}", to.0, to.1, to.1 - 4, to.1 + 4)
}

/// Formats a time: `12.345 ms`, `2.501 s`.
pub(super) fn moment(micros: u64) -> String {
    let (of, unit) = if micros < 1_000_000 { (micros, "ms") } else { (micros / 1000, "s") };
    format!("{}.{:03} {unit}", of / 1000, of % 1000)
}
