// Minibatches: drawing slots and gathering their observations. CPU twins: replay::Sampler::draw, dqn/batch.rs. Compile
// with --fmad=false. BATCH rows of K learners; ROW_FLOATS is an observation's row.
// Deterministic: random numbers are functions of (seed, gradient step, row), every element is written by one warp.

// Words 2j and 2j + 1 of the sampling stream, j the number of the draw since the start of training.
struct DrawWords {
    u32 first, second;
};

GB_DEVICE DrawWords draw_words(u64 seed, u64 j) {
    PhiloxWords words = philox_block(seed, STREAM_SAMPLE, j / 2);
    bool odd = (j & 1) != 0;
    return DrawWords{odd ? words.v[2] : words.v[0], odd ? words.v[3] : words.v[1]};
}

// Philox::index below n < 2^32, of words taken low first.
GB_DEVICE u32 draw_index(const DrawWords& words, u64 n) {
    return (u32)((words.second * n + ((words.first * n) >> 32)) >> 32);
}

struct Drawn {
    u32 slot;
    f64 weight;  // (n·P)^−β, not yet divided by the batch's largest
};

// Row `row` of the minibatch; a warp's work. `replay` is the learner's own.
GB_DEVICE Drawn draw_row(const LearnerParams& p, const LearnerState& state, const ReplayView& replay, u32 row) {
    u64 n = ring_len(state, CAPACITY);
    DrawWords words = draw_words(p.seed, state.grad_steps * BATCH + row);
#if REPLAY == REPLAY_UNIFORM
    return Drawn{draw_index(words, n), 1.0};
#else
    f64 u = ((f64)row + unit_f64(words.first, words.second)) / (f64)BATCH;
#if REPLAY == REPLAY_PROPORTIONAL
    TreeDraw draw = tree_find(replay.tree, u);
    u32 slot = draw.slot;
    f64 probability = draw.priority / draw.total;
#else
    f64 total = replay.cumulative[n - 1];
    u32 place = rank_find(replay.cumulative, (u32)n, u * total);
    f64 below = place == 0 ? 0.0 : replay.cumulative[place - 1];
    u32 slot = replay.order[place];
    f64 probability = (replay.cumulative[place] - below) / total;
#endif
    return Drawn{slot, pow((f64)n * probability, -learner_beta(p, state.env_steps))};
#endif
}

// Feature i of a row with its share of noise block `block`: 16 random bits, eight features from a block.
GB_DEVICE f32 noisy(f32 x, f32 amplitude, u64 seed, u64 block, u32 i) {
    PhiloxWords words = philox_block(seed, STREAM_NOISE, block);
    u32 pair = (i / 2) & 3;
    u32 word = pair == 0 ? words.v[0] : (pair == 1 ? words.v[1] : (pair == 2 ? words.v[2] : words.v[3]));
    u32 half = i & 1 ? word >> 16 : word & 0xffff;
    f32 unit = ((f32)half + 0.5f) * (2.0f / 65536.0f) - 1.0f;
    return x + amplitude * unit;
}

// One observation into `out` [ROW_FLOATS]: features of `bar`, noise, portfolio, zeros. `which` is 0 for s, 1 for s′.
GB_DEVICE void gather_row(const LearnerParams& p, u64 grad_steps, const f32* features, u32 bar, const f32* portfolio,
                          u32 row, u32 which, f32* out) {
    constexpr u32 BLOCKS = (N_FEATURE + 7) / 8;
    u32 lane = threadIdx.x & 31;
    const f32* from = features + p.features + (i64)bar * N_FEATURE;
    f32 amplitude = (f32)p.noise;
    u64 first_block = ((grad_steps * BATCH + row) * 2 + which) * BLOCKS;
    for (u32 i = lane; i < ROW_FLOATS; i += 32) {
        f32 value = 0.0f;
        if (i < N_FEATURE) {
            value = from[i];
            if (amplitude != 0.0f) value = noisy(value, amplitude, p.seed, first_block + i / 8, i);
        } else if (i < N_FEATURE + N_PORTFOLIO) {
            value = portfolio[i - N_FEATURE];
        }
        out[i] = value;
    }
}

// slots and weights [K, BATCH]; x [K, 2, BATCH, ROW_FLOATS]: all s, then all s′. One warp a row; grid: x rows, y
// learners.
// A ring that holds nothing gives nothing.
extern "C" __global__ void __launch_bounds__(DRAW_WARPS * 32)
    replay_draw(const LearnerParams* __restrict__ params, const LearnerState* __restrict__ states,
                const f32* __restrict__ features, RingView ring, ReplayView replay, u32* __restrict__ slots,
                f64* __restrict__ weights, f32* __restrict__ x) {
    u32 k = blockIdx.y;
    u32 row = blockIdx.x * DRAW_WARPS + threadIdx.x / 32;
    const LearnerParams& p = params[k];
    const LearnerState& state = states[k];
    if (row >= BATCH || state.written == 0) return;
    Drawn drawn = draw_row(p, state, replay_own(replay, k), row);
    u64 at = (u64)k * CAPACITY + drawn.slot;
    u64 own = (u64)k * BATCH + row;
    if ((threadIdx.x & 31) == 0) {
        slots[own] = drawn.slot;
        weights[own] = drawn.weight;
    }
    u64 grad_steps = state.grad_steps;
    f32* now = x + ((u64)k * 2 * BATCH + row) * ROW_FLOATS;
    f32* next = now + (u64)BATCH * ROW_FLOATS;
    gather_row(p, grad_steps, features, ring.bar[at], ring.portfolio + at * N_PORTFOLIO, row, 0, now);
    gather_row(p, grad_steps, features, ring.next_bar[at], ring.next_portfolio + at * N_PORTFOLIO, row, 1, next);
}
