//! What stands out, and how. Whoever shows it where there is no colour strips it.

use anstyle::{AnsiColor, Style};

/// As it should be.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Proven wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Not known, or not serious.
pub const OPEN: Style = AnsiColor::Yellow.on_default().bold();
/// What belongs to the form.
pub const NOTE: Style = AnsiColor::Cyan.on_default();
/// What matters most.
pub const STRONG: Style = Style::new().bold();
