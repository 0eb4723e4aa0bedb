//! `gigabar walkforward`: train on each fold's past, trade its unseen future.

mod rule;

use anyhow::Context;
use gigabar_market::window::walk_forward;

use crate::args::WalkforwardArgs;
use crate::device::Wanted;
use crate::outcome::{self, Thresholds};
use crate::printer::Printer;
use crate::setup;

use super::train::{Plan, Start, name_of, train_and_trade};

const VERB: &str = "walkforward";
/// Settings it does not read: its ranges are those of `window`.
const UNREAD: [&str; 1] = ["train_share"];

pub(crate) fn run(args: &WalkforwardArgs, printer: Printer) -> anyhow::Result<()> {
    let thresholds = Thresholds::parse(&args.fail_below)?;
    if let Some(text) = &args.strategy {
        return rule::run(args, text, &thresholds, printer);
    }
    let wanted = Wanted::parse(&args.config.device)?;
    let mut given = setup::overrides(Some(&args.config), &args.data)?;
    if let Some(n) = args.seeds {
        given.push(setup::count_flag("--seeds", "seeds", n)?);
    }
    let start = Start::new((VERB, &UNREAD), &args.files, &args.run, &given, printer)?;
    let features = start.dataset.features()?;
    let windows = walk_forward(features.n_bars(), features.warmup_bars(), &start.config.window)
        .with_context(|| start.dataset.summary.path.clone())?;
    let plan = Plan {
        train: windows.iter().map(|window| window.train.clone()).collect(),
        test: windows.into_iter().map(|window| window.test).collect(),
        n_seeds: start.config.seeds,
    };
    let name = format!("{}-dqn", name_of(&start.dataset));
    let mut compute = start.settle(wanted, &features, &plan, printer);
    let folder = start.folder(args.run.out.as_deref(), &name, &compute.name(), None)?;
    printer.say(format_args!("run: {}", folder.path().display()));
    for (i, (train, test)) in plan.train.iter().zip(&plan.test).enumerate() {
        let days = |range: &std::ops::Range<usize>| start.days(range);
        printer.say(format_args!("fold {i}: train {}, test {}", days(train), days(test)));
    }
    let report = train_and_trade(&start, &features, &plan, &folder, &mut compute, printer)?;
    if let Some(report) = report {
        outcome::print(&report, Some(&folder), printer)?;
        thresholds.check(&report.report)?;
    }
    Ok(())
}
