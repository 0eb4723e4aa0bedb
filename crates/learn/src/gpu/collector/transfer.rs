//! Environments between the CPU's form and the device's arrays, exact both ways.

use gigabar_backtest::cpu::reward::RewardState;
use gigabar_backtest::gpu::layout::EnvAccount;
use gigabar_gpu::GpuError;

use crate::collector::{Collector, Env, Pending};
use crate::gpu::layout::{EnvPlace, LearnerParams, PendingStep};
use crate::gpu::world::{Dims, expect_len};

/// The environments of all learners on the host. `[K, n_env]`
#[derive(Debug, Clone, Default)]
pub(crate) struct HostCollector {
    pub(crate) accounts: Vec<EnvAccount>,
    pub(crate) places: Vec<EnvPlace>,
    /// `[K, n_env, n_step]`
    pub(crate) pending: Vec<PendingStep>,
}

impl HostCollector {
    /// The environments of the CPU's collectors, one for every learner.
    ///
    /// # Errors
    /// [`GpuError::Length`] when they are not as many as `dims` says.
    pub(crate) fn of(collectors: &[&Collector], dims: &Dims) -> Result<Self, GpuError> {
        expect_len("collectors", dims.n_learner, collectors.len())?;
        let mut out = Self::default();
        for collector in collectors {
            expect_len("environments", dims.n_env, collector.envs.len())?;
            for env in &collector.envs {
                out.push(env, dims.n_step)?;
            }
        }
        Ok(out)
    }

    fn push(&mut self, env: &Env, n_step: usize) -> Result<(), GpuError> {
        let n_pending = env.pending.len();
        // A step that waits is one of the last n − 1.
        expect_len("pending", n_pending.min(n_step - 1), n_pending)?;
        self.accounts.push(EnvAccount::of(&env.account));
        self.places.push(EnvPlace {
            dsr_mean: env.reward.dsr_mean,
            dsr_var: env.reward.dsr_var,
            steps: env.steps,
            episodes: env.episodes,
            bar: env.bar as u32,
            end: env.end as u32,
            n_pending: n_pending as u32,
            n_ready: 0,
        });
        let step = |p: &Pending| PendingStep { reward: p.reward, bar: p.bar, action: p.action, portfolio: p.portfolio };
        self.pending.extend(env.pending.iter().map(step));
        self.pending.resize(self.accounts.len() * n_step, PendingStep::default());
        Ok(())
    }

    /// The CPU's collectors. Every bar lived through must have been stored.
    pub(crate) fn collectors(&self, dims: &Dims, settings: &[LearnerParams]) -> Vec<Collector> {
        let env = |e: usize| {
            let (place, median_vol) = (&self.places[e], settings[e / dims.n_env].reward.median_vol);
            let waiting = &self.pending[e * dims.n_step..][..place.n_pending as usize];
            let pending =
                |p: &PendingStep| Pending { bar: p.bar, portfolio: p.portfolio, action: p.action, reward: p.reward };
            Env {
                account: self.accounts[e].account(),
                reward: RewardState { median_vol, dsr_mean: place.dsr_mean, dsr_var: place.dsr_var },
                bar: place.bar as usize,
                end: place.end as usize,
                steps: place.steps,
                episodes: place.episodes,
                pending: waiting.iter().map(pending).collect(),
            }
        };
        let of = |k: usize| Collector { envs: (k * dims.n_env..(k + 1) * dims.n_env).map(env).collect() };
        (0..dims.n_learner).map(of).collect()
    }
}
