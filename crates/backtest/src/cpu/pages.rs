//! [`column`]: long columns on large pages.
//!
//! Memory that is new to a process is handed out page by page, at the first touch of each. At 4 KiB a page that costs a
//! path of ten million bars more time than computing it.
#![allow(unsafe_code)]

/// `n` zeros. The system is asked for large pages where they are long.
pub(crate) fn column(n: usize) -> Vec<f64> {
    let column = vec![0.0; n];
    #[cfg(target_os = "linux")]
    advise(&column);
    column
}

/// From here on large pages are worth asking for.
#[cfg(target_os = "linux")]
const LONG_BYTES: usize = 1 << 22;

#[cfg(target_os = "linux")]
fn advise(column: &[f64]) {
    const PAGE: usize = 4096;
    let bytes = size_of_val(column);
    if bytes < LONG_BYTES {
        return;
    }
    let start = column.as_ptr().addr().next_multiple_of(PAGE);
    let end = (column.as_ptr().addr() + bytes) / PAGE * PAGE;
    // SAFETY: the pages lie inside the column; the advice changes no byte of them. A system that does not follow it
    // says so by an error that does not matter.
    unsafe {
        libc::madvise(column.as_ptr().with_addr(start).cast_mut().cast(), end - start, libc::MADV_HUGEPAGE);
    }
}
