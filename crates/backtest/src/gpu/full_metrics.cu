// Everything the metrics of a series are formulas of: metric::WindowStats. CPU twin: metric::WindowStats::of, equal bit
// for bit: the same blocks of BLOCK elements, the same trees. Compile with --fmad=false. Deterministic: fixed trees,
// integer counts.
//
//   full_measure  one block of LANES threads per part (BLOCK elements) of a series: returns, benchmark, trades, peaks
//   full_select   one block of SELECT_THREADS threads per series: quantiles of the returns
//   full_fall     per part again: drawdowns, now that every peak before is known, and the mean beyond the quantile
//   full_join     one block of LANES threads per series: the parts' tree
//
// Shapes: series [n_series]; series_of [n_part], parts of one series side by side; parts [n_part]; stats [n_series].

struct FullSeries {
    const f64* returns;    // [n], NaN is missing
    const f64* equity;     // [n + 1], never NaN
    const f64* benchmark;  // [n]
    const EnvTrade* trades;
    i64 n;
    i64 n_trades;
    i64 first_part;
};
static_assert(sizeof(FullSeries) == 56, "FullSeries");

// metric::drawdown of one part; bars count from the part's first.
struct FallPart {
    f64 depth;  // of the trough
    f64 trough;
    f64 trough_peak;
    f64 first;  // bar at its running peak; −1: none
    f64 last;
    f64 longest;  // stretch between two of them
    f64 squares;  // Σd²
    f64 equity;   // ΣE
};

struct FullPart {
    ReturnStats returns;
    PairStats pair;
    TradeStats trades;
    FallPart fall;
    f64 top;     // highest equity
    f64 beyond;  // returns at or below the quantile
    f64 beyond_sum;
};
static_assert(sizeof(FullPart) == FULL_PART_BYTES, "FullPart");

struct FullFall {
    f64 max;
    f64 max_bars;
    f64 recovery_bars;  // −1: never
    f64 last_peak;      // last bar at its running peak
    f64 squares;
    f64 equity_sum;
    f64 first;
    f64 last;
};

struct FullTails {
    f64 cut;  // NaN: undefined
    f64 low;
    f64 high;
    f64 beyond;
    f64 beyond_sum;
};

struct FullStats {
    ReturnStats returns;
    PairStats pair;
    TradeStats trades;
    FullFall fall;
    FullTails tails;
};
static_assert(sizeof(FullStats) == 360, "FullStats");

GB_DEVICE i64 parts_of(i64 n) { return (n + BLOCK - 1) / BLOCK; }

// Elements of part `part` of n.
GB_DEVICE u32 part_length(i64 n, i64 part) {
    i64 left = n - part * BLOCK;
    return left < 0 ? 0 : (left < BLOCK ? (u32)left : BLOCK);
}

extern "C" __global__ void __launch_bounds__(LANES)
    full_measure(const FullSeries* __restrict__ series, const u32* __restrict__ series_of, FullPart* parts,
                 f64 threshold) {
    __shared__ f64 scratch[5 * LANES];
    FullSeries s = series[series_of[blockIdx.x]];
    i64 part = blockIdx.x - s.first_part;
    i64 start = part * BLOCK;
    FullPart& out = parts[blockIdx.x];
    bool writes = threadIdx.x == 0;
    u32 n = part_length(s.n, part);
    if (n > 0) {
        ReturnStats returns = returns_block(s.returns + start, n, threshold, scratch);
        PairStats pair = pair_block(s.returns + start, s.benchmark + start, n, scratch);
        if (writes) out.returns = returns;
        if (writes) out.pair = pair;
    }
    n = part_length(s.n_trades, part);
    if (n > 0) {
        TradeStats trades = trades_block(s.trades + start, n, scratch);
        if (writes) out.trades = trades;
    }
    n = part_length(s.n + 1, part);
    f64 top = 0.0;
    for (u32 i = threadIdx.x; i < n; i += LANES) top = MaxF64()(top, s.equity[start + i]);
    top = block_reduce<LANES>(top, scratch, MaxF64());
    if (writes) out.top = top;
}

extern "C" __global__ void __launch_bounds__(SELECT_THREADS)
    full_select(const FullSeries* __restrict__ series, FullStats* stats, f64 var_level, f64 tail) {
    __shared__ SelectShared<SELECT_THREADS, 3> shared;
    FullSeries s = series[blockIdx.x];
    f64 q[3] = {var_level, tail, 1.0 - tail};
    f64 out[3];
    block_quantiles<SELECT_THREADS, 3>(s.returns, s.n, q, out, shared);
    if (threadIdx.x != 0) return;
    FullTails& tails = stats[blockIdx.x].tails;
    tails.cut = out[0];
    tails.low = out[1];
    tails.high = out[2];
}

// Drawdowns of n ≤ BLOCK equities, `peak` the highest before. A thread walks BLOCK/LANES neighbours; `depths` is padded
// by one in every such run, so that threads side by side meet different banks.
GB_DEVICE FallPart fall_block(const f64* equity, u32 n, f64 peak, f64* depths, f64* scratch) {
    const u32 each = BLOCK / LANES;
    const u32 begin = threadIdx.x * each;
    const f64 infinity = metric_infinity();
    f64 own = 0.0;
    for (u32 i = begin; i < begin + each && i < n; ++i) own = MaxF64()(own, equity[i]);
    f64 top = block_max_before<LANES>(own, peak, scratch);
    f64 first = -1.0, last = -1.0, longest = 0.0, depth = 0.0, trough = infinity, trough_peak = 0.0;
    for (u32 i = begin; i < begin + each && i < n; ++i) {
        f64 e = equity[i];
        f64 d = 0.0;
        if (e >= top) {
            top = e;
            if (last >= 0.0) longest = MaxF64()(longest, (f64)i - last - 1.0);
            if (first < 0.0) first = (f64)i;
            last = (f64)i;
        } else {
            d = 1.0 - e / top;
            if (d > depth) {
                depth = d;
                trough = (f64)i;
                trough_peak = top;
            }
        }
        depths[i + i / each] = d;
    }
    f64 before = block_max_before<LANES>(last, -1.0, scratch);
    if (first >= 0.0 && before >= 0.0) longest = MaxF64()(longest, first - before - 1.0);
    f64 deepest = block_reduce<LANES>(depth, scratch, MaxF64());
    f64 earliest[2] = {depth == deepest ? trough : infinity, first < 0.0 ? infinity : first};
    block_reduce_all<LANES, 2>(earliest, scratch, MinF64());
    f64 largest[3] = {trough == earliest[0] ? trough_peak : 0.0, last, longest};
    block_reduce_all<LANES, 3>(largest, scratch, MaxF64());
    f64 sum[2];
    block_sums<2>(n, sum, scratch, [&](u32 i, f64* term) {
        f64 d = depths[i + i / each];
        term[0] = d * d;
        term[1] = equity[i];
    });
    return FallPart{deepest,    earliest[0], largest[0], earliest[1] == infinity ? -1.0 : earliest[1],
                    largest[1], largest[2],  sum[0],     sum[1]};
}

extern "C" __global__ void __launch_bounds__(LANES)
    full_fall(const FullSeries* __restrict__ series, const u32* __restrict__ series_of, FullPart* parts,
              const FullStats* __restrict__ stats) {
    __shared__ f64 scratch[3 * LANES];
    __shared__ f64 depths[BLOCK + LANES];
    u32 index = series_of[blockIdx.x];
    FullSeries s = series[index];
    i64 part = blockIdx.x - s.first_part;
    i64 start = part * BLOCK;
    FullPart& out = parts[blockIdx.x];
    // 0 before everything, so that E_0 is a peak.
    f64 peak = 0.0;
    for (i64 i = threadIdx.x; i < part; i += LANES) peak = MaxF64()(peak, parts[s.first_part + i].top);
    peak = block_reduce<LANES>(peak, scratch, MaxF64());
    u32 n = part_length(s.n + 1, part);
    if (n > 0) {
        FallPart fall = fall_block(s.equity + start, n, peak, depths, scratch);
        if (threadIdx.x == 0) out.fall = fall;
    }
    n = part_length(s.n, part);
    if (n > 0) {
        f64 cut = stats[index].tails.cut;
        f64 sum[2];
        block_sums<2>(n, sum, scratch, [&](u32 i, f64* term) {
            f64 x = s.returns[start + i];
            term[0] = x <= cut ? 1.0 : 0.0;
            term[1] = x <= cut ? x : 0.0;
        });
        if (threadIdx.x == 0) out.beyond = sum[0];
        if (threadIdx.x == 0) out.beyond_sum = sum[1];
    }
}

// First bar from `begin` on at or above `peak`, before `end`; ∞: none.
GB_DEVICE f64 first_back(const f64* equity, i64 begin, i64 end, f64 peak, f64* scratch) {
    f64 found = metric_infinity();
    for (i64 i = begin + threadIdx.x; i < end; i += LANES) {
        if (equity[i] >= peak) found = MinF64()(found, (f64)i);
    }
    return block_reduce<LANES>(found, scratch, MinF64());
}

// Bars from the trough back to its peak; −1: never.
GB_DEVICE f64 recovery_of(const FullSeries& s, const FullPart* parts, i64 trough, f64 peak, f64* scratch) {
    i64 n_point = s.n + 1;
    i64 part = trough / BLOCK;
    i64 end = (part + 1) * BLOCK;
    f64 back = first_back(s.equity, trough, end < n_point ? end : n_point, peak, scratch);
    if (back == metric_infinity()) {
        f64 next = metric_infinity();
        for (i64 i = part + 1 + threadIdx.x; i < parts_of(n_point); i += LANES) {
            if (parts[i].top >= peak) next = MinF64()(next, (f64)i);
        }
        next = block_reduce<LANES>(next, scratch, MinF64());
        if (next == metric_infinity()) return -1.0;
        i64 begin = (i64)next * BLOCK;
        back = first_back(s.equity, begin, begin + part_length(n_point, (i64)next), peak, scratch);
    }
    return back - (f64)trough;
}

// Drawdowns over all parts; the sums are the tree's.
GB_DEVICE FullFall fall_join(const FullSeries& s, const FullPart* parts, f64* scratch) {
    i64 n_part = parts_of(s.n + 1);
    f64 last_peak = 0.0, longest = 0.0, depth = 0.0, trough = metric_infinity(), trough_peak = 0.0;
    for (i64 start = 0; start < n_part; start += LANES) {
        i64 i = start + threadIdx.x;
        FallPart fall{};
        fall.first = fall.last = -1.0;
        if (i < n_part) fall = parts[i].fall;
        f64 base = (f64)(i * BLOCK);
        f64 own = fall.last >= 0.0 ? base + fall.last : 0.0;
        f64 before = block_max_before<LANES>(own, last_peak, scratch);
        if (fall.first >= 0.0) longest = MaxF64()(longest, MaxF64()(fall.longest, base + fall.first - before - 1.0));
        last_peak = MaxF64()(last_peak, block_reduce<LANES>(own, scratch, MaxF64()));
        if (fall.depth > depth) {
            depth = fall.depth;
            trough = base + fall.trough;
            trough_peak = fall.trough_peak;
        }
    }
    longest = block_reduce<LANES>(longest, scratch, MaxF64());
    f64 deepest = block_reduce<LANES>(depth, scratch, MaxF64());
    f64 where = block_reduce<LANES>(depth == deepest ? trough : metric_infinity(), scratch, MinF64());
    f64 peak = block_reduce<LANES>(trough == where ? trough_peak : 0.0, scratch, MaxF64());
    f64 recovery = deepest > 0.0 ? recovery_of(s, parts, (i64)where, peak, scratch) : -1.0;
    f64 tail = (f64)s.n - last_peak;
    return FullFall{deepest, MaxF64()(longest, tail), recovery, last_peak, 0.0, 0.0, s.equity[0], s.equity[s.n]};
}

extern "C" __global__ void __launch_bounds__(LANES)
    full_join(const FullSeries* __restrict__ series, FullPart* all_parts, FullStats* stats) {
    __shared__ f64 scratch[LANES];
    FullSeries s = series[blockIdx.x];
    FullPart* parts = all_parts + s.first_part;
    FullFall fall = fall_join(s, parts, scratch);
    // The tree over neighbours, in place: part i takes part i + stride.
    i64 n_return = parts_of(s.n), n_equity = parts_of(s.n + 1), n_trade = parts_of(s.n_trades);
    i64 n_part = n_equity > n_trade ? n_equity : n_trade;
    for (i64 stride = 1; stride < n_part; stride *= 2) {
        for (i64 i = threadIdx.x * 2 * stride; i + stride < n_part; i += LANES * 2 * stride) {
            FullPart& a = parts[i];
            const FullPart& b = parts[i + stride];
            if (i + stride < n_return) {
                a.returns = returns_join(a.returns, b.returns);
                a.pair = pair_join(a.pair, b.pair);
                a.beyond += b.beyond;
                a.beyond_sum += b.beyond_sum;
            }
            if (i + stride < n_equity) {
                a.fall.squares += b.fall.squares;
                a.fall.equity += b.fall.equity;
            }
            if (i + stride < n_trade) a.trades = trades_join(a.trades, b.trades);
        }
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    FullStats& out = stats[blockIdx.x];
    out.returns = n_return > 0 ? parts->returns : returns_empty();
    out.pair = n_return > 0 ? parts->pair : pair_empty();
    out.trades = n_trade > 0 ? parts->trades : trades_empty();
    fall.squares = parts->fall.squares;
    fall.equity_sum = parts->fall.equity;
    out.fall = fall;
    out.tails.beyond = n_return > 0 ? parts->beyond : 0.0;
    out.tails.beyond_sum = n_return > 0 ? parts->beyond_sum : 0.0;
}
