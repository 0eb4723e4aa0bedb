//! Ctrl-C and SIGTERM while training: the first asks to stop at the next checkpoint, the second ends the program at once.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use crate::failure::INTERRUPTED;

static WANTED: AtomicBool = AtomicBool::new(false);

/// Installs the handler.
pub(crate) fn listen() -> anyhow::Result<()> {
    let handle = || {
        if WANTED.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        let text = "\nstopping: finishing the epoch and saving; once more to end at once";
        let _closed = writeln!(std::io::stderr(), "{text}");
    };
    ctrlc::set_handler(handle).context("the signal handler cannot be installed")
}

/// Whether somebody asked to stop.
pub(crate) fn is_wanted() -> bool {
    WANTED.load(Ordering::SeqCst)
}
