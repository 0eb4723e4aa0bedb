//! Decoders that panic on files that lie about themselves.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a decoder whose panic becomes an error of its file. A program's panic hook that asks
/// says nothing then, as nothing is wrong with the program.
pub fn is_decoding() -> bool {
    DECODING.get()
}

/// What `decode` gives; `None` when it panics.
pub(crate) fn guarded<T>(decode: impl FnOnce() -> T) -> Option<T> {
    DECODING.set(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(false);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_answer() {
        assert_eq!(guarded(|| 1), Some(1));
        assert!(!is_decoding());
        assert_eq!(guarded(|| assert!(!is_decoding(), "inside")), None);
        assert!(!is_decoding());
    }
}
