// What every kernel of the population shares: settings and progress of a learner, the replay ring, schedules.
// Layout twins: gpu/layout.rs. Needs prelude.cuh, rng.cuh and env.cuh.
//
// K learners train side by side. They share the network's shape, the batch, the number of environments and n; all else
// is a learner's own, in LearnerParams. Every array begins with the learner: [K, …].
#pragma once

// rules::RewardConfig with the median of sigma over the train range.
struct RewardRules {
    f64 dsr_rate;
    f64 turnover_penalty;
    f64 drawdown_penalty;
    f64 ruin_penalty;
    f64 median_vol;
    u32 kind;  // REWARD_*
    u32 unused;
};
static_assert(sizeof(RewardRules) == 48, "RewardRules");

// One learner's settings; nothing here changes while it trains.
struct alignas(16) LearnerParams {
    EnvRules rules;
    RewardRules reward;
    u64 seed;
    i64 features;      // element of the feature tables where the row of bar 0 begins
    u32 first_bar;     // of the train range
    u32 n_start;       // bars an episode may start at, from first_bar
    u32 episode_bars;  // decisions of an episode
    u32 target_period; // gradient steps; 0: soft update
    f64 gamma;
    f64 reward_scale;
    f64 total_steps;   // environment steps of the whole training
    f64 epsilon_start;
    f64 epsilon_end;
    f64 epsilon_fraction;
    f64 lr_start;
    f64 lr_end;
    f64 beta_start;
    f64 beta_end;
    f64 alpha;
    f64 priority_eps;
    f64 weight_decay;
    f64 adam_eps;
    f64 max_grad_norm;  // 0: no clipping
    f64 huber_delta;
    f64 tau;
    f64 noise;          // sqrt(3) times the features' noise deviation; 0: none
    f64 loss_spike;     // guard: loss above this many times its running mean is a spike; 0: not asked
    f64 min_grad_norm;  // guard: a gradient below is collapsed; 0: not asked
    f64 max_q;          // guard: |Q| above has diverged; 0: not asked
    u32 flags;          // PARAMS_*
    u32 unused[3];
};
static_assert(sizeof(LearnerParams) == 432, "LearnerParams");

// One learner's progress. Written by one thread of learner_finish or collector_count; all other kernels only read it.
struct alignas(16) LearnerState {
    u64 env_steps;
    u64 grad_steps;  // skipped ones included
    u64 adam_steps;
    u64 skipped_steps;
    u64 written;       // transitions ever written to the ring
    u64 tripped;       // GUARD_* bits of all steps so far
    f64 max_priority;  // largest priority seen
    f64 loss_mean;     // guard: running mean of the loss
    u64 loss_count;    // losses in it
    u64 unused;
};
static_assert(sizeof(LearnerState) == 80, "LearnerState");

// What one environment did in this epoch. One thread adds to it, one bar after the other; all zeros before the first.
struct EnvTally {
    f64 reward_sum;
    f64 reward_squares;
    f64 reward_min;
    f64 reward_max;
    f64 return_sum;
    f64 return_squares;
    u32 steps;
    u32 ruins;
};
static_assert(sizeof(EnvTally) == 56, "EnvTally");

// An environment beside its account.
struct EnvPlace {
    f64 dsr_mean;
    f64 dsr_var;
    u64 steps;     // decisions since the start of training
    u64 episodes;  // begun
    u32 bar;       // that has just closed
    u32 end;       // at whose close the episode is truncated
    u32 n_pending; // steps waiting for their n-step return, oldest first
    u32 n_ready;   // of those, how many became transitions with this bar
};
static_assert(sizeof(EnvPlace) == 48, "EnvPlace");

// A step whose n-step return is not complete yet.
struct PendingStep {
    f64 reward;
    u32 bar;
    u32 action;
    f32 portfolio[N_PORTFOLIO];
};
static_assert(sizeof(PendingStep) == 48, "PendingStep");

// The replay rings, one array per field: replay::Ring. [K, capacity] each.
struct RingView {
    u32* bar;
    f32* portfolio;  // [K, capacity, N_PORTFOLIO]
    u32* action;
    f32* reward;
    f32* discount;
    u32* done;
    u32* next_bar;
    f32* next_portfolio;  // [K, capacity, N_PORTFOLIO]
    u64 capacity;
};
static_assert(sizeof(RingView) == 72, "RingView");

GB_DEVICE u64 ring_len(const LearnerState& state, u64 capacity) {
    return state.written < capacity ? state.written : capacity;
}

// schedule::Decay::at.
GB_DEVICE f64 decay_at(bool exponential, f64 start, f64 end, f64 progress) {
    f64 x = progress < 0.0 ? 0.0 : progress;
    if (!(x < 1.0)) return end;
    return exponential ? start * pow(end / start, x) : start + (end - start) * x;
}

GB_DEVICE f64 learner_progress(const LearnerParams& p, u64 env_steps) { return (f64)env_steps / p.total_steps; }

GB_DEVICE f64 learner_epsilon(const LearnerParams& p, u64 env_steps) {
    bool exponential = (p.flags & PARAMS_EPSILON_EXPONENTIAL) != 0;
    f64 progress = learner_progress(p, env_steps) / p.epsilon_fraction;
    return decay_at(exponential, p.epsilon_start, p.epsilon_end, progress);
}

GB_DEVICE f64 learner_rate(const LearnerParams& p, u64 env_steps) {
    bool exponential = (p.flags & PARAMS_RATE_EXPONENTIAL) != 0;
    return decay_at(exponential, p.lr_start, p.lr_end, learner_progress(p, env_steps));
}

GB_DEVICE f64 learner_beta(const LearnerParams& p, u64 env_steps) {
    return decay_at(false, p.beta_start, p.beta_end, learner_progress(p, env_steps));
}

// An index below n from one word: collector::below.
GB_DEVICE u32 index_below(u32 word, u32 n) { return (u32)(((u64)word * n) >> 32); }
