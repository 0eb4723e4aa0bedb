//! Ctrl-C and SIGTERM. While training the first asks to stop at the next checkpoint, and the second ends the program at
//! once; where nothing can be saved the first does. What is half written then is removed.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use gigabar_market::whole;

use crate::failure::INTERRUPTED;

static WANTED: AtomicBool = AtomicBool::new(false);
/// Whether somebody asks [`is_wanted`], and saves what there is.
static GENTLE: AtomicBool = AtomicBool::new(false);

/// From here on a signal only asks to stop.
pub(crate) fn listen() {
    GENTLE.store(true, Ordering::SeqCst);
}

/// Installs the handler, once, for the whole program.
pub(crate) fn install() -> anyhow::Result<()> {
    let handle = || {
        if !GENTLE.load(Ordering::SeqCst) || WANTED.swap(true, Ordering::SeqCst) {
            whole::abandon();
            let _closed = writeln!(std::io::stderr(), "\ninterrupted");
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
