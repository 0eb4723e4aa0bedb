// The end of a gradient step: new priorities, progress, the guard's running mean, the epoch's statistics. One cluster
// of CLUSTER blocks a learner: all of them update the priorities, and while the first sums the top of the tree, the
// last books the step. Needs replay.cuh, fold.cuh, guard.cuh. Deterministic. CPU twins: replay::Sampler::update,
// guard::Guard, Trainer::learn.

#if CLUSTER > 1
#define GUARD_CLUSTER __cluster_dims__(CLUSTER, 1, 1)
#else
#define GUARD_CLUSTER
#endif

// Sums of Q over the minibatch.
struct QSums {
    f64 sum, squares, low, high;
};

GB_DEVICE QSums q_sums(const LossRow* rows, f64* scratch) {
    QSums q{0.0, 0.0, -HUGE_F64, -HUGE_F64};
    for (u32 i = threadIdx.x; i < BATCH; i += GUARD_THREADS) {
        q.sum += rows[i].q_sum;
        q.squares += rows[i].q_squares;
        q.low = -(f64)rows[i].q_min > q.low ? -(f64)rows[i].q_min : q.low;
        q.high = (f64)rows[i].q_max > q.high ? (f64)rows[i].q_max : q.high;
    }
    q.sum = block_sum<GUARD_THREADS>(q.sum, scratch);
    q.squares = block_sum<GUARD_THREADS>(q.squares, scratch);
    q.low = -block_largest<GUARD_THREADS>(q.low, scratch);
    q.high = block_largest<GUARD_THREADS>(q.high, scratch);
    return q;
}

// One thread's work.
GB_DEVICE void book(const LearnerParams& p, LearnerState& state, const StepResult& step, const QSums& q,
                    LearnerEpoch& epoch) {
    state.grad_steps += 1;
    epoch.steps += 1;
    guard_follow(p, state, step);
    state.tripped |= step.verdict;
    if (step.verdict != 0) {
        state.skipped_steps += 1;
        for (int i = 0; i < 4; ++i) epoch.trips[i] += (step.verdict >> i) & 1u;
        return;
    }
    state.adam_steps += 1;
    bool first = epoch.good_steps == 0;
    epoch.good_steps += 1;
    epoch.loss_sum += step.loss;
    epoch.norm_sum += step.grad_norm;
    epoch.q_sum += q.sum;
    epoch.q_squares += q.squares;
    epoch.q_min = first || q.low < epoch.q_min ? q.low : epoch.q_min;
    epoch.q_max = first || q.high > epoch.q_max ? q.high : epoch.q_max;
}

// slots, td, rows [K, BATCH]; results, epochs [K]. Grid: K clusters.
extern "C" __global__ void GUARD_CLUSTER __launch_bounds__(GUARD_THREADS)
    guard_book(const LearnerParams* __restrict__ settings, LearnerState* states, ReplayView replay,
               const u32* __restrict__ slots, const f32* __restrict__ td, const LossRow* __restrict__ rows,
               const StepResult* __restrict__ results, LearnerEpoch* __restrict__ epochs) {
    __shared__ f64 scratch[GUARD_THREADS / 32];
    u32 learner = blockIdx.x / CLUSTER;
    u32 rank = blockIdx.x % CLUSTER;
    u64 own = (u64)learner * BATCH;
    LearnerState& state = states[learner];
    StepResult step = results[learner];
    replay_update_cluster<GUARD_THREADS>(settings[learner], replay_own(replay, learner), slots + own, td + own,
                                         step.verdict != 0, &state.max_priority, scratch, rank);
    if (rank + 1 != CLUSTER) return;
    QSums q = q_sums(rows + own, scratch);
    if (threadIdx.x == 0) book(settings[learner], state, step, q, epochs[learner]);
}
