// T steps of many (policy, window) pairs in one launch, levels by argmax of the network; the accounts go on from launch
// to launch. Compile with --fmad=false: money is f64 and equals the CPU engine's bit for bit given the same levels.
// One block per up to SLOTS pairs of one policy. Deterministic: fixed trees only, no atomics.
// CPU twin: cpu::engine::simulate with learn's NetPolicy.
// Shapes: bars [n_rows], windows [n_window], rules [n_rules], pairs and accounts [n_pair]; block b has the pairs
// first[b] to first[b + 1]; path columns are [Σ n_bars] with a pair's first element at `path`.

// Three warpgroups: the warps of the first keep the accounts (and go first where both want to issue), two compute.
#define ACCOUNT_THREADS (32 * ACCOUNT_WARPS)
#define BLOCK_THREADS (COMPUTE_THREADS + ACCOUNT_THREADS)
#define H1_PER_THREAD ((H1 + COMPUTE_THREADS - 1) / COMPUTE_THREADS)

struct BlockShared {
    SlotShared slot[SLOTS];
    alignas(16) f32 hidden[N_HIDDEN > 2 ? 2 : 1][BATCH][WIDEST];
    alignas(16) f32 head[N_HEAD * LAST + N_HEAD];
    u32 steps[GROUPS];  // decisions of the longest pair of each group
    i32 zero[32];       // for view_of
};

static_assert(sizeof(BlockShared) == BLOCK_SHARED_BYTES, "BlockShared");
// Slots of one batch lie GROUPS apart; y of the last hidden layer goes there directly.
#define LAST_STRIDE (GROUPS * (int)(sizeof(SlotShared) / sizeof(f32)))

#if N_HIDDEN > 1
typedef Dense<H1, H2, HELD2> Layer2;
#endif
#if N_HIDDEN > 2
typedef Dense<H2, H3, HELD3> Layer3;
#endif

GB_DEVICE void prefetch_line(const f32* at) {
#if defined(__CUDACC__)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

// Layer 1 of one slot: projected features (made beforehand for all bars) + portfolio part.
GB_DEVICE void first_layer(const SlotShared& slot, const f32 (&portfolio_weight)[H1_PER_THREAD][N_PORTFOLIO],
                           const f32 (&projected)[H1_PER_THREAD], f32* out, u32 step, int thread) {
#if LIVES
    int life = (int)(step & 1) * N_ACTION + slot.action;
#else
    int life = 0;
#endif
    const float4* observed = (const float4*)slot.observed[life];
    float4 low = observed[0];
    float4 high = observed[1];
#pragma unroll
    for (int m = 0; m < H1_PER_THREAD; ++m) {
        int j = m * COMPUTE_THREADS + thread;
        f32 x = projected[m];
        x = fmaf(portfolio_weight[m][0], low.x, x);
        x = fmaf(portfolio_weight[m][1], low.y, x);
        x = fmaf(portfolio_weight[m][2], low.z, x);
        x = fmaf(portfolio_weight[m][3], low.w, x);
        x = fmaf(portfolio_weight[m][4], high.x, x);
        x = fmaf(portfolio_weight[m][5], high.y, x);
        x = fmaf(portfolio_weight[m][6], high.z, x);
        x = fmaf(portfolio_weight[m][7], high.w, x);
        if (j < H1) out[j] = mlp_activate(x);
    }
}

// The network, by the compute warps. `projected` [n_pair of the block, chunk, H1].
GB_DEVICE void compute_group(BlockShared& shared, f32* weights_shared, const f32* __restrict__ packed,
                             const f32* __restrict__ projected, u32 n_own, u32 n_loop, u32 chunk, int thread) {
    f32 portfolio_weight[H1_PER_THREAD][N_PORTFOLIO];
#pragma unroll
    for (int m = 0; m < H1_PER_THREAD; ++m) {
        int j = m * COMPUTE_THREADS + thread;
#pragma unroll
        for (int i = 0; i < N_PORTFOLIO; ++i) portfolio_weight[m][i] = j < H1 ? packed[j * N_PORTFOLIO + i] : 0.0f;
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
    // Rows of projected features of the batch of a group at a step; empty slots read the first pair's, for nobody. The
    // buffer goes two rows beyond the last.
    u32 stride = chunk * H1;
    auto row_of = [&](u32 group, u32 step, int b) {
        u32 s = (u32)b * GROUPS + group;
        return (s < n_own ? s : 0) * stride + step * H1;
    };
    auto project = [&](f32(&out)[BATCH][H1_PER_THREAD], u32 group, u32 step) {
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            const f32* row = projected + row_of(group, step, b);
#pragma unroll
            for (int m = 0; m < H1_PER_THREAD; ++m) {
                int j = m * COMPUTE_THREADS + thread;
                out[b][m] = j < H1 ? row[j] : 0.0f;
            }
        }
    };
    f32 ahead[BATCH][H1_PER_THREAD];
    project(ahead, 0, 0);
    u32 group = 0;
    u32 step = 0;
#pragma unroll 1
    for (u32 item = 0; item < n_loop * GROUPS; ++item) {
        u32 own_group = group;
        u32 own_step = step;
        f32 own[BATCH][H1_PER_THREAD];
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
#pragma unroll
            for (int m = 0; m < H1_PER_THREAD; ++m) own[b][m] = ahead[b][m];
        }
        group = group + 1 == GROUPS ? 0 : group + 1;
        step = group == 0 ? step + 1 : step;
        project(ahead, group, step);
        // Memory takes longer than an item: the rows a step later are called into the cache.
        if (thread < BATCH * (H1 / 32)) {
            prefetch_line(projected + row_of(group, step + 1, thread / (H1 / 32)) + thread % (H1 / 32) * 32);
        }
        if (own_step >= shared.steps[own_group]) continue;
        named_sync(BARRIER_OBSERVED(own_group), MEET);
        f32* last = shared.slot[own_group].last;
#if N_HIDDEN > 1
        f32* first = shared.hidden[0][0];
        const int first_stride = WIDEST;
#else
        f32* first = last;
        const int first_stride = LAST_STRIDE;
#endif
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            const SlotShared& slot = shared.slot[b * GROUPS + own_group];
            first_layer(slot, portfolio_weight, own[b], first + b * first_stride, own_step, thread);
        }
#if N_HIDDEN == 2
        named_sync(BARRIER_COMPUTE, COMPUTE_THREADS);
        layer2.apply<BATCH>(first, WIDEST, weights_shared, last, LAST_STRIDE, thread);
#elif N_HIDDEN == 3
        named_sync(BARRIER_COMPUTE, COMPUTE_THREADS);
        layer2.apply<BATCH>(first, WIDEST, weights_shared, shared.hidden[1][0], WIDEST, thread);
        named_sync(BARRIER_COMPUTE, COMPUTE_THREADS);
        layer3.apply<BATCH>(shared.hidden[1][0], WIDEST, weights_shared3, last, LAST_STRIDE, thread);
#endif
        named_arrive(BARRIER_FORWARDED(own_group), MEET);
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

// One word per lane: structs of some 200 bytes.
GB_DEVICE void copy_words(void* to, const void* from, u32 bytes, int thread, int n_threads) {
    for (u32 i = (u32)thread; i < bytes / 4; i += (u32)n_threads) ((u32*)to)[i] = ((const u32*)from)[i];
}

// Block: 4 account warps, then 8 compute warps. `one` is rules[0]. projected [n_pair, chunk, H1]; packed [n_policy,
// WEIGHT_FLOATS]; levels [n_policy, N_ACTION]; dynamic shared memory: BlockShared, then the weights that registers do
// not hold.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 1)
    rollout_greedy(const EnvBar* __restrict__ bars, const EnvWindow* __restrict__ windows,
                   const EnvRules* __restrict__ rules, const RolloutPair* __restrict__ pairs,
                   const u32* __restrict__ first, const f32* __restrict__ projected, const f32* __restrict__ packed,
                   const f64* __restrict__ levels, EnvAccount* accounts, f64* equity, f64* returns, u8* actions,
                   u32 chunk, u32 t0, u32 n_steps, const __grid_constant__ EnvRules one) {
    extern __shared__ float4 dynamic_shared[];
    BlockShared& shared = *(BlockShared*)dynamic_shared;
    f32* weights_shared = (f32*)((char*)dynamic_shared + BLOCK_SHARED_BYTES);
    int thread = (int)threadIdx.x;
    u32 first_pair = first[blockIdx.x];
    u32 n_own = first[blockIdx.x + 1] - first_pair;
    const RolloutPair* own = pairs + first_pair;
    u32 policy = own[0].policy;
    u32 n_loop = 0;
    for (u32 s = 0; s < n_own; ++s) {
        u32 steps = steps_from(windows[own[s].window].n_bars, t0, n_steps);
        n_loop = steps > n_loop ? steps : n_loop;
    }
    if (n_loop == 0) return;
    const f32* weights = packed + (i64)policy * WEIGHT_FLOATS;
    if (thread < 32) shared.zero[thread] = 0;
    copy_words(shared.head, weights + WEIGHT_FLOATS - HEAD_FLOATS, 4 * (N_HEAD * LAST + N_HEAD), thread, BLOCK_THREADS);
    for (int s = 0; s < SLOTS; ++s) {
        const EnvWindow& window = windows[own[s < (int)n_own ? s : 0].window];
        SlotShared& slot = shared.slot[s];
        if (thread == 0) slot.steps = s < (int)n_own ? steps_from(window.n_bars, t0, n_steps) : 0;
        copy_words(&slot.rules, &rules[window.rules], sizeof(EnvRules), thread, BLOCK_THREADS);
        copy_words(slot.level, levels + (i64)policy * N_ACTION, 8 * N_ACTION, thread, BLOCK_THREADS);
    }
    __syncthreads();
    if (thread < GROUPS) {
        u32 longest = 0;
        for (int b = 0; b < BATCH; ++b) {
            u32 steps = shared.slot[b * GROUPS + thread].steps;
            longest = steps > longest ? steps : longest;
        }
        shared.steps[thread] = longest;
    }
    __syncthreads();
    if (thread >= ACCOUNT_THREADS) {
        take_registers<COMPUTE_REGISTERS>();
        compute_group(shared, weights_shared, weights, projected + (i64)first_pair * chunk * H1, n_own, n_loop, chunk,
                      thread - ACCOUNT_THREADS);
        return;
    }
    give_registers<ACCOUNT_REGISTERS>();
    int warp = thread / 32;
    int lane = thread % 32;
    EnvAccount* saved = accounts + first_pair;
#if LIVES
    PairView pair = view_of(bars, windows[own[0].window], own[0], shared.zero[lane]);
    account_warps(shared.slot[0], one, shared.head, pair, saved, equity, returns, actions, t0, warp, lane);
#else
    if (shared.steps[warp] == 0) return;
    account_warp(shared.slot, warp, one, shared.head, bars, windows, own, saved, equity, returns, actions, t0,
                 shared.steps[warp], lane, shared.zero[lane]);
#endif
}
