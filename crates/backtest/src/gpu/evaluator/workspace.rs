//! The memory and the kernels of one evaluation, kept for the next of the same size.

use gigabar_gpu::{Buffer, Device, Kernel, Pinned};

use crate::gpu::error::EvaluateError;
use crate::gpu::layout::{EnvTrade, EnvWindow, RolloutPair};
use crate::gpu::metrics::WindowSummary;
use crate::gpu::mlp::{MlpPlan, MlpPolicy};
use crate::gpu::replay::TradeBuffers;
use crate::gpu::rollout::{PathBuffers, PolicyBuffers, greedy_source, metrics_source, project_source};
use crate::path::Path;

use super::DevicePath;

/// Everything a greedy evaluation of K policies of one shape over all windows needs.
#[derive(Debug)]
pub(super) struct Greedy {
    pub(super) plan: MlpPlan,
    n_policy: usize,
    with_actions: bool,
    pub(super) pairs: Vec<RolloutPair>,
    /// Which pair is policy k over window w, at k·W + w. `[K·W]`
    pub(super) pair_of: Vec<usize>,
    pub(super) path: PathBuffers,
    pub(super) policies: PolicyBuffers,
    pub(super) summaries: Buffer<WindowSummary>,
    pub(super) host: Pinned<WindowSummary>,
    pub(super) project: Kernel,
    pub(super) rollout: Kernel,
    pub(super) summarise: Kernel,
}

impl Greedy {
    pub(super) fn new(
        device: &Device,
        plan: MlpPlan,
        windows: &[EnvWindow],
        n_policy: usize,
        with_actions: bool,
        (flags, one_rules): (u32, bool),
        projected_bytes: usize,
    ) -> Result<Self, EvaluateError> {
        let Arranged { pairs, first, pair_of, n_path } = arrange(windows, n_policy, plan.slots, device.facts().n_sm);
        let n_steps = windows.iter().map(|window| window.n_bars as usize - 1).max().unwrap_or(0);
        let row_bytes = pairs.len() * plan.first_width() * size_of::<f32>();
        let budget = projected_bytes.min(device.free_bytes()? / 2);
        let chunk = (budget / row_bytes).clamp(1, n_steps.max(1));
        let n_feature = plan.n_feature();
        let width = plan.first_width();
        Ok(Self {
            path: path_buffers(device, &pairs, &first, n_path, false, with_actions)?,
            policies: PolicyBuffers {
                packed: device.zeros("weights", n_policy * plan.weight_floats)?,
                projection: device.zeros("projection", n_policy * n_feature * width)?,
                projection_bias: device.zeros("projection_bias", n_policy * width)?,
                levels: device.zeros("action_levels", n_policy * plan.n_action())?,
                // The rollout looks two rows ahead.
                projected: device.zeros("projected", (pairs.len() * chunk + 2) * width)?,
                chunk: chunk as u32,
            },
            summaries: device.zeros("summaries", pairs.len())?,
            host: device.pinned("summaries", pairs.len())?,
            project: device.kernel(&project_source(&plan), "project_features")?,
            rollout: device.kernel(&greedy_source(&plan, flags, one_rules, with_actions), "rollout_greedy")?,
            summarise: device.kernel(&metrics_source(), "metrics_summarise")?,
            plan,
            n_policy,
            with_actions,
            pairs,
            pair_of,
        })
    }

    pub(super) fn fits(&self, plan: &MlpPlan, n_policy: usize, with_actions: bool) -> bool {
        self.plan == *plan && self.n_policy == n_policy && self.with_actions == with_actions
    }

    /// Copies the policies' weights and levels.
    pub(super) fn upload(&mut self, policies: &[MlpPolicy]) -> Result<(), EvaluateError> {
        let (mut packed, mut weight, mut bias, mut levels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for policy in policies {
            self.plan.pack(policy, &mut packed);
            self.plan.pack_projection(policy, &mut weight, &mut bias);
            levels.extend_from_slice(&policy.levels);
        }
        self.policies.packed.write(&packed)?;
        self.policies.projection.write(&weight)?;
        self.policies.projection_bias.write(&bias)?;
        self.policies.levels.write(&levels)?;
        Ok(())
    }
}

/// Pairs in the order the kernels take them.
struct Arranged {
    pairs: Vec<RolloutPair>,
    /// Block b has the pairs `first[b]..first[b + 1]`, all of one policy.
    first: Vec<u32>,
    pair_of: Vec<usize>,
    /// Length of the path columns.
    n_path: usize,
}

/// Longest windows first so that a block's pairs end together; blocks as full as keeps every multiprocessor busy.
fn arrange(windows: &[EnvWindow], n_policy: usize, slots: usize, n_sm: usize) -> Arranged {
    let n_pair = n_policy * windows.len();
    let n_round = n_pair.div_ceil(slots * n_sm).max(1);
    let fill = n_pair.div_ceil(n_round * n_sm).clamp(1, slots);
    let mut order: Vec<usize> = (0..windows.len()).collect();
    order.sort_by_key(|&w| std::cmp::Reverse(windows[w].n_bars));
    let mut out = Arranged { pairs: Vec::with_capacity(n_pair), first: vec![0], pair_of: vec![0; n_pair], n_path: 0 };
    for policy in 0..n_policy {
        for block in order.chunks(fill) {
            for &window in block {
                out.pair_of[policy * windows.len() + window] = out.pairs.len();
                out.pairs.push(RolloutPair { path: out.n_path as i64, window: window as u32, policy: policy as u32 });
                out.n_path += windows[window].n_bars as usize;
            }
            out.first.push(out.pairs.len() as u32);
        }
    }
    out
}

pub(super) fn path_buffers(
    device: &Device,
    pairs: &[RolloutPair],
    first: &[u32],
    n_path: usize,
    whole: bool,
    actions: bool,
) -> Result<PathBuffers, EvaluateError> {
    let wide = if whole { n_path } else { 0 };
    Ok(PathBuffers {
        pairs: device.upload("pairs", pairs)?,
        first: device.upload("first", first)?,
        accounts: device.zeros("accounts", pairs.len())?,
        equity: device.zeros("equity", n_path)?,
        returns: device.zeros("returns", n_path)?,
        cash: device.zeros("cash", wide)?,
        units: device.zeros("units", wide)?,
        level: device.zeros("level", wide)?,
        actions: device.zeros("actions", if actions { n_path } else { 0 })?,
    })
}

/// Everything the paths hold, one element per pair.
pub(super) fn paths_of(
    path: &PathBuffers,
    windows: &[EnvWindow],
    pairs: &[RolloutPair],
    trades: Option<&TradeBuffers>,
) -> Result<Vec<DevicePath>, EvaluateError> {
    let accounts = path.accounts.read()?;
    let columns = [&path.equity, &path.returns, &path.cash, &path.units, &path.level].map(Buffer::read);
    let [equity, returns, cash, units, level] = columns;
    let (equity, returns, cash, units, level) = (equity?, returns?, cash?, units?, level?);
    let actions = path.actions.read()?;
    let (trades, trade_start) = match trades {
        Some(trades) => (trades.trades.read()?, trades.start.read()?),
        None => (Vec::new(), vec![0; pairs.len() + 1]),
    };
    let one = |(i, pair): (usize, &RolloutPair)| {
        let window = windows[pair.window as usize];
        let (start, n_bars) = (pair.path as usize, window.n_bars as usize);
        let account = &accounts[i];
        let n_trades = account.trades as usize;
        let cut = |column: &[f64], n: usize| column.get(start..start + n).unwrap_or_default().to_vec();
        let kept = &trades[trade_start[i] as usize..trade_start[i + 1] as usize];
        let kept = &kept[..n_trades.min(kept.len())];
        DevicePath {
            path: Path {
                first_bar: window.first_bar as usize,
                returns: cut(&returns, n_bars - 1),
                equity: cut(&equity, n_bars),
                cash: cut(&cash, n_bars),
                units: cut(&units, n_bars),
                level: cut(&level, n_bars),
                trades: kept.iter().filter_map(EnvTrade::trade).collect(),
                counts: account.counts(),
            },
            actions: actions.get(start..start + n_bars - 1).unwrap_or_default().to_vec(),
            trades_lost: n_trades - kept.len(),
        }
    };
    Ok(pairs.iter().enumerate().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_share_a_policy_and_every_pair_has_its_own_path() {
        let window = |n_bars| EnvWindow { n_bars, ..EnvWindow::default() };
        let windows = [window(5), window(9), window(7)];
        for (n_sm, blocks) in [(132, 6), (3, 4), (1, 2)] {
            let Arranged { pairs, first, pair_of, n_path } = arrange(&windows, 2, 4, n_sm);
            assert_eq!((pairs.len(), n_path, first.len()), (6, 42, blocks + 1));
            for ends in first.windows(2) {
                let block = &pairs[ends[0] as usize..ends[1] as usize];
                assert!((1..=4).contains(&block.len()) && block.iter().all(|pair| pair.policy == block[0].policy));
            }
            assert_eq!(pair_of, [2, 0, 1, 5, 3, 4]);
            let mut taken = vec![false; n_path];
            for pair in &pairs {
                let start = pair.path as usize;
                for cell in &mut taken[start..start + windows[pair.window as usize].n_bars as usize] {
                    assert!(!*cell);
                    *cell = true;
                }
            }
            assert!(taken.into_iter().all(|cell| cell));
        }
    }
}
