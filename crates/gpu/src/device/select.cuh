// Quantiles of one series by one block, without sorting: a radix select on keys that order as the numbers do. Counting
// is in integers, so the results are the exact order statistics whatever order the threads count in.
// CPU twin: metric::quantile. Needs reduce.cuh. All threads of the block must call; THREADS is a power of two, 2048 at
// most.
#pragma once

static constexpr int SELECT_BITS = 11;  // of the key, counted in one pass
static constexpr int SELECT_BINS = 1 << SELECT_BITS;
// Once this few elements are left for every quantile they are looked at one by one.
static constexpr int SELECT_FEW = 256;

template <int THREADS, int K>
struct SelectShared {
    u32 count[K][SELECT_BINS];
    u64 few[K][SELECT_FEW];
    u64 scratch[THREADS];
    u64 prefix[K];  // leading digits of the wanted element's key
    u32 rank[K];    // its place among the elements that share them
    u32 left[K];    // how many share them
    u64 low[K];
    u64 high[K];
    u32 n_few[K];
};

// Ordered as f64::total_cmp orders numbers.
GB_DEVICE u64 select_key(f64 x) {
    u64 bits = (u64)__double_as_longlong(x);
    return bits >> 63 ? ~bits : bits | 0x8000000000000000ull;
}

GB_DEVICE f64 select_value(u64 key) {
    return __longlong_as_double((i64)(key >> 63 ? key ^ 0x8000000000000000ull : ~key));
}

// Finds the bin of quantile k that holds its rank, and goes on inside it.
template <int THREADS, int K>
GB_DEVICE void select_narrow(SelectShared<THREADS, K>& s, const u32* count, int k, int bits) {
    constexpr int EACH = SELECT_BINS / THREADS;
    static_assert(EACH >= 1 && EACH * THREADS == SELECT_BINS, "every bin has its thread");
    u32 first = threadIdx.x * EACH;
    u32 own = 0;
    for (u32 bin = first; bin < first + EACH; ++bin) own += count[bin];
    u32 rank = s.rank[k];
    u32 before = block_count_before<THREADS>(own, (u32*)s.scratch);
    if (rank >= before && rank - before < own) {
        u32 bin = first;
        while (rank - before >= count[bin]) before += count[bin++];
        s.prefix[k] = s.prefix[k] << bits | bin;
        s.rank[k] = rank - before;
        s.left[k] = count[bin];
    }
    __syncthreads();
}

// The wanted element and the next one of the few that are left, or the least of those above them.
template <int THREADS, int K>
GB_DEVICE void select_among_few(SelectShared<THREADS, K>& s, int k, u64 above) {
    for (u32 i = threadIdx.x; i < s.left[k]; i += THREADS) {
        u64 own = s.few[k][i];
        u32 less = 0, equal = 0;
        u64 next = above;
        for (u32 j = 0; j < s.left[k]; ++j) {
            u64 other = s.few[k][j];
            less += other < own ? 1 : 0;
            equal += other == own ? 1 : 0;
            if (other > own && other < next) next = other;
        }
        if (s.rank[k] >= less && s.rank[k] < less + equal) {
            // Equal elements write equal words.
            s.low[k] = own;
            s.high[k] = s.rank[k] + 1 < less + equal ? own : next;
        }
    }
}

// Quantiles q[K] of values[n] (n < 2^32), NaN skipped, linear interpolation between order statistics; NaN where there
// is none: an empty series or q outside [0, 1]. Every thread gets them.
template <int THREADS, int K>
GB_DEVICE void block_quantiles(const f64* __restrict__ values, i64 n, const f64 (&q)[K], f64 (&out)[K],
                               SelectShared<THREADS, K>& s) {
    const u64 NONE = ~0ull;
    f64 weight[K];
    bool next[K];
    f64 nan = __longlong_as_double(0x7ff8000000000000ll);
    int shift = 64;
    bool many = true;
    while (many && shift > 0) {
        int bits = shift < SELECT_BITS ? shift : SELECT_BITS;
        int above = shift;
        shift -= bits;
        for (u32 i = threadIdx.x; i < K * SELECT_BINS; i += THREADS) (&s.count[0][0])[i] = 0;
        __syncthreads();
#pragma unroll 4
        for (i64 i = threadIdx.x; i < n; i += THREADS) {
            f64 x = values[i];
            if (x != x) continue;
            u64 key = select_key(x);
            u32 bin = (u32)(key >> shift) & ((1u << bits) - 1);
            if (above == 64) {
                atomicAdd(&s.count[0][bin], 1u);
                continue;
            }
#pragma unroll
            for (int k = 0; k < K; ++k) {
                if (key >> above == s.prefix[k]) atomicAdd(&s.count[k][bin], 1u);
            }
        }
        __syncthreads();
        if (above == 64) {
            // The first digit is the same for all; it also counts what is no NaN, and so the ranks.
            u32 own = 0;
            for (u32 bin = threadIdx.x; bin < SELECT_BINS; bin += THREADS) own += s.count[0][bin];
            u32 total = block_count_before<THREADS>(own, (u32*)s.scratch) + own;
            if (threadIdx.x == THREADS - 1) s.n_few[0] = total;
            __syncthreads();
            total = s.n_few[0];
            __syncthreads();
#pragma unroll
            for (int k = 0; k < K; ++k) out[k] = nan;
            if (total == 0) return;
#pragma unroll
            for (int k = 0; k < K; ++k) {
                bool known = q[k] >= 0.0 && q[k] <= 1.0;
                f64 place = (f64)(total - 1) * (known ? q[k] : 0.0);
                f64 whole = floor(place);
                weight[k] = known ? place - whole : nan;
                next[k] = (u32)whole + 1 < total;
                if (threadIdx.x == 0) {
                    s.prefix[k] = 0;
                    s.rank[k] = (u32)whole;
                }
            }
            __syncthreads();
        }
        many = false;
#pragma unroll
        for (int k = 0; k < K; ++k) {
            select_narrow(s, s.count[above == 64 ? 0 : k], k, bits);
            many = many || s.left[k] > SELECT_FEW;
        }
    }
    // Gather the few, and the least element above them.
    if (threadIdx.x < K) s.n_few[threadIdx.x] = 0;
    __syncthreads();
    u64 least[K];
#pragma unroll
    for (int k = 0; k < K; ++k) least[k] = NONE;
#pragma unroll 4
    for (i64 i = threadIdx.x; i < n; i += THREADS) {
        f64 x = values[i];
        if (x != x) continue;
        u64 key = select_key(x);
#pragma unroll
        for (int k = 0; k < K; ++k) {
            u64 digits = key >> shift;
            if (digits == s.prefix[k]) {
                if (s.left[k] <= SELECT_FEW) s.few[k][atomicAdd(&s.n_few[k], 1u)] = key;
            } else if (digits > s.prefix[k] && key < least[k]) {
                least[k] = key;
            }
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < K; ++k) {
        u64 above = block_reduce<THREADS>(least[k], s.scratch, MinU64());
        if (s.left[k] <= SELECT_FEW) {
            select_among_few(s, k, above);
        } else if (threadIdx.x == 0) {
            // Every digit was looked at: all that are left are the same number.
            s.low[k] = s.prefix[k];
            s.high[k] = s.rank[k] + 1 < s.left[k] ? s.prefix[k] : above;
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < K; ++k) {
        f64 low = select_value(s.low[k]);
        out[k] = low;
        if (weight[k] != 0.0 && next[k]) out[k] = low + weight[k] * (select_value(s.high[k]) - low);
        if (weight[k] != weight[k]) out[k] = nan;
    }
    __syncthreads();
}
