// T steps of many (policy, window) pairs in one launch; the account's state goes on from launch to launch.
// Compile with --fmad=false: money is f64 and equals the CPU engine's bit for bit given the same levels.
// Shapes: bars [n_rows], windows [n_window], rules [n_rules], accounts [n_pair]; path columns are [Σ n_bars] with a pair's
// first element at `path`. Deterministic: fixed trees only, no atomics.
//
//   rollout_greedy  one block per SLOTS pairs of one policy; levels by argmax of the network. CPU twin: cpu::engine::simulate
//                   with learn's NetPolicy. Given levels: replay.cu.

// Three warpgroups: two compute, the warps of the third keep an account each (those beyond SLOTS leave at once).
#define BLOCK_THREADS (COMPUTE_THREADS + 128)
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
    // The account after each action, for the step to come and the one before.
    EnvAccount lives[2][N_ACTION];
    EnvBar bars[2];  // bar t lies at t & 1
    EnvRules rules;
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
    const f32* row = projected + thread;
    for (u32 step = 0; step < n_loop; ++step) {
        row += H1;
#pragma unroll
        for (int s = 0; s < SLOTS; ++s) {
            if (step >= steps[s]) continue;
            SlotShared& slot = shared.slot[s];
            f32 sum[H1_PER_THREAD];
#pragma unroll
            for (int m = 0; m < H1_PER_THREAD; ++m) {
                int j = m * COMPUTE_THREADS + thread;
                sum[m] = ahead[s][m];
                if (j < H1 && step + 1 < steps[s]) ahead[s][m] = row[s * chunk * H1 + m * COMPUTE_THREADS];
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

// Moves registers from the account warps to the compute warps, which hold weights in them.
template <int REGISTERS>
GB_DEVICE void take_registers() {
#if SET_REGISTERS
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#endif
}

template <int REGISTERS>
GB_DEVICE void give_registers() {
#if SET_REGISTERS
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#endif
}

GB_DEVICE void show(SlotShared& slot, u32 parity, int lane, const EnvAccount& account, const EnvBar& now) {
    f32 observed[N_PORTFOLIO];
    env_observation_fast(account, now, observed);
    if (lane < N_ACTION) {
        float4* out = (float4*)slot.observed[parity][lane];
        out[0] = make_float4(observed[0], observed[1], observed[2], observed[3]);
        out[1] = make_float4(observed[4], observed[5], observed[6], observed[7]);
        slot.lives[parity][lane] = account;
    }
}

// The account of one pair, by one warp. While the network runs, lane a already lives through the next bar with action a,
// so that money is off the critical path: once the action is known, its lane's account and observation are taken over.
GB_DEVICE void account_warp(SlotShared& slot, int s, const f32* head_packed, const EnvBar* __restrict__ bars,
                            const EnvWindow& window, const RolloutPair& pair, const f64* __restrict__ levels,
                            EnvAccount* saved, f64* equity, f64* returns, u8* actions, u32 t0, u32 steps, int lane) {
    // Lanes 0 to 5 carry one column each from global to shared memory, a bar ahead.
    const f64* column = (const f64*)(bars + window.row) + lane % 6;
    u32 last_bar = window.n_bars - 1;
    f64 level = levels[(i64)pair.policy * N_ACTION + (lane < N_ACTION ? lane : N_ACTION - 1)];
    if (lane < 6) {
        ((f64*)&slot.bars[t0 & 1])[lane] = column[(i64)t0 * 6];
        ((f64*)&slot.bars[(t0 + 1) & 1])[lane] = column[(i64)(t0 + 1) * 6];
    }
    f64 ahead = column[(i64)(t0 + 2 < last_bar ? t0 + 2 : last_bar) * 6];
    __syncwarp();
    {
        EnvAccount account;
        if (t0 == 0) {
            env_new(account, slot.rules);
            if (lane == 0) equity[pair.path] = account.equity;
        } else {
            account = *saved;
        }
        show(slot, 0, lane, account, slot.bars[t0 & 1]);
    }
    int action = 0;
    if (lane == 0) slot.action = action;
    __syncwarp();
    named_arrive(BARRIER_OBSERVED(s), MEET);
    NoTrades sink;
    for (u32 step = 0; step < steps; ++step) {
        u32 t = t0 + step;
        u32 parity = (step + 1) & 1;
        {
            EnvAccount account = slot.lives[parity ^ 1][action];
            const EnvBar& next = slot.bars[(t + 1) & 1];
            env_step(slot.rules, account, slot.bars[t & 1], next, window.first_bar + t, level, t + 1 == last_bar, sink);
            __syncwarp();
            show(slot, parity, lane, account, next);
        }
        // Bar t is done with: bar t + 2 takes its place.
        __syncwarp();
        if (lane < 6) ((f64*)&slot.bars[t & 1])[lane] = ahead;
        ahead = column[(i64)(t + 3 < last_bar ? t + 3 : last_bar) * 6];
        Head head;
        head.load(head_packed, lane);
        named_sync(BARRIER_FORWARDED(s), MEET);
        f32 q[N_ACTION];
        head.apply(slot.last, head_packed, q, lane);
        action = mlp_argmax(q);
        if (lane == 0) slot.action = action;
        __syncwarp();
        if (step + 1 < steps) named_arrive(BARRIER_OBSERVED(s), MEET);
        if (lane == 0) {
            returns[pair.path + t] = slot.lives[parity][action].last_return;
            equity[pair.path + t + 1] = slot.lives[parity][action].equity;
#if WRITE_ACTIONS
            actions[pair.path + t] = (u8)action;
#endif
        }
    }
    if (lane == 0) *saved = slot.lives[steps & 1][action];
}

// Block: 8 compute warps, then 4 account warps, of which SLOTS have work. pairs [n_block, SLOTS]; projected [n_block, SLOTS, chunk, H1];
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
        take_registers<COMPUTE_REGISTERS>();
        const f32* first = projected + (i64)blockIdx.x * SLOTS * chunk * H1;
        compute_group(shared, weights_shared, weights, first, steps, n_loop, chunk, thread);
    } else {
        give_registers<ACCOUNT_REGISTERS>();
        int s = (thread - COMPUTE_THREADS) / 32;
        if (s >= SLOTS) return;
        RolloutPair pair = own[s];
        if (pair.policy == NO_PAIR) return;
        EnvWindow window = windows[pair.window];
        u32 n = steps_from(window.n_bars, t0, n_steps);
        if (n == 0) return;
        // One word per lane: a struct of 168 bytes.
        const u32* from = (const u32*)&rules[window.rules];
        for (u32 i = thread % 32; i < sizeof(EnvRules) / 4; i += 32) ((u32*)&shared.slot[s].rules)[i] = from[i];
        account_warp(shared.slot[s], s, shared.head, bars, window, pair, levels,
                     accounts + (i64)blockIdx.x * SLOTS + s, equity, returns, actions, t0, n, thread % 32);
    }
}
