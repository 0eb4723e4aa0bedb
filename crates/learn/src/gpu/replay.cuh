// What the ring's transitions are drawn by, and how it changes. CPU twins: replay::{Uniform, Proportional, Rank}.
// REPLAY says which of the three; all sizes are per learner and come by -D. Needs prelude.cuh, rng.cuh, env.cuh,
// learner.cuh.
//
// Proportional: priorities p = (|δ| + ε)^α are the leaves of a tree of f64 sums with 32 children a node, each node
// summed anew from its children by a balanced tree of pairs, never adjusted by a difference. Its sums and its descent
// are therefore those of the CPU's binary tree, bit for bit; a draw gives the same slot. Rank: |δ| of each slot, and
// the slots sorted by it.
#pragma once

#define TREE_FAN 32

// Blocks that share a learner's priorities: one, or with compute capability 9 a cluster.
#if !defined(CLUSTER)
#define CLUSTER 1
#endif

// A barrier of all threads of the cluster; what they wrote before is seen by all after.
GB_DEVICE void cluster_sync() {
#if CLUSTER > 1
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}

// The tree's shape. Evaluated by the compiler's front end only (TreeLevel): loops like these left to the optimiser take
// minutes.
// Nodes of a level, padded with zeros to whole groups of children; level 0 is the leaves, the top level is one group.
GB_DEVICE constexpr u64 tree_len(int level) {
    u64 n = CAPACITY;
    for (int i = 0; i < level; ++i) n = (n + TREE_FAN - 1) / TREE_FAN;
    return (n + TREE_FAN - 1) / TREE_FAN * TREE_FAN;
}

GB_DEVICE constexpr int tree_levels() {
    int levels = 1;
    while (tree_len(levels - 1) > TREE_FAN) levels += 1;
    return levels;
}

// Where a level begins in a learner's tree; of the level after the top, the tree's length.
GB_DEVICE constexpr u64 tree_start(int level) {
    u64 start = 0;
    for (int i = 0; i < level; ++i) start += tree_len(i);
    return start;
}

constexpr int TREE_LEVELS = tree_levels();
constexpr u64 TREE_NODES = tree_start(TREE_LEVELS);

template <int LEVEL>
struct TreeLevel {
    static constexpr u64 START = tree_start(LEVEL);
    static constexpr u32 PARENTS = (u32)((CAPACITY - 1) >> (5 * (LEVEL + 1))) + 1;  // above a leaf that may be filled
};

// Arrays of the sampler; those of the other kinds are null.
struct ReplayView {
    f64* tree;              // proportional: [K, TREE_NODES]
    f32* priority;          // rank: |δ| [K, capacity]
    u32* order;             // rank: slots by falling priority, ties by slot [K, capacity]
    const f64* cumulative;  // rank: Σ_{j ≤ i+1} j^−α, one row for each α [n_table, capacity]
    const u32* table;       // rank: a learner's row there [K]
};
static_assert(sizeof(ReplayView) == 40, "ReplayView");

struct alignas(16) PairF64 {
    f64 a, b;
};

// Sums n groups of children of LEVEL into the nodes above. `group_of(i)` is the i-th; one group may come twice. A
// quarter of the children is a thread's, and a thread has AT_ONCE quarters on their way before it needs the first: time
// is latency.
template <int THREADS, int LEVEL, int AT_ONCE, typename GroupOf>
GB_DEVICE void tree_sum_groups(f64* tree, u32 n, GroupOf group_of) {
    const f64* children = tree + TreeLevel<LEVEL>::START;
    f64* parents = tree + TreeLevel<LEVEL + 1>::START;
    u32 quarter = threadIdx.x & 3;
    u32 first = threadIdx.x / 4;
    u32 first_of_warp = threadIdx.x / 32 * 8;
    for (u32 base = 0; base + first_of_warp < n; base += THREADS / 4 * AT_ONCE) {
        u32 group[AT_ONCE];
        PairF64 pairs[AT_ONCE][4];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            u32 i = base + k * (THREADS / 4) + first;
            group[k] = group_of(i < n ? i : n - 1);
            const PairF64* from = (const PairF64*)(children + (u64)group[k] * TREE_FAN + quarter * 8);
#pragma unroll
            for (int pair = 0; pair < 4; ++pair) pairs[k][pair] = from[pair];
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            PairF64* p = pairs[k];
            f64 sum = ((p[0].a + p[0].b) + (p[1].a + p[1].b)) + ((p[2].a + p[2].b) + (p[3].a + p[3].b));
            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            sum += __shfl_xor_sync(0xffffffffu, sum, 2);
            if (quarter == 0) parents[group[k]] = sum;
        }
    }
}

// Where `mass` = u · total lies: SumTree::find over a warp. Every lane gets the slot, its priority and the total.
struct TreeDraw {
    u32 slot;
    f64 priority;
    f64 total;
};

// From a node of the level above, draw.slot, to one of its children in LEVEL.
template <int LEVEL>
GB_DEVICE void tree_descend(const f64* tree, f64 u, f64 mass, TreeDraw& draw) {
    u32 lane = threadIdx.x & 31;
    // sums[j]: of the 2^j children around this lane.
    f64 sums[6];
    sums[0] = tree[TreeLevel<LEVEL>::START + (u64)draw.slot * TREE_FAN + lane];
#pragma unroll
    for (int j = 0; j < 5; ++j) sums[j + 1] = sums[j] + __shfl_xor_sync(0xffffffffu, sums[j], 1 << j);
    if (LEVEL == TREE_LEVELS - 1) {
        draw.total = sums[5];
        mass = u * draw.total;
    }
    u32 child = 0;
#pragma unroll
    for (int j = 4; j >= 0; --j) {
        f64 left = __shfl_sync(0xffffffffu, sums[j], (int)child);
        f64 right = __shfl_sync(0xffffffffu, sums[j], (int)(child + (1u << j)));
        // A node is entered only when its sum is above 0, whatever rounding leaves of the mass.
        if (!(mass < left || right <= 0.0)) {
            mass -= left;
            child += 1u << j;
        }
    }
    draw.priority = __shfl_sync(0xffffffffu, sums[0], (int)child);
    draw.slot = draw.slot * TREE_FAN + child;
    if constexpr (LEVEL > 0) tree_descend<LEVEL - 1>(tree, u, mass, draw);
}

GB_DEVICE TreeDraw tree_find(const f64* tree, f64 u) {
    TreeDraw draw{0, 0.0, 0.0};
    tree_descend<TREE_LEVELS - 1>(tree, u, 0.0, draw);
    return draw;
}

// First place in the rising cumulative[0, n) beyond `mass`, at most n − 1: 32 probes at once.
GB_DEVICE u32 rank_find(const f64* cumulative, u32 n, f64 mass) {
    u32 lane = threadIdx.x & 31;
    u32 low = 0;
    u32 left = n;
    while (left > 0) {
        u32 step = (left + 31) / 32;
        u32 at = lane * step + step - 1;
        bool below = at < left && cumulative[low + at] <= mass;
        u32 passed = (u32)__popc(__ballot_sync(0xffffffffu, below)) * step;
        low += passed;
        left = passed < left ? left - passed : 0;
        left = left < step - 1 ? left : step - 1;
    }
    return low < n ? low : n - 1;
}

// Sums anew what lies above the leaves [first, end) and [0, wrapped), from LEVEL up. All threads call, after a barrier;
// a barrier follows each level.
template <int THREADS, int LEVEL = 0>
GB_DEVICE void tree_sum_range(f64* tree, u64 first, u64 end, u64 wrapped) {
    if constexpr (LEVEL + 1 < TREE_LEVELS) {
        constexpr int SHIFT = 5 * (LEVEL + 1);
        u32 begin = (u32)(first >> SHIFT);
        u32 n = (u32)((end - 1) >> SHIFT) - begin + 1;
        u32 n_wrapped = wrapped ? (u32)((wrapped - 1) >> SHIFT) + 1 : 0;
        constexpr int AT_ONCE = THREADS >= 1024 ? 1 : (THREADS >= 512 ? 2 : 4);
        tree_sum_groups<THREADS, LEVEL, AT_ONCE>(tree, n + n_wrapped, [=](u32 i) { return i < n ? begin + i : i - n; });
        __syncthreads();
        tree_sum_range<THREADS, LEVEL + 1>(tree, first, end, wrapped);
    }
}

// As above for the leaves of a batch's slots. Where a level is narrow all of it is summed. The blocks of the cluster
// share what is more than one block does at once; the rest is the first block's.
template <int THREADS, int LEVEL = 0>
GB_DEVICE void tree_sum_slots(f64* tree, const u32* slots, u32 rank) {
    if constexpr (LEVEL + 1 < TREE_LEVELS) {
        constexpr bool ALL = TreeLevel<LEVEL>::PARENTS < BATCH;
        constexpr u32 N = ALL ? TreeLevel<LEVEL>::PARENTS : BATCH;
        constexpr bool SHARED = CLUSTER > 1 && N > THREADS / 4;
        constexpr u32 SHARE = SHARED ? (N + CLUSTER - 1) / CLUSTER : N;
        constexpr int ROUNDS = (SHARE + THREADS / 4 - 1) / (THREADS / 4);
        constexpr int AT_ONCE = ROUNDS < 4 ? ROUNDS : 4;
        u32 first = SHARED ? rank * SHARE : 0;
        if (SHARED || rank == 0) {
            tree_sum_groups<THREADS, LEVEL, AT_ONCE>(tree, SHARE, [=](u32 i) {
                u32 own = first + i < N ? first + i : N - 1;
                return ALL ? own : slots[own] >> (5 * (LEVEL + 1));
            });
        }
        if (SHARED) cluster_sync();
        else __syncthreads();
        tree_sum_slots<THREADS, LEVEL + 1>(tree, slots, rank);
    }
}

// New transitions in slots [first, first + count) mod CAPACITY, count in 1..=CAPACITY, get the largest priority seen.
// All threads of the block call; `replay` is at the learner's own arrays (replay_own).
template <int THREADS>
GB_DEVICE void replay_insert_block(const ReplayView& replay, u64 first, u64 count, f64 max_priority) {
#if REPLAY == REPLAY_UNIFORM
    (void)replay;
#else
    for (u64 i = threadIdx.x; i < count; i += THREADS) {
        u64 slot = first + i < CAPACITY ? first + i : first + i - CAPACITY;
#if REPLAY == REPLAY_PROPORTIONAL
        replay.tree[slot] = max_priority;
#else
        replay.priority[slot] = (f32)max_priority;
#endif
    }
    __syncthreads();
#if REPLAY == REPLAY_PROPORTIONAL
    u64 end = first + count;
    bool wraps = end > CAPACITY;
    tree_sum_range<THREADS>(replay.tree, first, wraps ? CAPACITY : end, wraps ? end - CAPACITY : 0);
#endif
#endif
}

GB_DEVICE f64 warp_largest(f64 value) {
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) {
        value = env_max(value, __shfl_xor_sync(0xffffffffu, value, reach));
    }
    return value;
}

// Priority of a transition whose |δ| is `td`.
GB_DEVICE f64 replay_priority(const LearnerParams& p, f32 td) {
#if REPLAY == REPLAY_PROPORTIONAL
    return pow((f64)td + p.priority_eps, p.alpha);
#else
    (void)p;
    return (f64)td;
#endif
}

// After a gradient step: `td` [BATCH] are |δ| of the rows drawn from `slots` [BATCH], where equal slots stand side by
// side, as replay_draw leaves them (strata rise): of equal slots the last row wins. When the step was `skipped`, only
// rows whose td is not finite change: to the priority of td = 0 (Trainer::skip). All threads of the cluster call, block
// `rank` of it; `scratch` [THREADS / 32] is shared memory of the block. `max_priority` becomes the largest priority
// seen: a maximum, whoever is first.
template <int THREADS>
GB_DEVICE void replay_update_cluster(const LearnerParams& p, const ReplayView& replay, const u32* slots, const f32* td,
                                     bool skipped, f64* max_priority, f64* scratch, u32 rank) {
#if REPLAY != REPLAY_UNIFORM
    f64 largest = 0.0;
    for (u32 i = rank * THREADS + threadIdx.x; i < BATCH; i += CLUSTER * THREADS) {
        f32 size = td[i];
        u32 slot = slots[i];
        bool writes = i + 1 == BATCH || slots[i + 1 == BATCH ? i : i + 1] != slot;
        if (skipped) {
            writes = !(size - size == 0.0f);
            if (!writes) continue;
            size = 0.0f;
        }
        f64 priority = replay_priority(p, size);
        largest = env_max(largest, priority);
#if REPLAY == REPLAY_PROPORTIONAL
        if (writes) replay.tree[slot] = priority;
#else
        if (writes) replay.priority[slot] = (f32)priority;
#endif
    }
    largest = warp_largest(largest);
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x / 32] = largest;
    cluster_sync();
    if (threadIdx.x < 32) {
        largest = threadIdx.x < THREADS / 32 ? scratch[threadIdx.x] : 0.0;
        largest = warp_largest(largest);
        // The bits of positive numbers rise with them.
        if (threadIdx.x == 0) atomicMax((u64*)max_priority, (u64)__double_as_longlong(largest));
    }
#if REPLAY == REPLAY_PROPORTIONAL
    tree_sum_slots<THREADS>(replay.tree, slots, rank);
#endif
#endif
}

// The view at learner k's own arrays.
GB_DEVICE ReplayView replay_own(const ReplayView& all, u32 k) {
    ReplayView own = all;
#if REPLAY == REPLAY_PROPORTIONAL
    own.tree += (u64)k * TREE_NODES;
#elif REPLAY == REPLAY_RANK
    own.priority += (u64)k * CAPACITY;
    own.order += (u64)k * CAPACITY;
    own.cumulative += (u64)own.table[k] * CAPACITY;
#endif
    return own;
}
