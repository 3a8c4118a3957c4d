//! Isolation of a part of the program: a panic ends only that part.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`. If it panics, the message of the panic is returned as the error.
///
/// A panic may leave the data that `work` modifies in an inconsistent state: use this for work on separate
/// data, or where the data is readable after every step.
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
