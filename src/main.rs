//! The program `gigabar`.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod config;
mod dataset;
mod device;
mod evaluation;
mod events;
mod failure;
mod metrics_log;
mod outcome;
mod printer;
mod progress;
mod run_folder;
mod setup;
mod stop;
mod training;

use std::process::ExitCode;

use args::{Cli, Command, DataCommand, TrainCommand};
use clap::Parser;
use printer::{Printer, Verbosity};

fn main() -> ExitCode {
    // A decoder's panic is an error of its file, which is told as one.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !gigabar_market::load::is_decoding() {
            hook(info);
        }
    }));
    let cli = Cli::parse();
    let verbosity = match (cli.output.quiet, cli.output.verbose) {
        (true, _) => Verbosity::Quiet,
        (_, true) => Verbosity::Verbose,
        _ => Verbosity::Normal,
    };
    let printer = Printer::new(verbosity, cli.output.json);
    let result = stop::install().and_then(|()| run(&cli.command, printer));
    failure::conclude(result, &printer)
}

fn run(command: &Command, printer: Printer) -> anyhow::Result<()> {
    match command {
        Command::Walkforward(args) => commands::walkforward::run(args, printer),
        Command::Train(TrainCommand::Dqn(args)) => commands::train::run(args, printer),
        Command::Evaluate(args) => commands::evaluate::run(args, printer),
        Command::Backtest(args) => commands::backtest::run(args, printer),
        Command::Data(DataCommand::Check(args)) => commands::data::check(args, printer),
        Command::Data(DataCommand::Convert(args)) => commands::data::convert(args, printer),
        Command::Data(DataCommand::Synth(args)) => commands::data::synth(args, printer),
        Command::Report(args) => commands::report::run(args, printer),
        Command::Doctor => commands::doctor::run(printer),
    }
}
