//! [`Replayed`]: levels on the device, whoever asked for them, and the accounts that live by them.

use std::ops::Range;

use gigabar_gpu::Buffer;

use super::workspace::path_buffers;
use super::{GpuBacktestEvaluator, mismatch};
use crate::gpu::error::EvaluateError;
use crate::gpu::layout::{EnvAccount, EnvTrade, RolloutPair};
use crate::gpu::replay::{TradeBuffers, given_source, launch_given, launch_levels};
use crate::gpu::rollout::PathBuffers;

/// What K policies ask for in W windows, and what is known of the outcome.
#[derive(Debug)]
pub(super) struct Replayed {
    pub(super) levels: Levels,
    /// At k·W + w. `[K·W]`
    pub(super) outcomes: Vec<Outcome>,
}

/// Where the levels are.
#[derive(Debug)]
pub(super) enum Levels {
    /// Actions of the greedy rollout kept by the evaluator.
    Greedy,
    /// Given ones. `[K, Σ n_bars]`
    Given(Buffer<f64>),
}

/// How one policy left one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    pub(super) n_trades: usize,
    pub(super) final_equity: f64,
}

impl Outcome {
    pub(super) fn of(account: &EnvAccount) -> Self {
        Self { n_trades: account.trades as usize, final_equity: account.equity }
    }
}

/// What a replay records beside returns, equity and accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    /// Nothing: the outcomes are not known yet.
    Outcomes,
    /// Every trade.
    Trades,
    /// Every trade, cash, units and level.
    Everything,
}

/// Some of the policies, replayed: pairs in order of policy, then window.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) pairs: Vec<RolloutPair>,
    pub(super) path: PathBuffers,
    pub(super) trades: TradeBuffers,
}

impl Run {
    /// The accounts at the end, of which each closed the trades there was room for. One read.
    pub(super) fn accounts(&self, outcomes: &[Outcome]) -> Result<Vec<EnvAccount>, EvaluateError> {
        let accounts = self.path.accounts.read()?;
        for (account, (pair, outcome)) in accounts.iter().zip(self.pairs.iter().zip(outcomes)) {
            if Outcome::of(account) != *outcome {
                let what = format!("trades of policy {} replayed in window {}", pair.policy, pair.window);
                return Err(mismatch(&what, outcome.n_trades, account.trades as usize));
            }
        }
        Ok(accounts)
    }
}

impl GpuBacktestEvaluator {
    /// Points of one policy's paths over all windows.
    pub(super) fn n_point(&self) -> usize {
        self.windows.iter().map(|window| window.n_bars as usize).sum()
    }

    /// Lives through all windows by the levels of `policies`.
    pub(super) fn replay_policies(
        &self,
        levels: &Levels,
        outcomes: &[Outcome],
        policies: Range<usize>,
        record: Record,
    ) -> Result<Run, EvaluateError> {
        let (device, n_window) = (&self.device, self.windows.len());
        let (mut pairs, mut n_path) = (Vec::with_capacity(policies.len() * n_window), 0);
        for policy in policies.clone() {
            for (window, of) in self.windows.iter().enumerate() {
                pairs.push(RolloutPair { path: n_path as i64, window: window as u32, policy: policy as u32 });
                n_path += of.n_bars as usize;
            }
        }
        let room = match record {
            Record::Outcomes => TradeBuffers::with_room(device, pairs.iter().map(|_| 0))?,
            _ => {
                let own = &outcomes[policies.start * n_window..policies.end * n_window];
                TradeBuffers::with_room(device, own.iter().map(|outcome| outcome.n_trades))?
            }
        };
        let whole = record == Record::Everything;
        let run = Run { path: path_buffers(device, &pairs, &[], n_path, whole, false)?, pairs, trades: room };
        let kernel = device.kernel(&given_source(self.flags, whole), "replay_given")?;
        let steps = 0..self.windows.iter().map(|window| window.n_bars - 1).max().unwrap_or(0);
        match levels {
            Levels::Given(given) => {
                let levels = given.address() + (policies.start * self.n_point() * size_of::<f64>()) as u64;
                launch_given(device, &kernel, &self.market, &run.path, levels, &run.trades, steps)?;
            }
            Levels::Greedy => {
                let levels = self.levels_of_actions(&run, n_path)?;
                launch_given(device, &kernel, &self.market, &run.path, levels.address(), &run.trades, steps)?;
            }
        }
        Ok(run)
    }

    /// What the actions of the last greedy rollout stand for, at the paths of `run`. `[n_path]`
    fn levels_of_actions(&self, run: &Run, n_path: usize) -> Result<Buffer<f64>, EvaluateError> {
        let (device, n_window) = (&self.device, self.windows.len());
        let missing = || mismatch("greedy rollouts before their replay", 1, 0);
        let rolled = self.outcome().ok_or_else(missing)?;
        let from = |pair: &RolloutPair| {
            let own = rolled.pair_of[pair.policy as usize * n_window + pair.window as usize];
            rolled.pairs[own].path
        };
        let from = device.upload("actions_from", &run.pairs.iter().map(from).collect::<Vec<i64>>())?;
        let levels = device.zeros("levels", n_path)?;
        let kernel = device.kernel(&given_source(self.flags, false), "replay_levels")?;
        let actions = (&from, &rolled.path.actions);
        let of_action = (rolled.levels, rolled.n_action);
        launch_levels(device, &kernel, &self.market, &run.path.pairs, actions, of_action, &levels)?;
        Ok(levels)
    }

    /// Bounds the memory that policies replayed side by side take (half of what is free, at most): less memory, more
    /// turns, the same bits.
    pub fn limit_replay(&mut self, bytes: usize) {
        self.replay_bytes = bytes;
    }

    /// Policies in ranges whose replay and statistics fit the memory that is free.
    pub(super) fn affordable(&self, outcomes: &[Outcome]) -> Result<Vec<Range<usize>>, EvaluateError> {
        // Levels, equity and returns, and the pooled equity and returns.
        const COLUMNS: usize = 5;
        let budget = self.replay_bytes.min(self.device.free_bytes()? / 2);
        let mut out: Vec<Range<usize>> = Vec::new();
        let mut left = 0;
        for (k, own) in outcomes.chunks(self.windows.len()).enumerate() {
            let n_trades: usize = own.iter().map(|outcome| outcome.n_trades).sum();
            let bytes = self.n_point() * COLUMNS * size_of::<f64>() + n_trades * size_of::<EnvTrade>();
            match out.last_mut() {
                Some(range) if bytes <= left => range.end = k + 1,
                _ => {
                    out.push(k..k + 1);
                    left = budget;
                }
            }
            left = left.saturating_sub(bytes);
        }
        Ok(out)
    }
}
