// T steps of many (policy, window) pairs in one launch; the account's state goes on from launch to launch.
// Compile with --fmad=false: money is f64 and equals the CPU engine's bit for bit given the same levels.
// Shapes: bars [n_rows], windows [n_window], rules [n_rules], accounts [n_pair]; path columns are [Σ n_bars] with a pair's
// first element at `path`. Deterministic: fixed trees only, no atomics.
//
//   rollout_given   one thread per pair; levels given per step. CPU twin: cpu::engine::replay.
//   rollout_greedy  one block per SLOTS pairs of one policy; levels by argmax of the network. CPU twin: cpu::engine::simulate
//                   with learn's NetPolicy.

#if !ROLLOUT_GREEDY

struct KeepTrades {
    EnvTrade* out;
    u32 capacity;
    u32 n;
    GB_DEVICE void operator()(const EnvTrade& trade) {
        if (n < capacity) out[n] = trade;
        n += 1;
    }
};

// cash, units, level_held may be null (WRITE_PATH 0); trades [n_pair, trade_capacity] keeps the first ones, and the
// account's count says how many there were.
extern "C" __global__ void rollout_given(const EnvBar* __restrict__ bars, const EnvWindow* __restrict__ windows,
                                         const EnvRules* __restrict__ rules, const RolloutPair* __restrict__ pairs,
                                         const f64* __restrict__ levels, EnvAccount* accounts, f64* equity,
                                         f64* returns, f64* cash, f64* units, f64* level_held, EnvTrade* trades,
                                         u32 trade_capacity, u32 n_pair, u32 t0, u32 n_steps) {
    u32 index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= n_pair) return;
    RolloutPair pair = pairs[index];
    EnvWindow window = windows[pair.window];
    EnvRules r = rules[window.rules];
    EnvAccount account;
    if (t0 == 0) {
        env_new(account, r);
        equity[pair.path] = account.equity;
#if WRITE_PATH
        cash[pair.path] = account.cash;
        units[pair.path] = account.units;
        level_held[pair.path] = account.level;
#endif
    } else {
        account = accounts[index];
    }
    KeepTrades sink{trades + (i64)index * trade_capacity, trade_capacity, account.trades};
    u32 steps = steps_from(window.n_bars, t0, n_steps);
    EnvBar now = bars[window.row + t0];
    for (u32 step = 0; step < steps; ++step) {
        u32 t = t0 + step;
        EnvBar next = bars[window.row + t + 1];
        i64 at = pair.path + t;
        env_step(r, account, now, next, window.first_bar + t, levels[at], t + 2 == window.n_bars, sink);
        returns[at] = account.last_return;
        equity[at + 1] = account.equity;
#if WRITE_PATH
        cash[at + 1] = account.cash;
        units[at + 1] = account.units;
        level_held[at + 1] = account.level;
#endif
        now = next;
    }
    accounts[index] = account;
}

#else

#define ACCOUNT_THREADS (32 * SLOTS)
#define BLOCK_THREADS (COMPUTE_THREADS + ACCOUNT_THREADS)
#define H1_PER_THREAD ((H1 + COMPUTE_THREADS - 1) / COMPUTE_THREADS)
// One compute group and one warp per slot meet at these.
#define BARRIER_COMPUTE 1
#define BARRIER_OBSERVED(slot) (2 + 2 * (slot))
#define BARRIER_FORWARDED(slot) (3 + 2 * (slot))
#define MEET (COMPUTE_THREADS + 32)

struct NoTrades {
    GB_DEVICE void operator()(const EnvTrade&) {}
};

// Sizes are repeated in gpu/mlp.rs, which owns the launch.
struct SlotShared {
    // What the account would look like after each action, for the step to come and the one before. [2, N_ACTION, 8]
    alignas(16) f32 observed[2][N_ACTION][N_PORTFOLIO];
    alignas(16) f32 last[LAST];  // output of the last hidden layer
    EnvAccount account;
    i32 action;
};

struct BlockShared {
    SlotShared slot[SLOTS];
    alignas(16) f32 hidden[2][WIDEST];
    alignas(16) f32 head[N_HEAD * LAST + N_HEAD];
};

static_assert(sizeof(BlockShared) == BLOCK_SHARED_BYTES, "BlockShared");

#if N_HIDDEN > 1
typedef Dense<H1, H2, HELD2> Layer2;
#endif
#if N_HIDDEN > 2
typedef Dense<H2, H3, HELD3> Layer3;
#endif

// Network: layer 1 = projected features (made beforehand for all bars) + portfolio part; then the dense layers.
GB_DEVICE void compute_group(BlockShared& shared, f32* weights_shared, const f32* __restrict__ packed,
                             const f32* __restrict__ projected, const u32* steps, u32 n_loop, u32 chunk, int thread) {
    f32 portfolio_weight[H1_PER_THREAD][N_PORTFOLIO];
    f32 ahead[SLOTS][H1_PER_THREAD];
#pragma unroll
    for (int m = 0; m < H1_PER_THREAD; ++m) {
        int j = m * COMPUTE_THREADS + thread;
#pragma unroll
        for (int i = 0; i < N_PORTFOLIO; ++i) portfolio_weight[m][i] = j < H1 ? packed[j * N_PORTFOLIO + i] : 0.0f;
#pragma unroll
        for (int s = 0; s < SLOTS; ++s) ahead[s][m] = j < H1 && steps[s] > 0 ? projected[(i64)s * chunk * H1 + j] : 0.0f;
    }
    const f32* rest = packed + H1 * N_PORTFOLIO;
#if N_HIDDEN > 1
    Layer2 layer2;
    layer2.load(rest, weights_shared, thread);
    rest += H1 * H2 + H2;
#endif
#if N_HIDDEN > 2
    Layer3 layer3;
    f32* weights_shared3 = weights_shared + Layer2::SHARED_FLOATS;
    layer3.load(rest, weights_shared3, thread);
#endif
    for (u32 step = 0; step < n_loop; ++step) {
#pragma unroll
        for (int s = 0; s < SLOTS; ++s) {
            if (step >= steps[s]) continue;
            SlotShared& slot = shared.slot[s];
            f32 sum[H1_PER_THREAD];
#pragma unroll
            for (int m = 0; m < H1_PER_THREAD; ++m) {
                int j = m * COMPUTE_THREADS + thread;
                sum[m] = ahead[s][m];
                if (j < H1 && step + 1 < steps[s]) ahead[s][m] = projected[((i64)s * chunk + step + 1) * H1 + j];
            }
            named_sync(BARRIER_OBSERVED(s), MEET);
            const float4* observed = (const float4*)slot.observed[step & 1][slot.action];
            float4 low = observed[0];
            float4 high = observed[1];
#if N_HIDDEN > 1
            f32* first = shared.hidden[0];
#else
            f32* first = slot.last;
#endif
#pragma unroll
            for (int m = 0; m < H1_PER_THREAD; ++m) {
                int j = m * COMPUTE_THREADS + thread;
                f32 x = sum[m];
                x = fmaf(portfolio_weight[m][0], low.x, x);
                x = fmaf(portfolio_weight[m][1], low.y, x);
                x = fmaf(portfolio_weight[m][2], low.z, x);
                x = fmaf(portfolio_weight[m][3], low.w, x);
                x = fmaf(portfolio_weight[m][4], high.x, x);
                x = fmaf(portfolio_weight[m][5], high.y, x);
                x = fmaf(portfolio_weight[m][6], high.z, x);
                x = fmaf(portfolio_weight[m][7], high.w, x);
                if (j < H1) first[j] = mlp_activate(x);
            }
#if N_HIDDEN == 2
            named_sync(BARRIER_COMPUTE, COMPUTE_THREADS);
            layer2.apply(first, weights_shared, slot.last, thread);
#elif N_HIDDEN == 3
            named_sync(BARRIER_COMPUTE, COMPUTE_THREADS);
            layer2.apply(first, weights_shared, shared.hidden[1], thread);
            named_sync(BARRIER_COMPUTE, COMPUTE_THREADS);
            layer3.apply(shared.hidden[1], weights_shared3, slot.last, thread);
#endif
            named_arrive(BARRIER_FORWARDED(s), MEET);
        }
    }
}

// The account of one pair, by one warp. While the network runs, lane a already lives through the next bar with action a,
// so that money is off the critical path: once the action is known, its lane's account and observation are taken over.
GB_DEVICE void account_warp(BlockShared& shared, int s, const EnvBar* __restrict__ bars, const EnvWindow& window,
                            const EnvRules& rules, const RolloutPair& pair, const f64* __restrict__ levels,
                            EnvAccount* saved, f64* equity, f64* returns, u8* actions, u32 t0, u32 steps, int lane) {
    if (steps == 0) return;
    SlotShared& slot = shared.slot[s];
    const EnvBar* row = bars + window.row;
    u32 last_bar = window.n_bars - 1;
    int own = lane < N_ACTION ? lane : N_ACTION - 1;
    f64 level = levels[(i64)pair.policy * N_ACTION + own];
    EnvBar now = row[t0];
    EnvBar next = row[t0 + 1];
    EnvBar after = row[t0 + 2 < last_bar ? t0 + 2 : last_bar];
    EnvAccount account;
    if (t0 == 0) {
        env_new(account, rules);
        if (lane == 0) equity[pair.path] = account.equity;
    } else {
        account = *saved;
    }
    f32 observed[N_PORTFOLIO];
    env_observation(account, now, observed);
    if (lane < N_ACTION) {
        float4* out = (float4*)slot.observed[0][lane];
        out[0] = make_float4(observed[0], observed[1], observed[2], observed[3]);
        out[1] = make_float4(observed[4], observed[5], observed[6], observed[7]);
    }
    if (lane == 0) slot.action = 0;
    __syncwarp();
    named_arrive(BARRIER_OBSERVED(s), MEET);
    NoTrades sink;
    for (u32 step = 0; step < steps; ++step) {
        u32 t = t0 + step;
        EnvAccount mine = account;
        env_step(rules, mine, now, next, window.first_bar + t, level, t + 1 == last_bar, sink);
        env_observation(mine, next, observed);
        __syncwarp();
        if (lane < N_ACTION) {
            float4* out = (float4*)slot.observed[(step + 1) & 1][lane];
            out[0] = make_float4(observed[0], observed[1], observed[2], observed[3]);
            out[1] = make_float4(observed[4], observed[5], observed[6], observed[7]);
        }
        Head head;
        head.load(shared.head, lane);
        named_sync(BARRIER_FORWARDED(s), MEET);
        f32 q[N_ACTION];
        head.apply(slot.last, shared.head, q, lane);
        int action = mlp_argmax(q);
        if (step + 1 < steps) {
            if (lane == 0) slot.action = action;
            __syncwarp();
            named_arrive(BARRIER_OBSERVED(s), MEET);
        }
        if (lane == action) slot.account = mine;
        __syncwarp();
        account = slot.account;
        if (lane == 0) {
            returns[pair.path + t] = account.last_return;
            equity[pair.path + t + 1] = account.equity;
#if WRITE_ACTIONS
            actions[pair.path + t] = (u8)action;
#endif
        }
        now = next;
        next = after;
        after = row[t + 3 < last_bar ? t + 3 : last_bar];
        __syncwarp();
    }
    if (lane == 0) *saved = account;
}

// Block: 8 compute warps, then one account warp per slot. pairs [n_block, SLOTS]; projected [n_block, SLOTS, chunk, H1];
// packed [n_policy, WEIGHT_FLOATS]; levels [n_policy, N_ACTION]; dynamic shared memory: BlockShared, then the weights
// that registers do not hold.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 1)
    rollout_greedy(const EnvBar* __restrict__ bars, const EnvWindow* __restrict__ windows,
                   const EnvRules* __restrict__ rules, const RolloutPair* __restrict__ pairs,
                   const f32* __restrict__ projected, const f32* __restrict__ packed, const f64* __restrict__ levels,
                   EnvAccount* accounts, f64* equity, f64* returns, u8* actions, u32 chunk, u32 t0, u32 n_steps) {
    extern __shared__ float4 dynamic_shared[];
    BlockShared& shared = *(BlockShared*)dynamic_shared;
    f32* weights_shared = (f32*)((char*)dynamic_shared + BLOCK_SHARED_BYTES);
    int thread = (int)threadIdx.x;
    const RolloutPair* own = pairs + (i64)blockIdx.x * SLOTS;
    u32 steps[SLOTS];
    u32 n_loop = 0;
#pragma unroll
    for (int s = 0; s < SLOTS; ++s) {
        steps[s] = own[s].policy == NO_PAIR ? 0 : steps_from(windows[own[s].window].n_bars, t0, n_steps);
        n_loop = steps[s] > n_loop ? steps[s] : n_loop;
    }
    if (n_loop == 0) return;
    const f32* weights = packed + (i64)own[0].policy * WEIGHT_FLOATS;
    for (int i = thread; i < N_HEAD * LAST + N_HEAD; i += BLOCK_THREADS) {
        shared.head[i] = weights[WEIGHT_FLOATS - HEAD_FLOATS + i];
    }
    __syncthreads();
    if (thread < COMPUTE_THREADS) {
        const f32* first = projected + (i64)blockIdx.x * SLOTS * chunk * H1;
        compute_group(shared, weights_shared, weights, first, steps, n_loop, chunk, thread);
    } else {
        int s = (thread - COMPUTE_THREADS) / 32;
        RolloutPair pair = own[s];
        if (pair.policy == NO_PAIR) return;
        EnvWindow window = windows[pair.window];
        EnvRules r = rules[window.rules];
        account_warp(shared, s, bars, window, r, pair, levels, accounts + (i64)blockIdx.x * SLOTS + s, equity, returns,
                     actions, t0, steps_from(window.n_bars, t0, n_steps), thread % 32);
    }
}

#endif
