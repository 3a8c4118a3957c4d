//! Text styles. Output without colour support strips them.

use anstyle::{AnsiColor, Style};

/// Style of a good result.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Style of a refutation.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Style of an inconclusive result or a warning.
pub const OPEN: Style = AnsiColor::Yellow.on_default().bold();
/// Style of the layout.
pub const NOTE: Style = AnsiColor::Cyan.on_default();
/// Style of emphasized text.
pub const STRONG: Style = Style::new().bold();
