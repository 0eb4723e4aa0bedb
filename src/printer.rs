//! The one place that writes: stdout is data, stderr is talk.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use anyhow::Context;
use serde::Serialize;

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Warnings and errors.
    Quiet,
    Normal,
    Verbose,
}

/// Knows who listens: a person, a pipe, a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    verbosity: Verbosity,
    json: bool,
    terminal: bool,
    color: bool,
}

impl Printer {
    pub(crate) fn new(verbosity: Verbosity, json: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { verbosity, json, terminal, color: terminal && !unwanted }
    }

    /// Whether stdout is to be JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether bars may be drawn on stderr.
    pub(crate) fn draws_bars(&self) -> bool {
        self.terminal && self.verbosity > Verbosity::Quiet
    }

    /// Whether every metric is wanted.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbosity == Verbosity::Verbose
    }

    /// A line, or lines, of data.
    pub(crate) fn data(&self, text: impl Display) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush()).context("stdout")
    }

    /// Data as JSON.
    pub(crate) fn data_json(&self, value: &impl Serialize) -> anyhow::Result<()> {
        // Written as it is made: the rows of a large sweep are gigabytes.
        let mut out = io::BufWriter::new(io::stdout().lock());
        serde_json::to_writer_pretty(&mut out, value).context("stdout")?;
        writeln!(out).and_then(|()| out.flush()).context("stdout")
    }

    /// Talk.
    pub(crate) fn say(&self, text: impl Display) {
        if self.verbosity > Verbosity::Quiet {
            self.line(text);
        }
    }

    /// What should not be overlooked; said even when quiet.
    pub(crate) fn warn(&self, text: impl Display) {
        self.line(format_args!("{} {text}", self.styled("33;1", "warning:")));
    }

    /// An error's causes, outermost first, and what helps.
    pub(crate) fn error(&self, causes: &[String], hint: Option<&str>) {
        self.line(format_args!("{} {}", self.styled("31;1", "error:"), causes.join(": ")));
        if let Some(hint) = hint {
            self.line("");
            self.line(format_args!("{} {hint}", self.styled("36;1", "hint:")));
        }
    }

    fn styled(&self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Nobody is left to tell when stderr is closed.
    fn line(&self, text: impl Display) {
        let _closed = writeln!(io::stderr().lock(), "{text}");
    }
}
