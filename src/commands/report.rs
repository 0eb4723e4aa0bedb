//! `gigabar report`: show a finished run again.

use crate::args::ReportArgs;
use crate::outcome;
use crate::printer::Printer;
use crate::run_folder::RunFolder;

pub(crate) fn run(args: &ReportArgs, printer: Printer) -> anyhow::Result<()> {
    let folder = RunFolder::open(&args.run)?;
    let report = folder.report()?;
    if report.is_thinned() && folder.path().join("report.html").is_file() {
        // It was drawn from every bar.
        printer.say("report.html stays as it is: of a run as long report.json keeps only what its charts show");
    } else {
        folder.write_page(&report)?;
    }
    printer.say(crate::dataset::describe(&report.data));
    outcome::print(&report, Some(&folder), printer)
}
