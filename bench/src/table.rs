//! Plain-text tables with aligned columns, and number formats for them.

/// A table whose first `left` columns contain words, the others numbers.
pub(crate) struct Table {
    left: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with these headings.
    pub(crate) fn new<const N: usize>(left: usize, headings: [&str; N]) -> Self {
        Self { left, rows: vec![headings.map(str::to_owned).to_vec()] }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl Into<Vec<String>>) {
        self.rows.push(cells.into());
    }

    /// Formats the table; every line ends with a line feed.
    pub(crate) fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![0; columns];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column < self.left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

/// Formats a number of seconds in a suitable unit.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.001 => format!("{:.0} us", s * 1e6),
        s if s < 0.1 => format!("{:.2} ms", s * 1e3),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// Formats a number of bytes in MiB.
pub(crate) fn mib(bytes: u64) -> String {
    format!("{:.1}", megabytes(bytes))
}

/// Formats a ratio.
pub(crate) fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2}") } else { format!("{ratio:.0}") }
}

#[expect(clippy::cast_precision_loss, reason = "a figure to be read needs no 53 bits")]
pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(1, ["what", "n"]);
        table.row(["a", "10"].map(str::to_owned));
        table.row(["longer", "1"].map(str::to_owned));
        assert_eq!(table.text(), "what     n\na       10\nlonger   1\n");
    }
}
