// One bar of every account, when the networks are too large to stay in a multiprocessor: Q from the shares of the head,
// argmax or vote, life in the next bar, observation, layer 1. dense.cu computes the other layers between two steps; a
// CUDA graph repeats the sequence, with the decision's number in device memory. Compile with --fmad=false, as
// rollout.cu.
// Account a is decided by the VOTERS models from (a / n_row)·VOTERS on, over their row a % n_row. Block (a, v): every
// block of an account decides and lives alike; block v makes layer 1 of its voter v, block 0 also writes the path. What
// a step reads and what it writes are different buffers (clock, lives, and shares when there is one layer only), which
// take turns.
// Shapes: bars, windows, rules, pairs, path columns as in rollout.cu; levels [n_model, N_ACTION]; share [n_model,
// n_row, N_HEAD, LAST/4] and head_bias [n_model, N_HEAD]: summed they are the head's outputs; projected [n_model,
// n_row, chunk, H1];
// portfolio [n_model, H1/4, 8, 4]; lives and accounts [n_account]; out: layer 1 [n_model, n_row, H1], or with a single
// layer its share of the head.
// Deterministic: fixed orders, no atomics. CPU twin: cpu::engine::simulate with learn's NetPolicy or EnsemblePolicy.

#define STEP_THREADS 384
// One life of an account per warp while there are warps: lives in one warp would wait for each other.
#define ACCOUNT_WARPS (N_ACTION < 6 ? N_ACTION : 6)
#define SHARE_WARPS (STEP_THREADS / 32 - ACCOUNT_WARPS)
#define LIVES_PER_WARP ((N_ACTION + ACCOUNT_WARPS - 1) / ACCOUNT_WARPS)

struct NoTrades {
    GB_DEVICE void operator()(const EnvTrade&) {}
};

// What a step reads of one account, and what it may become.
struct StepShared {
    EnvAccount account;
    EnvBar bars[2];
    EnvAccount after[N_ACTION];
    alignas(16) f32 observed[N_ACTION][N_PORTFOLIO];
    EnvRules rules;
    f64 level[N_ACTION];
    f32 heads[VOTERS * N_HEAD];
};

// Copies T by words or by 16 bytes, one per thread from `first` on.
template <typename Word, typename T>
GB_DEVICE void copy_by_threads(T* to, const T* from, int n, int first) {
    int at = (int)threadIdx.x - first;
    if (at >= 0 && at < n * (int)(sizeof(T) / sizeof(Word))) ((Word*)to)[at] = ((const Word*)from)[at];
}

// Four units of layer 1. Their weights do not wait for the observation.
struct FirstQuad {
    float4 y;
    float4 weight[N_PORTFOLIO];

    GB_DEVICE void load(const f32* projected, const f32* portfolio, int quad) {
        y = ((const float4*)projected)[quad];
#pragma unroll
        for (int i = 0; i < N_PORTFOLIO; ++i) weight[i] = ((const float4*)portfolio)[quad * N_PORTFOLIO + i];
    }

    GB_DEVICE void apply(const f32* observed) {
#pragma unroll
        for (int i = 0; i < N_PORTFOLIO; ++i) {
            f32 v = observed[i];
            y.x = fmaf(weight[i].x, v, y.x);
            y.y = fmaf(weight[i].y, v, y.y);
            y.z = fmaf(weight[i].z, v, y.z);
            y.w = fmaf(weight[i].w, v, y.w);
        }
        y = make_float4(mlp_activate(y.x), mlp_activate(y.y), mlp_activate(y.z), mlp_activate(y.w));
    }
};

// Layer 1 of one row, by the whole block; `ahead` is loaded with quad threadIdx.x.
GB_DEVICE void first_layer(FirstQuad& ahead, const f32* projected, const f32* portfolio, const f32* observed,
                           const f32* head, f32* out, i64 row) {
    for (int quad = (int)threadIdx.x; quad < H1 / 4; quad += STEP_THREADS) {
        if (quad != (int)threadIdx.x) ahead.load(projected, portfolio, quad);
        ahead.apply(observed);
#if N_HIDDEN == 1
        for (int o = 0; o < N_HEAD; ++o) {
            float4 h = ((const float4*)head)[o * (LAST / 4) + quad];
            out[(row * N_HEAD + o) * (LAST / 4) + quad] = fma4(h, ahead.y, 0.0f);
        }
#else
        ((float4*)out)[row * (H1 / 4) + quad] = ahead.y;
#endif
    }
}

// Outputs of the heads of an account's voters, by SHARE_WARPS warps. heads [VOTERS, N_HEAD].
GB_DEVICE void sum_shares(const f32* share, const f32* head_bias, i64 model0, i64 row_in_model, u32 n_row, f32* heads,
                          int warp, int lane) {
#pragma unroll 4
    for (int at = warp; at < VOTERS * N_HEAD; at += SHARE_WARPS) {
        i64 model = model0 + at / N_HEAD;
        int o = at % N_HEAD;
        const float4* own = (const float4*)(share + ((model * n_row + row_in_model) * N_HEAD + o) * (LAST / 4));
        f32 sum = 0.0f;
#pragma unroll
        for (int i = lane; i < LAST / 16; i += 32) {
            float4 v = own[i];
            sum = sum + v.x + v.y + v.z + v.w;
        }
#pragma unroll
        for (int reach = 16; reach > 0; reach /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, reach);
        if (lane == 0) heads[at] = sum + head_bias[model * N_HEAD + o];
    }
}

// Q of one model from the outputs of its head; with a dueling head output 0 is the value.
GB_DEVICE void q_of(const f32* heads, f32* q) {
#if DUELING
    f32 total = 0.0f;
#pragma unroll
    for (int a = 0; a < N_ACTION; ++a) total += heads[a + 1];
    f32 centre = heads[0] - total / (f32)N_ACTION;
#pragma unroll
    for (int a = 0; a < N_ACTION; ++a) q[a] = heads[a + 1] + centre;
#else
#pragma unroll
    for (int a = 0; a < N_ACTION; ++a) q[a] = heads[a];
#endif
}

GB_DEVICE int decide(const f32* heads, const f64* level) {
    f32 q[N_ACTION];
#if VOTE == VOTE_NONE
    q_of(heads, q);
    return argmax<N_ACTION>(q);
#else
    VoteTally tally;
    tally.clear();
    for (int v = 0; v < VOTERS; ++v) {
        q_of(heads + v * N_HEAD, q);
        tally.add(q);
    }
    return tally.decide(vote_flat(level));
#endif
}

// Account warp `warp`: the account lives through the bar with actions warp, warp + ACCOUNT_WARPS, ….
GB_DEVICE void live(StepShared& shared, const EnvWindow& window, u32 t, int warp, int lane) {
    int own = warp + ACCOUNT_WARPS * lane;
    if (own < N_ACTION) {
        EnvAccount account = shared.account;
        NoTrades sink;
        env_step(shared.rules, account, shared.bars[0], shared.bars[1], window.first_bar + t, shared.level[own],
                 t + 2 == window.n_bars, sink);
        shared.after[own] = account;
    }
    __syncwarp();
    for (int part = lane; part < LIVES_PER_WARP * N_PORTFOLIO; part += 32) {
        int life = warp + ACCOUNT_WARPS * (part / N_PORTFOLIO);
        int i = part % N_PORTFOLIO;
        if (life < N_ACTION)
            shared.observed[life][i] = env_observed(shared.after[life], shared.bars[1].close, shared.bars[1].sigma, i);
    }
}

// Accounts as they stand before decision t0 (new ones for 0), their observation and layer 1; sets the clock.
extern "C" __global__ void __launch_bounds__(STEP_THREADS)
    layered_begin(const EnvBar* __restrict__ bars, const EnvWindow* __restrict__ windows,
                  const EnvRules* __restrict__ rules, const RolloutPair* __restrict__ pairs,
                  const f32* __restrict__ projected, const f32* __restrict__ portfolio, const f32* __restrict__ head,
                  const EnvAccount* __restrict__ accounts, EnvAccount* lives, f64* equity, f32* out,
                  LayeredClock* clock, u32 chunk, u32 n_row, u32 t0, u32 n_steps) {
    __shared__ EnvAccount account;
    __shared__ f32 observed[N_PORTFOLIO];
    u32 index = blockIdx.x;
    int thread = (int)threadIdx.x;
    bool writes = blockIdx.y == 0 && thread == 0;
    if (index == 0 && writes) *clock = LayeredClock{t0, t0, t0 + n_steps, 0};
    RolloutPair pair = pairs[index];
    EnvWindow window = windows[pair.window];
    if (t0 + 1 >= window.n_bars) return;
    if (thread == 0) {
        if (t0 == 0) {
            env_new(account, rules[window.rules]);
        } else {
            account = accounts[index];
        }
        if (writes) {
            lives[index] = account;
            if (t0 == 0) equity[pair.path] = account.equity;
        }
    }
    __syncthreads();
    const EnvBar& bar = bars[window.row + t0];
    if (thread < N_PORTFOLIO) observed[thread] = env_observed(account, bar.close, bar.sigma, thread);
    i64 model = (i64)(index / n_row) * VOTERS + blockIdx.y;
    i64 row = model * n_row + index % n_row;
    projected += row * chunk * H1;
    portfolio += model * H1 * N_PORTFOLIO;
    FirstQuad quad;
    if (thread < H1 / 4) quad.load(projected, portfolio, thread);
    __syncthreads();
    first_layer(quad, projected, portfolio, observed, head + model * N_HEAD * LAST, out, row);
}

// Decision t of every account and the observation after it. While the head is summed up, the account already lives
// through the next bar with every action.
extern "C" __global__ void __launch_bounds__(STEP_THREADS)
    layered_step(const EnvBar* __restrict__ bars, const EnvWindow* __restrict__ windows,
                 const EnvRules* __restrict__ rules, const RolloutPair* __restrict__ pairs,
                 const f64* __restrict__ levels, const f32* share, const f32* __restrict__ head_bias,
                 const f32* __restrict__ projected, const f32* __restrict__ portfolio, const f32* __restrict__ head,
                 const LayeredClock* clock, LayeredClock* next_clock, const EnvAccount* lives, EnvAccount* next_lives,
                 EnvAccount* accounts, f64* equity, f64* returns, u8* actions, f32* out, u32 chunk, u32 n_row) {
    __shared__ StepShared shared;
    u32 index = blockIdx.x;
    int thread = (int)threadIdx.x;
    int warp = thread / 32;
    LayeredClock now = *clock;
    if (index == 0 && blockIdx.y == 0 && thread == 0) {
        *next_clock = LayeredClock{now.t < now.end ? now.t + 1 : now.t, now.start, now.end, 0};
    }
    RolloutPair pair = pairs[index];
    EnvWindow window = windows[pair.window];
    u32 t = now.t;
    u32 end = window.n_bars - 1 < now.end ? window.n_bars - 1 : now.end;
    if (t >= end) return;
    i64 model0 = (i64)(index / n_row) * VOTERS;
    i64 model = model0 + blockIdx.y;
    i64 row = model * n_row + index % n_row;
    bool goes_on = t + 1 < end;
    copy_by_threads<float4>(&shared.account, &lives[index], 1, 0);
    copy_by_threads<float4>(shared.bars, &bars[window.row + t], 2, 16);
    copy_by_threads<u32>(&shared.rules, &rules[window.rules], 1, 32);
    copy_by_threads<f64>(shared.level, &levels[model0 * N_ACTION], N_ACTION, 96);
    projected += (row * chunk + (t + 1 - now.start)) * H1;
    portfolio += model * H1 * N_PORTFOLIO;
    FirstQuad quad;
    if (goes_on && thread < H1 / 4) quad.load(projected, portfolio, thread);
    __syncthreads();
    if (warp < ACCOUNT_WARPS) {
        live(shared, window, t, warp, thread % 32);
    } else {
        sum_shares(share, head_bias, model0, index % n_row, n_row, shared.heads, warp - ACCOUNT_WARPS, thread % 32);
    }
    __syncthreads();
    int action = decide(shared.heads, shared.level);
    const EnvAccount& account = shared.after[action];
    if (blockIdx.y == 0) {
        copy_by_threads<float4>(&next_lives[index], &account, 1, 0);
        if (!goes_on) copy_by_threads<float4>(&accounts[index], &account, 1, 0);
        if (thread == 32) returns[pair.path + t] = account.last_return;
        if (thread == 64) equity[pair.path + t + 1] = account.equity;
#if WRITE_ACTIONS
        if (thread == 96) actions[pair.path + t] = (u8)action;
#endif
    }
    if (goes_on)
        first_layer(quad, projected, portfolio, shared.observed[action], head + model * N_HEAD * LAST, out, row);
}
