//! The command line.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

const MAIN_HELP: &str = "\
Examples:
  gigabar data check bars.csv
  gigabar backtest bars.csv --strategy sma-cross:fast=20,slow=50
  gigabar walkforward bars.csv --agent dqn
  gigabar walkforward --resume runs/bars-dqn-20260101-120000

Settings come from defaults, then --config FILE (TOML), then the environment (GIGABAR__SIM__COMMISSION_BPS=5), then
--set sim.commission_bps=5. `gigabar doctor` lists what the environment sets.

Exit codes: 0 ok, 1 a threshold was missed or the training guard stopped the run, 2 usage, data or environment error,
130 interrupted.";

/// Trains trading policies and tests them walk-forward under one exact simulator.
#[derive(Debug, Parser)]
#[command(name = "gigabar", version, after_help = MAIN_HELP, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// How results and talk are shown.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Print results as JSON on stdout.
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// Say nothing but results, warnings and errors.
    #[arg(long, short, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Say more, and print every metric.
    #[arg(long, short, global = true, conflicts_with = "quiet", help_heading = "Output")]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train on each fold's past, trade its unseen future, report the result.
    Walkforward(WalkforwardArgs),
    /// Train one policy on one range of bars.
    #[command(subcommand)]
    Train(TrainCommand),
    /// Trade a file with trained policies.
    Evaluate(EvaluateArgs),
    /// Trade a file with a rule, or with signals made elsewhere.
    Backtest(BacktestArgs),
    /// Look at data, or make some.
    #[command(subcommand)]
    Data(DataCommand),
    /// Show a finished run again, and render its report.html anew.
    Report(ReportArgs),
    /// Say what this machine and this build can do, and what the environment sets.
    Doctor,
}

/// How the file of bars is read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct DataArgs {
    /// The symbol to take from a file that holds several.
    #[arg(long, value_name = "NAME")]
    pub(crate) symbol: Option<String>,
    /// The file's columns in order, for files without a header: ts,open,high,low,close,volume; `-` skips one.
    #[arg(long, value_name = "LIST")]
    pub(crate) columns: Option<String>,
    /// Time zone of stamps that carry none, such as America/New_York [default: UTC].
    #[arg(long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
    /// How dates such as 03/04/2020 are read, where the file itself does not tell: dmy or mdy.
    #[arg(long, value_name = "ORDER")]
    pub(crate) date_order: Option<String>,
    /// Mend what can be mended (order, duplicates, ranges), and say so, instead of refusing it.
    #[arg(long)]
    pub(crate) repair: bool,
    /// First day or moment taken, such as 2020-01-31 or "2020-01-31 09:30", read in --tz.
    #[arg(long, value_name = "WHEN")]
    pub(crate) from: Option<String>,
    /// Last day or moment taken; a day is taken whole.
    #[arg(long, value_name = "WHEN")]
    pub(crate) to: Option<String>,
    /// Make longer bars: 15min, 1h, 1d, 1w, 1mo; counted from another time than midnight: 2h@09:30, 1d@17:00.
    #[arg(long, value_name = "LENGTH")]
    pub(crate) resample: Option<String>,
    /// Scale all prices by adjusted close / close: without the jumps of splits and dividends.
    #[arg(long)]
    pub(crate) adjust: bool,
    /// Divide prices that are whole numbers of a small unit, such as 10000.
    #[arg(long, value_name = "N")]
    pub(crate) price_divisor: Option<f64>,
}

/// Where settings come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct ConfigArgs {
    /// A TOML file of settings; run.toml of an earlier run is one.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// One setting; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of everything trained; a random strategy has its own [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Where to compute: auto, cpu or cuda:N; auto is the CPU, or cuda:0 for work that is worth its start.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub(crate) device: String,
}

/// What can be trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    /// Deep Q-network: double, dueling, n-step, prioritised replay.
    Dqn,
}

const WALKFORWARD_HELP: &str = "\
Examples:
  gigabar walkforward bars.csv --agent dqn
  gigabar walkforward bars.csv --agent dqn --seed 7 --set sim.commission_bps=5 --set window.n_windows=8
  gigabar walkforward bars.csv --agent dqn --seeds 5
  gigabar walkforward bars.csv --strategy sma-cross:fast=5..50,slow=20..400 --sort sharpe
  gigabar walkforward bars.csv --agent dqn --json --quiet > result.json
  gigabar walkforward --resume runs/bars-dqn-20260101-120000";

#[derive(Debug, Args)]
#[command(after_help = WALKFORWARD_HELP)]
#[command(group(ArgGroup::new("policy").args(["agent", "strategy", "resume"]).required(true)))]
pub(crate) struct WalkforwardArgs {
    /// Bars: CSV, Parquet or DBN, plain or packed (.gz, .zst, .zip); several files make one series.
    #[arg(required_unless_present = "resume", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// What is trained.
    #[arg(long, value_enum)]
    pub(crate) agent: Option<Agent>,
    /// Instead of an agent a rule: with ranges or lists for values, each fold trades the set that was best on its train
    /// part.
    #[arg(long, value_name = "NAME[:KEY=VALUE,…]", conflicts_with_all = ["agent", "resume"])]
    pub(crate) strategy: Option<String>,
    /// The metric that chooses among the sets of a grid: sharpe, total_return, max_drawdown, … [default: sharpe].
    #[arg(long, value_name = "METRIC", requires = "strategy", conflicts_with = "agent")]
    pub(crate) sort: Option<String>,
    /// Train every fold from N seeds and show how the result spreads over them; the report is of the first [default:
    /// 1].
    #[arg(long, value_name = "N", conflicts_with = "strategy")]
    pub(crate) seeds: Option<u64>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Fail with exit code 1 when a pooled metric (sharpe, psr, deflated_sharpe, …) is below a value; may be repeated.
    #[arg(long, value_name = "METRIC=VALUE")]
    pub(crate) fail_below: Vec<String>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// The folder of a training run.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The run's folder [default: runs/<name>-<time>].
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Continue an interrupted run from its checkpoints.
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrainCommand {
    /// Deep Q-network: double, dueling, n-step, prioritised replay.
    Dqn(TrainArgs),
}

const TRAIN_HELP: &str = "\
Examples:
  gigabar train dqn bars.csv
  gigabar train dqn bars.csv --from-bar 500 --to-bar 2000 --out runs/mine
  gigabar evaluate runs/mine other.csv";

#[derive(Debug, Args)]
#[command(after_help = TRAIN_HELP)]
pub(crate) struct TrainArgs {
    /// Bars: CSV, Parquet or DBN, plain or packed (.gz, .zst, .zip); several files make one series.
    #[arg(required_unless_present = "resume", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// First bar to train on [default: the first after the features' warm-up].
    #[arg(long, value_name = "BAR", conflicts_with = "resume")]
    pub(crate) from_bar: Option<usize>,
    /// One past the last bar to train on [default: by train_share, 80 % of the bars].
    #[arg(long, value_name = "BAR", conflicts_with = "resume")]
    pub(crate) to_bar: Option<usize>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

const EVALUATE_HELP: &str = "\
With --json the results are a list, one entry per checkpoint, or one for the ensemble. Several checkpoints are as many trials in
the deflated Sharpe ratio of each; an ensemble is one.

Ensembles, how the models' Q-values make one action:
  mean-q          the largest mean
  majority        the most votes, each for a model's own best
  confidence      votes that weigh as much as the model sets its best apart from its second
  agreement:0.6   the most votes if they are 60 % of the models or more, else flat; needs a level 0

Examples:
  gigabar evaluate runs/mine bars.csv
  gigabar evaluate runs/mine/checkpoints/fold-3 bars.csv --windows 4 --json
  gigabar evaluate runs/a runs/b runs/c bars.csv --ensemble majority --device auto";

#[derive(Debug, Args)]
#[command(after_help = EVALUATE_HELP)]
pub(crate) struct EvaluateArgs {
    /// Runs or checkpoint folders, then the file of bars, or several that make one series.
    #[arg(required = true, num_args = 2.., value_names = ["RUN|CHECKPOINT", "FILE"])]
    pub(crate) paths: Vec<PathBuf>,
    /// Cut the bars into this many windows, each traded from fresh cash.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) windows: usize,
    /// Let all checkpoints act as one policy: mean-q, majority, confidence or agreement:SHARE.
    #[arg(long, value_name = "VOTE")]
    pub(crate) ensemble: Option<String>,
    /// Trade under the costs and rules that each policy was trained under, instead of those set here.
    #[arg(long)]
    pub(crate) trained_costs: bool,
    /// Write a run folder with the report; with several checkpoints, one for each below it.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

const BACKTEST_HELP: &str = "\
Strategies:
  buy-and-hold                     long all the time
  flat                             never in the market
  random:seed=0,hold=20            a random level, kept for 20 bars
  sma-cross:fast=20,slow=50        long while the fast mean is above the slow one, else short
  ema-cross:fast=12,slow=26        the same of exponential means
  rsi:period=14,low=30,high=70     long from below low on, short from above high on
  donchian:period=20,exit=10       long from a new high of period bars to a new low of exit bars, and the reverse
  bollinger:period=20,width=2      long below the lower band, short above the upper one, flat again at the mean
  macd:fast=12,slow=26,signal=9    long while the MACD line is above its signal line, else short
  momentum:lookback=252,threshold=0    long while the return over lookback bars is above threshold, short below -threshold
  vol-target:period=60,target=0.15,cap=1,step=0.1,trend=0    long (trend=N: with the return over N bars) with as much as
                                   makes the expected annual volatility the target, in steps, at most cap
All but the first three take long_only=true.

Grids: a value may be a range, 5..50 or 5..50:5, or a list, 5|10|20..40:5. Every allowed set trades the bars; the best by
--sort is shown in full, with the number of sets counted in its deflated Sharpe ratio. With --windows a set's Sharpe ratio is the
mean over the windows, 0 in one without a trade. A grid has at most 10,000,000 combinations.

Signals: CSV or Parquet; level 1 is fully long, -1 fully short, nothing is flat. One strategy: columns ts,level. Several: ts and
a column per strategy, or ts,strategy,level; all are traded and compared, the best by --sort is shown in full. Rows match the
bars by their stamps; without ts there is one row per bar. See docs/signals.md.

Examples:
  gigabar backtest bars.csv --strategy sma-cross:fast=20,slow=50
  gigabar backtest bars.csv --strategy sma-cross:fast=5..50,slow=20..400 --sort sharpe --out runs/grid
  gigabar backtest bars.csv --signals signals.csv --set sim.commission_bps=5 --out runs/signals
  gigabar backtest bars.csv --signals positions.parquet --sort total_return
  gigabar backtest bars.csv --strategy buy-and-hold --json";

#[derive(Debug, Args)]
#[command(after_help = BACKTEST_HELP)]
pub(crate) struct BacktestArgs {
    /// Bars: CSV, Parquet or DBN, plain or packed (.gz, .zst, .zip); several files make one series.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A rule, with its settings; with ranges or lists for values, a grid of them.
    #[arg(long, value_name = "NAME[:KEY=VALUE,…]", required_unless_present = "signals", conflicts_with = "signals")]
    pub(crate) strategy: Option<String>,
    /// Levels made elsewhere, of one strategy or several: CSV or Parquet, plain or packed.
    #[arg(long, value_name = "FILE")]
    pub(crate) signals: Option<PathBuf>,
    /// Cut the bars into this many windows, each traded from fresh cash.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) windows: usize,
    /// The metric that ranks sets of a grid or strategies: sharpe, total_return, max_drawdown, win_rate, … [default:
    /// sharpe].
    #[arg(long, value_name = "METRIC")]
    pub(crate) sort: Option<String>,
    /// Write a run folder with the report; of a grid with sweep.csv, of several strategies with strategies.csv.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Fail with exit code 1 when a pooled metric (sharpe, psr, deflated_sharpe, …) is below a value; may be repeated.
    #[arg(long, value_name = "METRIC=VALUE")]
    pub(crate) fail_below: Vec<String>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// List gaps, duplicates, jumps, spikes, bars without volume and broken rows, with their lines.
    Check(DataCheckArgs),
    /// Write bars as another file, after all that the flags say.
    Convert(DataConvertArgs),
    /// Make a file of bars.
    Synth(DataSynthArgs),
}

const CONVERT_HELP: &str = "\
The end of --out's name says how: .csv, .csv.gz or .parquet. Columns are ts, symbol where there is one, open, high, low, close,
volume; reading the file again gives the same bars, bit for bit. A file that exists is never written over. With --json an object
says what was written.

Examples:
  gigabar data convert bars.csv --out bars.parquet
  gigabar data convert 2023.csv.gz 2024.csv.gz --resample 1h --tz America/New_York --out hours.parquet
  gigabar data convert aapl.csv --adjust --from 2010-01-01 --out aapl-adjusted.csv";

#[derive(Debug, Args)]
#[command(after_help = CONVERT_HELP)]
pub(crate) struct DataConvertArgs {
    /// Bars: CSV, Parquet or DBN, plain or packed (.gz, .zst, .zip); several files make one series.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

const CHECK_HELP: &str = "\
Examples:
  gigabar data check bars.csv
  gigabar data check bars.csv.gz --html check.html
  gigabar data check 2023.parquet 2024.parquet --json";

#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct DataCheckArgs {
    /// Write a page with plots, one file that opens offline.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Bars: CSV, Parquet or DBN, plain or packed (.gz, .zst, .zip); several files make one series.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

/// What can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SynthKind {
    /// Nothing to learn.
    RandomWalk,
    /// A pattern that the features show.
    Planted,
    /// What markets look like: regimes, clustered volatility, jumps, an intraday pattern, sessions; no pattern in the
    /// sign.
    Market,
}

/// When a made market trades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SynthSession {
    /// Around the clock, every day.
    Always,
    /// Monday to Friday, 09:30 to 16:00 in New York.
    Us,
}

#[derive(Debug, Args)]
pub(crate) struct DataSynthArgs {
    /// What kind of market.
    #[arg(value_enum)]
    pub(crate) kind: SynthKind,
    /// The file to write, by its end CSV (.csv, .csv.gz) or Parquet (.parquet) [default: stdout].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Of `market`: when it trades [default: always].
    #[arg(long, value_enum)]
    pub(crate) session: Option<SynthSession>,
    /// Of `market`: length of a bar, such as 1min, 1h or 1d [default: 1h, in sessions 30min].
    #[arg(long, value_name = "LENGTH")]
    pub(crate) interval: Option<String>,
    /// Of `market`: a TOML file of its other parameters; docs/data.md lists them.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Number of bars.
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    pub(crate) bars: usize,
    /// Seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run's folder.
    pub(crate) run: PathBuf,
}
