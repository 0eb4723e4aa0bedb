// Columns made of columns: holding the instrument over each window, and windows strung together as one account.
// CPU twins: report::hold, report::pool. Compile with --fmad=false. Grid: x one block row per window or span, y shares
// of it.
// Deterministic: every element is written once.

// Close to close without costs: equity [n_bars] and returns [n_bars − 1] of every window, both at the window's row.
extern "C" __global__ void pool_hold(const EnvBar* __restrict__ bars, const EnvWindow* __restrict__ windows,
                                     const EnvRules* __restrict__ rules, f64* equity, f64* returns) {
    EnvWindow window = windows[blockIdx.x];
    const EnvBar* bar = bars + window.row;
    f64 initial = rules[window.rules].initial_cash;
    f64 first = bar[0].close;
    for (u32 t = blockIdx.y * blockDim.x + threadIdx.x; t < window.n_bars; t += gridDim.y * blockDim.x) {
        f64 close = bar[t].close;
        equity[window.row + t] = initial * (close / first);
        if (t + 1 < window.n_bars) returns[window.row + t] = bar[t + 1].close / close - 1.0;
    }
}

// One window on its way into an account.
struct PoolSpan {
    const f64* equity;   // [n + 1]
    const f64* returns;  // [n]
    f64* to_equity;      // [n + 1]: its first point is the last one of the window before
    f64* to_returns;     // [n]
    f64 scale;           // of its money
    i64 n;
    i64 is_first;  // of its account, whose first point it brings
};
static_assert(sizeof(PoolSpan) == 56, "PoolSpan");

extern "C" __global__ void pool_chain(const PoolSpan* __restrict__ spans) {
    PoolSpan span = spans[blockIdx.x];
    i64 begin = (i64)blockIdx.y * blockDim.x + threadIdx.x;
    if (begin == 0 && span.is_first) span.to_equity[0] = span.equity[0] * span.scale;
    for (i64 t = begin; t < span.n; t += (i64)gridDim.y * blockDim.x) {
        span.to_equity[t + 1] = span.equity[t + 1] * span.scale;
        span.to_returns[t] = span.returns[t];
    }
}
