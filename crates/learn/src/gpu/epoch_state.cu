// What environments carry from epoch to epoch: begin an epoch, or look at it. A thread an environment. Needs
// collector.cu's CollectorView. CPU twins: collector::Collector::begin_epoch, epoch_state::EpochState::of.

// epoch_state.rs has the same.
struct EpochState {
    f32 vol_ema;
    f32 median_vol;
    f32 portfolio_value;
    f32 portfolio_position;
    f32 portfolio_cash;
    f32 dsr_mean;
    f32 dsr_var;
    f32 step_count;
};
static_assert(sizeof(EpochState) == 32, "EpochState");

// flags: EPOCH_RESET_*. Grid: x environments, y learners.
extern "C" __global__ void epoch_state_reset(const LearnerParams* __restrict__ params, CollectorView view, u32 flags) {
    u32 e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= N_ENV) return;
    u64 env = (u64)blockIdx.y * N_ENV + e;
    EnvPlace& place = view.places[env];
    if (flags & EPOCH_RESET_PORTFOLIO) {
        env_new(view.accounts[env], params[blockIdx.y].rules);
        place.n_pending = 0;
    }
    if (flags & EPOCH_RESET_DSR) {
        place.dsr_mean = 0.0;
        place.dsr_var = 0.0;
    }
}

// out [K, N_ENV]. Grid: x environments, y learners.
extern "C" __global__ void epoch_state_show(const LearnerParams* __restrict__ params, const EnvBar* __restrict__ bars,
                                            CollectorView view, EpochState* __restrict__ out) {
    u32 e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= N_ENV) return;
    u64 env = (u64)blockIdx.y * N_ENV + e;
    const EnvAccount& account = view.accounts[env];
    const EnvPlace& place = view.places[env];
    out[env] = EpochState{(f32)bars[place.bar].sigma, (f32)params[blockIdx.y].reward.median_vol,
                          (f32)account.equity,        (f32)account.units,
                          (f32)account.cash,          (f32)place.dsr_mean,
                          (f32)place.dsr_var,         (f32)place.steps};
}
