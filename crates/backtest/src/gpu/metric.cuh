// Statistics of one block of at most BLOCK = 4096 elements by LANES = 256 threads, and how two neighbours join:
// metric::sum lane for lane (256 lanes, folds, tree over neighbours), so the CPU's bits come out. CPU twins:
// metric::moments, metric::scan, metric::trades. Compile with --fmad=false. Needs reduce.cuh and env.cuh. All threads
// of the block must call; `scratch` is shared memory of 5·LANES elements.
#pragma once

// metric::Moments; n is a whole number.
struct Moments {
    f64 n;
    f64 mean;
    f64 m2;
    f64 m3;
    f64 m4;
    f64 min;
    f64 max;
};
static_assert(sizeof(Moments) == 56, "Moments");

GB_DEVICE f64 metric_infinity() { return __longlong_as_double(0x7ff0000000000000ll); }

GB_DEVICE Moments moments_empty() {
    return Moments{0.0, 0.0, 0.0, 0.0, 0.0, metric_infinity(), -metric_infinity()};
}

GB_DEVICE f64 metric_not_negative(f64 m2) { return m2 < 0.0 ? 0.0 : m2; }

// K sums over elements 0..n of the terms that `terms(i, out)` makes of element i.
template <int K, typename Terms>
GB_DEVICE void block_sums(u32 n, f64 (&sums)[K], f64* scratch, Terms terms) {
#pragma unroll
    for (int k = 0; k < K; ++k) sums[k] = 0.0;
    for (u32 i = threadIdx.x; i < n; i += LANES) {
        f64 term[K];
        terms(i, term);
#pragma unroll
        for (int k = 0; k < K; ++k) sums[k] += term[k];
    }
    block_reduce_all<LANES, K>(sums, scratch, AddF64());
}

// metric::Moments::block; `at(i)` is element i, NaN a missing one.
template <typename At>
GB_DEVICE Moments moments_block(u32 n, f64* scratch, At at) {
    f64 first[2];
    block_sums<2>(n, first, scratch, [&](u32 i, f64* term) {
        f64 x = at(i);
        bool missing = x != x;
        term[0] = missing ? 0.0 : 1.0;
        term[1] = missing ? 0.0 : x;
    });
    f64 count = first[0];
    if (count == 0.0) return moments_empty();
    f64 centre = first[1] / count;
    f64 power[4];
    f64 low = metric_infinity(), high = -metric_infinity();
    block_sums<4>(n, power, scratch, [&](u32 i, f64* term) {
        f64 x = at(i);
        f64 d = x != x ? 0.0 : x - centre;
        f64 square = d * d;
        term[0] = d;
        term[1] = square;
        term[2] = square * d;
        term[3] = square * square;
        low = MinF64()(low, x);
        high = MaxF64()(high, x);
    });
    low = block_reduce<LANES>(low, scratch, MinF64());
    high = block_reduce<LANES>(high, scratch, MaxF64());
    f64 s1 = power[0], s2 = power[1], s3 = power[2], s4 = power[3];
    f64 shift = s1 / count;
    f64 shift2 = shift * shift;
    f64 m3 = s3 - 3.0 * shift * s2 + 2.0 * count * shift2 * shift;
    f64 m4 = s4 - 4.0 * shift * s3 + 6.0 * shift2 * s2 - 3.0 * count * shift2 * shift2;
    return Moments{count, centre + shift, metric_not_negative(s2 - s1 * shift), m3, m4, low, high};
}

GB_DEVICE Moments moments_join(const Moments& a, const Moments& b) {
    if (a.n == 0.0) return b;
    if (b.n == 0.0) return a;
    f64 na = a.n, nb = b.n;
    f64 n = na + nb;
    f64 delta = b.mean - a.mean;
    f64 step = delta / n;
    f64 cross = delta * step * na * nb;
    f64 m3 = a.m3 + b.m3 + cross * step * (na - nb) + 3.0 * step * (na * b.m2 - nb * a.m2);
    f64 m4 = a.m4 + b.m4 + cross * step * step * (na * na - na * nb + nb * nb) +
             6.0 * step * step * (na * na * b.m2 + nb * nb * a.m2) + 4.0 * step * (na * b.m3 - nb * a.m3);
    return Moments{n,  a.mean + nb * step,      a.m2 + b.m2 + cross,     m3,
                   m4, MinF64()(a.min, b.min), MaxF64()(a.max, b.max)};
}

// metric::scan::ReturnStats without its threshold.
struct ReturnStats {
    Moments moments;
    f64 excess;
    f64 shortfall;
    f64 downside_squares;
};
static_assert(sizeof(ReturnStats) == 80, "ReturnStats");

GB_DEVICE ReturnStats returns_empty() { return ReturnStats{moments_empty(), 0.0, 0.0, 0.0}; }

GB_DEVICE ReturnStats returns_block(const f64* r, u32 n, f64 threshold, f64* scratch) {
    f64 sum[3];
    block_sums<3>(n, sum, scratch, [&](u32 i, f64* term) {
        f64 d = r[i] - threshold;
        f64 below = d < 0.0 ? -d : 0.0;
        term[0] = d > 0.0 ? d : 0.0;
        term[1] = below;
        term[2] = below * below;
    });
    Moments moments = moments_block(n, scratch, [&](u32 i) { return r[i]; });
    return ReturnStats{moments, sum[0], sum[1], sum[2]};
}

GB_DEVICE ReturnStats returns_join(const ReturnStats& a, const ReturnStats& b) {
    return ReturnStats{moments_join(a.moments, b.moments), a.excess + b.excess, a.shortfall + b.shortfall,
                       a.downside_squares + b.downside_squares};
}

// metric::scan::PairStats: returns r beside benchmark returns b.
struct PairStats {
    f64 n;
    f64 mean;
    f64 benchmark_mean;
    f64 benchmark_m2;
    f64 cross;
    f64 active_m2;
    f64 benchmark_max_abs;
    f64 active_max_abs;
    f64 benchmark_growth;
};
static_assert(sizeof(PairStats) == 72, "PairStats");

GB_DEVICE PairStats pair_empty() { return PairStats{0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0}; }

GB_DEVICE PairStats pair_block(const f64* r, const f64* b, u32 n, f64* scratch) {
    PairStats out = pair_empty();
    f64 growth = 1.0;
    f64 first[3];
    block_sums<3>(n, first, scratch, [&](u32 i, f64* term) {
        f64 x = r[i], y = b[i];
        growth *= y != y ? 1.0 : 1.0 + y;
        bool missing = x + y != x + y;
        term[0] = missing ? 0.0 : 1.0;
        term[1] = missing ? 0.0 : x;
        term[2] = missing ? 0.0 : y;
    });
    out.benchmark_growth = block_reduce<LANES>(growth, scratch, MulF64());
    f64 count = first[0];
    if (count == 0.0) return out;
    f64 centre_r = first[1] / count, centre_b = first[2] / count;
    f64 sum[5];
    f64 size = 0.0, active = 0.0;
    block_sums<5>(n, sum, scratch, [&](u32 i, f64* term) {
        f64 x = r[i], y = b[i];
        size = MaxF64()(size, fabs(y));
        active = MaxF64()(active, fabs(x - y));
        bool missing = x + y != x + y;
        f64 own = missing ? 0.0 : x - centre_r;
        f64 other = missing ? 0.0 : y - centre_b;
        term[0] = own;
        term[1] = other;
        term[2] = other * other;
        term[3] = own * other;
        term[4] = (own - other) * (own - other);
    });
    f64 shift_r = sum[0] / count, shift_b = sum[1] / count;
    f64 shift_a = shift_r - shift_b;
    out.n = count;
    out.mean = centre_r + shift_r;
    out.benchmark_mean = centre_b + shift_b;
    out.benchmark_m2 = metric_not_negative(sum[2] - sum[1] * shift_b);
    out.cross = sum[3] - sum[0] * shift_b;
    out.active_m2 = metric_not_negative(sum[4] - count * shift_a * shift_a);
    out.benchmark_max_abs = block_reduce<LANES>(size, scratch, MaxF64());
    out.active_max_abs = block_reduce<LANES>(active, scratch, MaxF64());
    return out;
}

GB_DEVICE PairStats pair_join(const PairStats& a, const PairStats& b) {
    PairStats out = a.n == 0.0 ? b : a;
    if (a.n != 0.0 && b.n != 0.0) {
        f64 weight = a.n * b.n / (a.n + b.n);
        f64 delta_r = b.mean - a.mean;
        f64 delta_b = b.benchmark_mean - a.benchmark_mean;
        f64 delta_a = delta_r - delta_b;
        out.n = a.n + b.n;
        out.mean = a.mean + delta_r * b.n / (a.n + b.n);
        out.benchmark_mean = a.benchmark_mean + delta_b * b.n / (a.n + b.n);
        out.benchmark_m2 = a.benchmark_m2 + b.benchmark_m2 + delta_b * delta_b * weight;
        out.cross = a.cross + b.cross + delta_r * delta_b * weight;
        out.active_m2 = a.active_m2 + b.active_m2 + delta_a * delta_a * weight;
        out.benchmark_max_abs = MaxF64()(a.benchmark_max_abs, b.benchmark_max_abs);
        out.active_max_abs = MaxF64()(a.active_max_abs, b.active_max_abs);
    }
    out.benchmark_growth = a.benchmark_growth * b.benchmark_growth;
    return out;
}

// metric::TradeStats.
struct TradeStats {
    Moments pnl;
    f64 wins;
    f64 gross_profit;
    f64 losses;
    f64 gross_loss;
    f64 return_sum;
    f64 bars_held;
};
static_assert(sizeof(TradeStats) == 104, "TradeStats");

GB_DEVICE TradeStats trades_empty() { return TradeStats{moments_empty(), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}; }

GB_DEVICE TradeStats trades_block(const EnvTrade* trades, u32 n, f64* scratch) {
    f64 sign[4], other[2];
    block_sums<4>(n, sign, scratch, [&](u32 i, f64* term) {
        f64 pnl = trades[i].pnl;
        term[0] = pnl > 0.0 ? 1.0 : 0.0;
        term[1] = pnl > 0.0 ? pnl : 0.0;
        term[2] = pnl < 0.0 ? 1.0 : 0.0;
        term[3] = pnl < 0.0 ? -pnl : 0.0;
    });
    block_sums<2>(n, other, scratch, [&](u32 i, f64* term) {
        term[0] = trades[i].trade_return;
        term[1] = (f64)trades[i].bars_held;
    });
    Moments pnl = moments_block(n, scratch, [&](u32 i) { return trades[i].pnl; });
    return TradeStats{pnl, sign[0], sign[1], sign[2], sign[3], other[0], other[1]};
}

GB_DEVICE TradeStats trades_join(const TradeStats& a, const TradeStats& b) {
    return TradeStats{moments_join(a.pnl, b.pnl), a.wins + b.wins,
                      a.gross_profit + b.gross_profit, a.losses + b.losses,
                      a.gross_loss + b.gross_loss, a.return_sum + b.return_sum, a.bars_held + b.bars_held};
}
