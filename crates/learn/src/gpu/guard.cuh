// What a gradient step leaves, and the training guard's verdict on it. CPU twin: guard.rs. Needs learner.cuh.
#pragma once

// What a gradient step came to, for the guard and for whoever carries it out.
struct StepResult {
    f64 loss;
    f64 grad_norm;  // before clipping
    f32 largest_q;  // |Q|
    u32 verdict;    // GUARD_*; 0: a good step
};
static_assert(sizeof(StepResult) == 24, "StepResult");

// What one row of the minibatch adds to the loss and to the statistics of Q.
struct LossRow {
    f64 loss;
    f64 q_sum;
    f64 q_squares;
    f32 q_min;
    f32 q_max;
};
static_assert(sizeof(LossRow) == 32, "LossRow");

// Of this epoch; all zeros before its first step.
struct LearnerEpoch {
    f64 loss_sum;
    f64 norm_sum;
    f64 q_sum;
    f64 q_squares;
    f64 q_min;
    f64 q_max;
    u32 good_steps;
    u32 steps;
    u32 trips[4];  // by reason, in the order of GUARD_*
};
static_assert(sizeof(LearnerEpoch) == 72, "LearnerEpoch");

GB_DEVICE bool guard_is_finite(f64 x) { return x - x == 0.0; }

GB_DEVICE u32 guard_verdict(const LearnerParams& p, const LearnerState& state, f64 loss, f64 norm, f64 largest_q) {
    if (!(guard_is_finite(loss) && guard_is_finite(norm) && guard_is_finite(largest_q))) return GUARD_NOT_FINITE;
    u32 verdict = 0;
    bool warm = state.loss_count >= GUARD_WARMUP;
    if (p.loss_spike > 0.0 && warm && loss > p.loss_spike * state.loss_mean) verdict |= GUARD_LOSS_SPIKE;
    if (norm < p.min_grad_norm) verdict |= GUARD_GRADIENT_COLLAPSE;
    if (p.max_q > 0.0 && largest_q > p.max_q) verdict |= GUARD_Q_DIVERGENCE;
    return verdict;
}

// The running mean of the loss takes in a good step's; of a spike as much as is none, so that a lasting change is
// followed.
GB_DEVICE void guard_follow(const LearnerParams& p, LearnerState& state, const StepResult& step) {
    if (step.verdict & GUARD_NOT_FINITE) return;
    f64 loss = step.verdict & GUARD_LOSS_SPIKE ? p.loss_spike * state.loss_mean : step.loss;
    u64 n = state.loss_count + 1 < GUARD_WARMUP ? state.loss_count + 1 : GUARD_WARMUP;
    state.loss_mean += (loss - state.loss_mean) / (f64)n;
    state.loss_count += 1;
}
