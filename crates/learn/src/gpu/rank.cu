// Rank-based replay: the slots of every learner's ring sorted by falling |δ|, ties by slot. A stable radix sort from
// the lowest digit up, four passes of eight bits, each of three kernels. CPU twin: Rank::sort. Grid: x tiles, y
// learners (replay_scan: x learners). Deterministic: within a tile an element's place is its rank among equals, found
// by ballots; atomics count only.
// A slot the ring has not filled is no element; it keeps its place.

#define RADIX 256
#define SORT_WARPS (SORT_THREADS / 32)
#define SORT_TILE (SORT_THREADS * SORT_ROUNDS)

// Two copies of keys and slots; pass p reads what pass p − 1 wrote. The last pass writes slots into ReplayView::order.
struct SortView {
    u32* keys;    // [2, K, capacity]
    u32* slots;   // [K, capacity]
    u32* counts;  // [K, RADIX, tiles in use]
};
static_assert(sizeof(SortView) == 24, "SortView");

struct SortElement {
    u32 key, slot;
};

struct SortPass {
    const SortView& view;
    const ReplayView& replay;
    u32 k, n_learner, pass;

    GB_DEVICE u32* keys(u32 copy) const { return view.keys + ((u64)copy * n_learner + k) * CAPACITY; }
    // Odd passes write into the order itself, so that the last, the fourth, does.
    GB_DEVICE u32* slots_after(u32 p) const { return (p & 1 ? replay.order : view.slots) + (u64)k * CAPACITY; }

    // Keys rise where |δ| falls: its bits, inverted.
    GB_DEVICE SortElement load(u32 i) const {
        if (pass == 0) return SortElement{~__float_as_uint(replay.priority[(u64)k * CAPACITY + i]), i};
        return SortElement{keys(pass & 1)[i], slots_after(pass - 1)[i]};
    }

    GB_DEVICE void store(u32 at, SortElement element) const {
        keys((pass & 1) ^ 1)[at] = element.key;
        slots_after(pass)[at] = element.slot;
    }

    GB_DEVICE u32 digit(u32 key) const { return (key >> (8 * pass)) & (RADIX - 1); }
};

GB_DEVICE u32 sort_tiles(u32 n) { return (n + SORT_TILE - 1) / SORT_TILE; }
GB_DEVICE u32* sort_counts(const SortView& view, u32 k) {
    return view.counts + (u64)k * RADIX * ((CAPACITY + SORT_TILE - 1) / SORT_TILE);
}

// How often each digit comes in each tile.
extern "C" __global__ void __launch_bounds__(SORT_THREADS)
    rank_count(const LearnerState* __restrict__ states, ReplayView replay, SortView view, u32 n_learner, u32 pass) {
    __shared__ u32 counts[RADIX];
    u32 k = blockIdx.y;
    u32 n = (u32)ring_len(states[k], CAPACITY);
    u32 tile = blockIdx.x;
    if (tile >= sort_tiles(n)) return;
    SortPass sort{view, replay, k, n_learner, pass};
    for (u32 digit = threadIdx.x; digit < RADIX; digit += SORT_THREADS) counts[digit] = 0;
    __syncthreads();
    for (u32 round = 0; round < SORT_ROUNDS; ++round) {
        u32 i = tile * SORT_TILE + round * SORT_THREADS + threadIdx.x;
        if (i < n) atomicAdd(&counts[sort.digit(sort.load(i).key)], 1u);
    }
    __syncthreads();
    u32* out = sort_counts(view, k);
    for (u32 digit = threadIdx.x; digit < RADIX; digit += SORT_THREADS)
        out[digit * sort_tiles(n) + tile] = counts[digit];
}

// Counts, digit after digit and in each tile after tile, become places: an exclusive scan by one block a learner.
extern "C" __global__ void __launch_bounds__(SCAN_THREADS)
    rank_scan(const LearnerState* __restrict__ states, SortView view) {
    __shared__ u32 scratch[SCAN_THREADS];
    u32 k = blockIdx.x;
    u32 n = RADIX * sort_tiles((u32)ring_len(states[k], CAPACITY));
    u32* counts = sort_counts(view, k);
    u32 share = (n + SCAN_THREADS - 1) / SCAN_THREADS;
    u32 begin = threadIdx.x * share < n ? threadIdx.x * share : n;
    u32 end = begin + share < n ? begin + share : n;
    u32 sum = 0;
    for (u32 i = begin; i < end; ++i) sum += counts[i];
    u32 place = block_count_before<SCAN_THREADS>(sum, scratch);
    for (u32 i = begin; i < end; ++i) {
        u32 count = counts[i];
        counts[i] = place;
        place += count;
    }
}

// Moves every element to its place. A warp owns SORT_ROUNDS · 32 elements in a row.
extern "C" __global__ void __launch_bounds__(SORT_THREADS)
    rank_scatter(const LearnerState* __restrict__ states, ReplayView replay, SortView view, u32 n_learner, u32 pass) {
    __shared__ u32 places[SORT_WARPS][RADIX];
    u32 k = blockIdx.y;
    u32 n = (u32)ring_len(states[k], CAPACITY);
    u32 tile = blockIdx.x;
    if (tile >= sort_tiles(n)) return;
    SortPass sort{view, replay, k, n_learner, pass};
    u32 lane = threadIdx.x & 31;
    u32* own = places[threadIdx.x / 32];
    for (u32 digit = lane; digit < RADIX; digit += 32) own[digit] = 0;
    __syncwarp();
    u32 first = tile * SORT_TILE + threadIdx.x / 32 * (SORT_ROUNDS * 32) + lane;
    SortElement elements[SORT_ROUNDS];
    u32 ranks[SORT_ROUNDS];
#pragma unroll
    for (u32 round = 0; round < SORT_ROUNDS; ++round) {
        u32 i = first + round * 32;
        elements[round] = i < n ? sort.load(i) : SortElement{0, 0};
    }
#pragma unroll
    for (u32 round = 0; round < SORT_ROUNDS; ++round) {
        bool is_element = first + round * 32 < n;
        u32 digit = is_element ? sort.digit(elements[round].key) : RADIX;
        u32 equals = __match_any_sync(0xffffffffu, digit);
        u32 before = (u32)__popc(equals & ((1u << lane) - 1));
        u32 seen = is_element ? own[digit] : 0;
        ranks[round] = seen + before;
        __syncwarp();
        if (is_element && before == 0) own[digit] = seen + (u32)__popc(equals);
        __syncwarp();
    }
    __syncthreads();
    const u32* from = sort_counts(view, k);
    for (u32 digit = threadIdx.x; digit < RADIX; digit += SORT_THREADS) {
        u32 place = from[digit * sort_tiles(n) + tile];
        for (u32 warp = 0; warp < SORT_WARPS; ++warp) {
            u32 count = places[warp][digit];
            places[warp][digit] = place;
            place += count;
        }
    }
    __syncthreads();
#pragma unroll
    for (u32 round = 0; round < SORT_ROUNDS; ++round) {
        if (first + round * 32 >= n) continue;
        sort.store(own[sort.digit(elements[round].key)] + ranks[round], elements[round]);
    }
}
