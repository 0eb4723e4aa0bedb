//! The verdict in plain words: can the result be told from luck, and was it worth more than holding?

use serde::Serialize;

use super::format::{self, counted, percent, signed};
use crate::report::refused::refused_orders;
use crate::report::run_report::RunReport;
use crate::report::verdict::{Luck, probability};

/// A title, a few sentences, and the box's colour.
#[derive(Debug, Serialize)]
pub(super) struct Verdict {
    pub(super) tone: &'static str,
    pub(super) title: String,
    pub(super) lines: Vec<String>,
}

impl Verdict {
    pub(super) fn new(run: &RunReport) -> Self {
        let pooled = &run.report.pooled;
        let luck = Luck::of(&run.report);
        let title = luck.title(run.report.n_trials);
        let tone = match luck {
            Luck::Empty => return Self::of("maybe", title, vec![]),
            Luck::Idle => {
                let line = "The account stayed flat in every window, so there is neither skill nor luck to speak of.";
                let mut lines = vec![refused(run), line.into(), against_holding(run)];
                lines.retain(|line| !line.is_empty());
                return Self::of("maybe", title, lines);
            }
            Luck::Unknown | Luck::Suggestive => "maybe",
            Luck::Losing | Luck::Luck => "bad",
            Luck::Skill => "good",
        };
        let first = run.seen.as_ref().map_or_else(|| evidence(run), |seen| format!("{seen}."));
        let mut lines = vec![refused(run), first, against_holding(run), free_of_cost(run)];
        lines.retain(|line| !line.is_empty());
        if pooled.ruined {
            lines.insert(0, ruin(run));
            return Self::of("bad", "The account was ruined.", lines);
        }
        if run.seen.is_some() {
            return Self::of("maybe", "Not out of sample, if this is the market it was trained on.", lines);
        }
        Self::of(tone, title, lines)
    }

    fn of(tone: &'static str, title: &str, lines: Vec<String>) -> Self {
        Self { tone, title: title.into(), lines }
    }
}

fn evidence(run: &RunReport) -> String {
    let report = &run.report;
    // That it loses money does not depend on how many were tried.
    let losing = Luck::of(report) == Luck::Losing;
    let p = if losing { report.psr } else { probability(report) };
    let Some(p) = p else { return String::new() };
    // A window's first bar has no return.
    let returns = if run.sweep.is_some() { "bar return" } else { "out-of-sample bar return" };
    let bars = counted(report.pooled.n_bars, returns);
    let sharpe = format::number(report.pooled.sharpe, 2);
    let hurdle = if report.n_trials > 1 && !losing {
        format!("exceeds what the best of {} trials without skill would show", format::count(report.n_trials))
    } else {
        "is above zero".into()
    };
    let counted_as = match &run.sweep {
        Some(sweep) => {
            let one = sweep.ranked.one();
            format!(" It was chosen on these very bars: only bars that no {one} has seen can confirm it.")
        }
        None if report.n_trials > 1 => String::new(),
        None => {
            " That counts a single trial: if this was the best of several settings tried, the odds are lower.".into()
        }
    };
    format!(
        "From {bars} with a Sharpe ratio of {sharpe}, the probability that the true ratio {hurdle} is {}.{counted_as}",
        chance(p)
    )
}

/// A probability, never rounded to certainty.
pub(super) fn chance(p: f64) -> String {
    match p {
        p if p > 0.999 => "over 99.9%".into(),
        p if p < 0.001 => "under 0.1%".into(),
        p => percent(Some(p), 1),
    }
}

fn against_holding(run: &RunReport) -> String {
    let (own, hold) = (run.report.pooled.total_return, run.report.benchmark.total_return);
    let (Some(a), Some(b)) = (own, hold) else { return String::new() };
    let text = |v| signed(v, percent(v, 1));
    let deepest = |v| percent(v, 1);
    let relation = if text(own) == text(hold) {
        "as much as"
    } else if a > b {
        "more than"
    } else {
        "less than"
    };
    format!(
        "It returned {}, {relation} buying and holding ({}); its largest drawdown was {} against {}.",
        text(own),
        text(hold),
        deepest(run.report.pooled.max_drawdown),
        deepest(run.report.benchmark.max_drawdown)
    )
}

/// Orders that bars without volume refused; empty when there were none.
fn refused(run: &RunReport) -> String {
    refused_orders(run).map(|refused| refused + ".").unwrap_or_default()
}

/// A result without costs deserves a warning; empty when there are some.
fn free_of_cost(run: &RunReport) -> String {
    match run.report.pooled.costs {
        Some(0.0) => format!(
            "No commission, spread or slippage was simulated: each of its {} would have cost something.",
            counted(run.report.pooled.fills, "fill")
        ),
        _ => String::new(),
    }
}

fn ruin(run: &RunReport) -> String {
    let ruined: Vec<String> =
        run.report.windows.iter().filter(|w| w.metrics.ruined).map(|w| w.index.to_string()).collect();
    format!(
        "Equity was exhausted or a position liquidated in window {}. No later profit makes up for that.",
        ruined.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certainty_is_never_claimed() {
        assert_eq!(chance(1.0), "over 99.9%");
        assert_eq!(chance(0.0), "under 0.1%");
        assert_eq!(chance(0.973), "97.3%");
    }
}
