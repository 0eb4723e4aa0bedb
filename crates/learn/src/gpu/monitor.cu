// What the host learns of an epoch: one record a learner, made by one block from the tallies of its environments and of
// its gradient steps, which begin again at zero. Sums of fixed order (fold.cuh). CPU twin: dqn::summary.

#define MONITOR_THREADS 256

// monitor.rs has the same.
struct EpochMonitoringSummary {
    f32 mean_reward;
    f32 reward_std;
    f32 sharpe_estimate;
    u32 action_counts[5];  // of the first five levels
    f32 max_reward;
    f32 min_reward;
    u64 total_experiences;
};
static_assert(sizeof(EpochMonitoringSummary) == 48, "EpochMonitoringSummary");

struct EpochRecord {
    EpochMonitoringSummary summary;
    f64 loss;  // means over the good steps
    f64 grad_norm;
    f64 q_mean;
    f64 q_std;
    f64 q_min;
    f64 q_max;
    f64 loss_mean;  // the guard's
    u64 loss_count;
    u64 env_steps;  // since the start of training
    u64 grad_steps;
    u64 skipped;  // of this epoch
    u64 trips[4];
    u64 ruins;
    u64 written;
};
static_assert(sizeof(EpochRecord) == 184, "EpochRecord");

GB_DEVICE f64 deviation(f64 sum, f64 squares, f64 n) {
    f64 mean = sum / n;
    f64 variance = squares / n - mean * mean;
    return variance > 0.0 ? sqrt(variance) : 0.0;
}

// tallies [K, n_env], action_counts [K, N_ACTION], epochs [K]; annual [K]: the square root of bars a year.
// Out: records [K], then all action counts [K, N_ACTION] u64.
extern "C" __global__ void __launch_bounds__(MONITOR_THREADS)
    monitor_summarise(const LearnerState* __restrict__ states, EnvTally* __restrict__ tallies,
                      u64* __restrict__ action_counts, LearnerEpoch* __restrict__ epochs,
                      const f64* __restrict__ annual, u32 n_env, u64* __restrict__ out) {
    __shared__ f64 scratch[MONITOR_THREADS / 32];
    i64 learner = blockIdx.x;
    EnvTally* own = tallies + learner * n_env;
    f64 sums[6] = {};
    f64 low = -HUGE_F64, high = -HUGE_F64;
    for (u32 e = threadIdx.x; e < n_env; e += MONITOR_THREADS) {
        EnvTally tally = own[e];
        own[e] = EnvTally{};
        if (tally.steps == 0) continue;
        sums[0] += tally.reward_sum;
        sums[1] += tally.reward_squares;
        sums[2] += tally.return_sum;
        sums[3] += tally.return_squares;
        sums[4] += (f64)tally.steps;
        sums[5] += (f64)tally.ruins;
        low = -tally.reward_min > low ? -tally.reward_min : low;
        high = tally.reward_max > high ? tally.reward_max : high;
    }
#pragma unroll
    for (int i = 0; i < 6; ++i) sums[i] = block_sum<MONITOR_THREADS>(sums[i], scratch);
    low = block_largest<MONITOR_THREADS>(low, scratch);
    high = block_largest<MONITOR_THREADS>(high, scratch);
    for (int a = (int)threadIdx.x; a < N_ACTION; a += MONITOR_THREADS) {
        u64* counts = out + (i64)gridDim.x * (sizeof(EpochRecord) / 8) + learner * N_ACTION;
        counts[a] = action_counts[learner * N_ACTION + a];
        if (a < 5) ((EpochRecord*)out)[learner].summary.action_counts[a] = (u32)counts[a];
        action_counts[learner * N_ACTION + a] = 0;
    }
    if (threadIdx.x != 0) return;
    const LearnerState& state = states[learner];
    LearnerEpoch epoch = epochs[learner];
    epochs[learner] = LearnerEpoch{};
    EpochRecord& record = ((EpochRecord*)out)[learner];
    f64 n = sums[4];
    f64 spread = deviation(sums[2], sums[3], n);
    record.summary.mean_reward = (f32)(sums[0] / n);
    record.summary.reward_std = (f32)deviation(sums[0], sums[1], n);
    record.summary.sharpe_estimate = spread > 0.0 ? (f32)(sums[2] / n / spread * annual[learner]) : 0.0f;
    record.summary.max_reward = (f32)high;
    record.summary.min_reward = (f32)-low;
    record.summary.total_experiences = (u64)n;
    f64 good = (f64)epoch.good_steps;
    f64 values = good * (f64)(BATCH * N_ACTION);
    record.loss = epoch.loss_sum / good;
    record.grad_norm = epoch.norm_sum / good;
    record.q_mean = epoch.q_sum / values;
    record.q_std = deviation(epoch.q_sum, epoch.q_squares, values);
    record.q_min = epoch.q_min;
    record.q_max = epoch.q_max;
    record.loss_mean = state.loss_mean;
    record.loss_count = state.loss_count;
    record.env_steps = state.env_steps;
    record.grad_steps = state.grad_steps;
    record.skipped = epoch.steps - epoch.good_steps;
    for (int i = 0; i < 4; ++i) record.trips[i] = epoch.trips[i];
    record.ruins = (u64)sums[5];
    record.written = state.written;
}
