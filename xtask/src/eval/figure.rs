//! The paper's Figure 14 for our measurements: for every server a box of times and a bar of messages.
//!
//! The SVG is written directly: no chart library offers a row with two scales and an additional mark.

use std::fmt::Write as _;

use super::record::Quartiles;
use super::report::Row;

const ROW: f64 = 20.0;
const TOP: f64 = 74.0;
const NAMES: f64 = 330.0;
const PANEL: f64 = 300.0;
const GAP: f64 = 40.0;

/// A logarithmic scale.
struct Scale {
    left: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn at(&self, number: f64) -> f64 {
        let part = (number.clamp(self.from, self.to) / self.from).ln() / (self.to / self.from).ln();
        self.left + PANEL * part
    }

    /// Returns every power of ten on the scale.
    fn powers(&self) -> impl Iterator<Item = f64> {
        let (from, to) = (self.from.log10().round() as i32, self.to.log10().round() as i32);
        (from..=to).map(|power| 10_f64.powi(power))
    }
}

/// Draws the figure as SVG.
pub(crate) fn draw(title: &str, rows: &[Row]) -> String {
    let times = Scale { left: NAMES, from: 0.001, to: 100.0 };
    let counts = Scale { left: NAMES + PANEL + GAP, from: 1.0, to: 10_000.0 };
    let (width, bottom) = (NAMES + 2.0 * PANEL + GAP + 24.0, TOP + ROW * rows.len() as f64);
    let height = bottom + 30.0;
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="system-ui, sans-serif" font-size="12">
<style>
:root {{ --ink: #222; --paper: #fff; --line: #ddd; --time: #2f6fb0; --count: #b0632f; --old: #222; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #ddd; --paper: #161616; --line: #3a3a3a; --time: #7db4ea; --count: #e2a06f; --old: #ddd; }} }}
.paper {{ fill: var(--paper); }} text {{ fill: var(--ink); }} .grid {{ stroke: var(--line); }}
.time {{ stroke: var(--time); fill: var(--time); }} .count {{ stroke: var(--count); fill: var(--count); }}
.box {{ fill-opacity: 0.35; }} .old {{ fill: none; stroke: var(--old); stroke-width: 1.5; }}
</style>
<rect class="paper" width="{width}" height="{height}"/>
<text x="12" y="22" font-size="15" font-weight="600">{}</text>
"#,
        escape(title)
    );
    for (scale, name, unit) in [
        (&times, "time to refutation", " s"),
        (&counts, "messages sent and received (◇ original's median)", ""),
    ] {
        let _ = writeln!(svg, r#"<text x="{}" y="46">{name}</text>"#, scale.left);
        for power in scale.powers() {
            let x = scale.at(power);
            let _ = writeln!(
                svg,
                r#"<line class="grid" x1="{x:.1}" x2="{x:.1}" y1="{}" y2="{bottom}"/><text x="{x:.1}" y="{}" text-anchor="middle" font-size="10">{power}{unit}</text>"#,
                TOP - 8.0,
                TOP - 12.0,
            );
        }
    }
    for (at, row) in rows.iter().enumerate() {
        let middle = TOP + ROW * (at as f64 + 0.5);
        let found = if row.is_full() { String::new() } else { format!(" ({}/{})", row.refuted, row.runs) };
        let _ = writeln!(
            svg,
            r#"<text x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
            NAMES - 12.0,
            middle + 4.0,
            escape(&format!("{}{found}", row.subject))
        );
        if let Some(seconds) = &row.seconds {
            boxed(&mut svg, &times, seconds, middle);
        }
        if let Some(messages) = &row.messages {
            barred(&mut svg, &counts, messages, middle);
        }
        if let Some(original) = row.original {
            let x = counts.at(original as f64);
            let _ = writeln!(
                svg,
                r#"<path class="old" d="M{:.1} {middle:.1} l5 -5 l5 5 l-5 5 z"><title>original: {original}</title></path>"#,
                x - 5.0
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws whiskers from minimum to maximum, a box between the quartiles, and a line at the median.
fn boxed(svg: &mut String, scale: &Scale, it: &Quartiles, y: f64) {
    let [least, lower, median, upper, most] =
        [it.least, it.lower, it.median, it.upper, it.most].map(|number| scale.at(number));
    let _ = writeln!(
        svg,
        r#"<g class="time"><title>median {:.3} s, quartiles {:.3} and {:.3}, {:.3} to {:.3}</title><line x1="{least:.1}" x2="{most:.1}" y1="{y:.1}" y2="{y:.1}"/><rect class="box" x="{lower:.1}" y="{:.1}" width="{:.1}" height="10"/><line stroke-width="2.5" x1="{median:.1}" x2="{median:.1}" y1="{:.1}" y2="{:.1}"/></g>"#,
        it.median,
        it.lower,
        it.upper,
        it.least,
        it.most,
        y - 5.0,
        (upper - lower).max(1.0),
        y - 6.0,
        y + 6.0,
    );
}

/// Draws whiskers from minimum to maximum, a bar between the quartiles, and a circle at the median.
fn barred(svg: &mut String, scale: &Scale, it: &Quartiles, y: f64) {
    let [least, lower, median, upper, most] =
        [it.least, it.lower, it.median, it.upper, it.most].map(|number| scale.at(number));
    let _ = writeln!(
        svg,
        r#"<g class="count"><title>median {}, quartiles {} and {}, {} to {}</title><line x1="{least:.1}" x2="{most:.1}" y1="{y:.1}" y2="{y:.1}"/><line stroke-width="5" x1="{lower:.1}" x2="{upper:.1}" y1="{y:.1}" y2="{y:.1}"/><circle cx="{median:.1}" cy="{y:.1}" r="4.5"/></g>"#,
        it.median, it.lower, it.upper, it.least, it.most,
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_logarithmic_and_end_where_the_panel_does() {
        let scale = Scale { left: 10.0, from: 1.0, to: 100.0 };
        let places = [0.1, 1.0, 10.0, 1000.0].map(|number| scale.at(number).round() as i64);
        assert_eq!(places, [10, 10, 160, 310]);
        assert_eq!(scale.powers().map(|power| power.round() as i64).collect::<Vec<_>>(), [1, 10, 100]);
    }
}
