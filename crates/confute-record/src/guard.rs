//! Runs a part of the program apart from the rest: a panic in it costs that part only.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`. If it panics, the message of the panic is returned as the error.
///
/// Whatever `work` changes may be left half done: use it for what writes to a place of its own, or where every step leaves
/// something that can be read.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(guarded(|| 7), Ok(7));
        let empty: [u8; 0] = [];
        let place = std::hint::black_box(3);
        let why = guarded(|| empty[place]).unwrap_err();
        assert!(why.contains("out of bounds"), "{why}");
        assert_eq!(guarded(|| std::panic::panic_any(3)), Err("a panic without a message".to_owned()));
    }
}
