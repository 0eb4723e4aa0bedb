// Per pair: total P&L, total return, Sharpe, maximal drawdown and counts, in f64. One block of 256 threads per pair.
// The sums are metric.cuh's, so the CPU's bits come out. CPU twins: metric::total_pnl, metric::total_return,
// metric::sharpe, metric::max_drawdown. Flags: --fmad=false.

struct WindowSummary {
    f64 total_pnl;
    f64 total_return;
    f64 sharpe;  // where SUMMARY_HAS_SHARPE
    f64 max_drawdown;
    f64 final_equity;
    f64 costs;
    u32 n_trades;
    u32 bars_in_market;
    u32 n_bars;
    u32 flags;
};
static_assert(sizeof(WindowSummary) == 64, "WindowSummary");

// The largest fall from a peak within one block of at most 4096 equities; `peak` is the highest before it and becomes
// the highest after it.
GB_DEVICE f64 drawdown_of(const f64* equity, u32 n, f64& peak, f64* scratch) {
    const u32 each = BLOCK / LANES;
    u32 first = threadIdx.x * each;
    f64 own = 0.0;
    for (u32 i = first; i < first + each && i < n; ++i) own = MaxF64()(own, equity[i]);
    f64 top = block_max_before<LANES>(own, peak, scratch);
    f64 depth = 0.0;
    for (u32 i = first; i < first + each && i < n; ++i) {
        f64 e = equity[i];
        if (e >= top) {
            top = e;
        } else {
            depth = MaxF64()(depth, 1.0 - e / top);
        }
    }
    peak = MaxF64()(peak, block_reduce<LANES>(own, scratch, MaxF64()));
    return block_reduce<LANES>(depth, scratch, MaxF64());
}

extern "C" __global__ void __launch_bounds__(LANES)
    metrics_summarise(const EnvWindow* __restrict__ windows, const RolloutPair* __restrict__ pairs,
                      const EnvAccount* __restrict__ accounts, const f64* __restrict__ equity,
                      const f64* __restrict__ returns, const f64* __restrict__ periods_per_year, f64 risk_free,
                      WindowSummary* out) {
    __shared__ f64 scratch[5 * LANES];
    __shared__ Moments stack[40];
    RolloutPair pair = pairs[blockIdx.x];
    u32 n_bars = windows[pair.window].n_bars;
    u32 n = n_bars - 1;
    const f64* r = returns + pair.path;
    const f64* e = equity + pair.path;
    // A binary counter of block results is the tree over neighbours.
    u32 depth = 0;
    for (u32 block = 0; block * BLOCK < n; ++block) {
        u32 length = n - block * BLOCK < BLOCK ? n - block * BLOCK : BLOCK;
        Moments m = moments_block(length, scratch, [&](u32 i) { return r[block * BLOCK + i]; });
        for (u32 carry = block; carry & 1; carry >>= 1) m = moments_join(stack[--depth], m);
        __syncthreads();
        if (threadIdx.x == 0) stack[depth] = m;
        depth += 1;
        __syncthreads();
    }
    Moments all = stack[depth - 1];
    for (u32 i = depth - 1; i > 0; --i) all = moments_join(stack[i - 1], all);
    f64 peak = 0.0, drawdown = 0.0;
    for (u32 start = 0; start < n_bars; start += BLOCK) {
        u32 length = n_bars - start < BLOCK ? n_bars - start : BLOCK;
        drawdown = MaxF64()(drawdown, drawdown_of(e + start, length, peak, scratch));
    }
    if (threadIdx.x != 0) return;
    f64 periods = periods_per_year[pair.window];
    f64 std = sqrt(all.m2 / (all.n - 1.0));
    f64 largest = MaxF64()(fabs(all.min), fabs(all.max));
    f64 floor = largest > 1e-300 ? largest : 1e-300;
    f64 sharpe = (all.mean - risk_free / periods) / std * sqrt(periods);
    bool defined = all.n >= 2.0 && std > 1e-12 * floor && sharpe - sharpe == 0.0;
    const EnvAccount& account = accounts[blockIdx.x];
    u32 flags = (defined ? SUMMARY_HAS_SHARPE : 0u) | (env_ruined(account) ? SUMMARY_RUINED : 0u);
    out[blockIdx.x] = WindowSummary{e[n] - e[0], e[n] / e[0] - 1.0, defined ? sharpe : 0.0, drawdown,
                                    e[n],        account.costs,     account.trades,         account.bars_in_market,
                                    n_bars,      flags};
}
