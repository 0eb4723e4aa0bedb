//! How a command ends: its exit code, and what is said about it.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use gigabar::report::sweep::UnknownColumn;
use gigabar_backtest::gpu::EvaluateError;
use gigabar_backtest::metric::catalog::UnknownMetric;
use gigabar_backtest::policy::{PolicyError, SignalsError};
use gigabar_backtest::rules::RulesError;
use gigabar_gpu::GpuError;
use gigabar_learn::error::LearnError;
use gigabar_market::feature::FeatureError;
use gigabar_market::load::LoadError;
use gigabar_market::window::WindowError;
use gigabar_market::write::WriteError;
use thiserror::Error;

use crate::config::ConfigError;
use crate::printer::Printer;

/// A guard or a threshold failed.
const THRESHOLD: u8 = 1;
/// Usage, data or environment.
const ERROR: u8 = 2;
/// 128 + SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

/// An error of the program itself, with what helps.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct Hinted {
    message: String,
    hint: String,
}

/// An error with a hint.
pub(crate) fn hinted(message: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    Hinted { message: message.into(), hint: hint.into() }.into()
}

/// What failed when training had already saved something, with the command that continues it.
pub(crate) fn broken_off(resume: &str) -> Hinted {
    Hinted { message: "training broke off".into(), hint: format!("what was saved can be continued: {resume}") }
}

/// An end that is neither success nor an error.
#[derive(Debug, Error)]
pub(crate) enum Early {
    /// A signal asked to stop; everything is checkpointed.
    #[error("interrupted; continue with: {resume}")]
    Interrupted { resume: String },
    /// The training guard was told to stop and did; everything is checkpointed.
    #[error("the training guard stopped the run: {reason}")]
    Guard { reason: String, resume: String },
    /// A threshold the user set was missed.
    #[error("{0}")]
    Threshold(String),
}

/// Says how it ended and returns the exit code.
pub(crate) fn conclude(result: anyhow::Result<()>, printer: &Printer) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    if reader_has_gone(&error) {
        return ExitCode::SUCCESS;
    }
    match error.downcast_ref::<Early>() {
        Some(early @ Early::Interrupted { .. }) => {
            printer.warn(early);
            return ExitCode::from(INTERRUPTED);
        }
        Some(early @ Early::Guard { resume, .. }) => {
            let hint = format!("see metrics.jsonl; what was saved can be continued, until it stops again: {resume}");
            printer.error(&[early.to_string()], Some(&hint));
            return ExitCode::from(THRESHOLD);
        }
        Some(early @ Early::Threshold(_)) => {
            printer.error(&[early.to_string()], None);
            return ExitCode::from(THRESHOLD);
        }
        None => {}
    }
    let hint = error.chain().find_map(hint_of);
    printer.error(&causes(&error), hint.as_deref());
    ExitCode::from(ERROR)
}

/// What is said of an error, and what helps.
pub(crate) fn told(error: &anyhow::Error) -> (String, Option<String>) {
    (causes(error).join(": "), error.chain().find_map(hint_of))
}

/// `gigabar … | head` closes stdout early: that is no error.
fn reader_has_gone(error: &anyhow::Error) -> bool {
    let io = |cause: &'_ (dyn Error + 'static)| {
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        // It names its cause's cause, not the cause.
        if let Some(error) = cause.downcast_ref::<serde_json::Error>() {
            return error.io_error_kind();
        }
        match cause.downcast_ref::<csv::Error>()?.kind() {
            csv::ErrorKind::Io(error) => Some(error.kind()),
            _ => None,
        }
    };
    error.chain().filter_map(io).any(|kind| kind == io::ErrorKind::BrokenPipe)
}

/// The chain's messages; a cause that its wrapper already quotes is not said twice.
fn causes(error: &anyhow::Error) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if !out.last().is_some_and(|outer| outer.contains(&text)) {
            out.push(text);
        }
    }
    out
}

fn hint_of(cause: &(dyn Error + 'static)) -> Option<String> {
    macro_rules! hint {
        ($($kind:ty),*) => { $(if let Some(error) = cause.downcast_ref::<$kind>() { return error.hint(); })* };
    }
    hint!(
        LoadError,
        WriteError,
        FeatureError,
        WindowError,
        PolicyError,
        SignalsError,
        RulesError,
        LearnError,
        ConfigError
    );
    hint!(UnknownMetric, UnknownColumn, GpuError, EvaluateError);
    cause.downcast_ref::<Hinted>().map(|error| error.hint.clone())
}
