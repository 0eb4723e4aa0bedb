// Indicator tables: one column per indicator, one row per bar, so that neighbouring sets read neighbouring values.
// CPU twin: policy::indicator::Stream. The same f64 operations in the same order, so the same bits; compile with
// --fmad=false. Deterministic: every value is made by one thread.
// Shapes: bars [n_bars] of the whole series up to the window's end; table [t1 − t0, stride], row t − t0 for bar t;
// columns of one kind lie side by side from `first`, their lengths in `lengths` [3, n_column], of which all but the
// MACD have one.
//
//   indicator_sma, indicator_stddev    a thread per (column, RESTART_BARS bars)
//   indicator_ema, _rsi, _macd, _volatility   a thread per column, state carried from launch to launch
//   indicator_momentum                 a thread per (column, bar)
//   indicator_strength                 a thread per (column, bar): the last step of the RSI, which needs no order
//   indicator_extreme_*                a thread per (column, bar), from extremes of 2^k bars

#define AHEAD 8  // closes fetched before they are needed

// A recurrence's state. Layout twin: gpu/indicator.rs.
struct IndicatorState {
    f64 a;      // sum of the seed; average gain; fast average; mean square
    f64 b;      // average loss; slow average
    f64 value;  // EMA; average of the averages' difference
};
static_assert(sizeof(IndicatorState) == 24, "IndicatorState");

GB_DEVICE f64 indicator_nan() { return __longlong_as_double(0x7ff8000000000000ll); }

// Columns of one kind and the bars of this launch.
struct IndicatorColumns {
    u32 first;   // column of the table
    u32 n_own;
    u32 stride;  // columns of the table
    u32 t0;      // first bar written
    u32 t1;      // end
    u32 n_column;  // of all kinds
};
static_assert(sizeof(IndicatorColumns) == 24, "IndicatorColumns");

// Running sums over the last n bars, from each restart on. `Sums` has begin(t, n), step(t, n), value(t, n).
template <typename Sums>
GB_DEVICE void indicator_running(const IndicatorColumns& c, const u32* lengths, f64* table, Sums& sums) {
    u32 j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= c.n_own) return;
    u32 n = lengths[j];
    u32 start = (c.t0 / RESTART_BARS + blockIdx.y) * RESTART_BARS;
    u32 end = start + RESTART_BARS < c.t1 ? start + RESTART_BARS : c.t1;
    f64* column = table + c.first + j;
    for (u32 t = start; t < end; ++t) {
        f64 value = indicator_nan();
        if (t + 1 >= n) {
            if (t == start || t + 1 == n) {
                sums.begin(t, n);
            } else {
                sums.step(t, n);
            }
            value = sums.value(t, n);
        }
        if (t >= c.t0) column[(i64)(t - c.t0) * c.stride] = value;
    }
}

struct MeanSums {
    const EnvBar* __restrict__ bars;
    f64 sum;
    GB_DEVICE void begin(u32 t, u32 n) {
        sum = 0.0;
        for (u32 i = t + 1 - n; i <= t; ++i) sum += bars[i].close;
    }
    GB_DEVICE void step(u32 t, u32 n) { sum += bars[t].close - bars[t - n].close; }
    GB_DEVICE f64 value(u32, u32 n) const { return sum / (f64)n; }
};

struct DeviationSums {
    const EnvBar* __restrict__ bars;
    f64 sum;
    f64 squares;
    f64 centre;
    f64 peak;  // largest squares since the centre was chosen
    GB_DEVICE void begin(u32 t, u32 n) {
        centre = bars[t].close;
        sum = 0.0;
        squares = 0.0;
        for (u32 i = t + 1 - n; i <= t; ++i) {
            f64 d = bars[i].close - centre;
            sum += d;
            squares += d * d;
        }
        peak = squares;
    }
    GB_DEVICE void step(u32 t, u32 n) {
        f64 added = bars[t].close - centre;
        f64 dropped = bars[t - n].close - centre;
        sum += added - dropped;
        squares += added * added - dropped * dropped;
    }
    GB_DEVICE f64 variance(u32 n, f64& square) const {
        f64 mean = sum / (f64)n;
        square = squares / (f64)n;
        return square - mean * mean;
    }
    GB_DEVICE f64 value(u32 t, u32 n) {
        f64 square;
        f64 left = variance(n, square);
        peak = squares > peak ? squares : peak;
        if (left < RECENTRE_BELOW * (peak / (f64)n)) {
            begin(t, n);
            left = variance(n, square);
        }
        return left > VARIANCE_FLOOR * square ? sqrt(left) : 0.0;
    }
};

extern "C" __global__ void indicator_sma(const EnvBar* __restrict__ bars, const u32* __restrict__ lengths, f64* table,
                                         IndicatorColumns c) {
    MeanSums sums{bars, 0.0};
    indicator_running(c, lengths, table, sums);
}

extern "C" __global__ void indicator_stddev(const EnvBar* __restrict__ bars, const u32* __restrict__ lengths,
                                            f64* table, IndicatorColumns c) {
    DeviationSums sums{bars, 0.0, 0.0, 0.0, 0.0};
    indicator_running(c, lengths, table, sums);
}

// Calls step(t, close) for bars from..end in order, the closes fetched AHEAD bars early.
template <typename Step>
GB_DEVICE void indicator_in_order(const EnvBar* __restrict__ bars, u32 from, u32 end, Step step) {
    f64 ahead[AHEAD];
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) ahead[i] = bars[from + i < end ? from + i : end - 1].close;
    for (u32 t = from; t < end; t += AHEAD) {
        f64 close[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) close[i] = ahead[i];
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) ahead[i] = bars[t + AHEAD + i < end ? t + AHEAD + i : end - 1].close;
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) {
            if (t + i < end) step(t + i, close[i]);
        }
    }
}

// From bar `from`: 0 at first, then where the launch before ended.
extern "C" __global__ void indicator_ema(const EnvBar* __restrict__ bars, const u32* __restrict__ lengths, f64* table,
                                         IndicatorState* states, IndicatorColumns c, u32 from) {
    u32 j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= c.n_own || from >= c.t1) return;
    u32 n = lengths[j];
    IndicatorState s = from == 0 ? IndicatorState{0.0, 0.0, indicator_nan()} : states[j];
    f64 rate = 2.0 / ((f64)n + 1.0);
    f64* column = table + c.first + j;
    indicator_in_order(bars, from, c.t1, [&](u32 t, f64 close) {
        if (t < n) {
            s.a += close;
            if (t + 1 == n) s.value = s.a / (f64)n;
        } else {
            s.value += (close - s.value) * rate;
        }
        if (t >= c.t0) column[(i64)(t - c.t0) * c.stride] = s.value;
    });
    states[j] = s;
}

GB_DEVICE f64 indicator_rate(u32 n) { return 2.0 / ((f64)n + 1.0); }

extern "C" __global__ void indicator_macd(const EnvBar* __restrict__ bars, const u32* __restrict__ lengths, f64* table,
                                          IndicatorState* states, IndicatorColumns c, u32 from) {
    u32 j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= c.n_own || from >= c.t1) return;
    u32 fast = lengths[j];
    u32 slow = lengths[c.n_column + j];
    u32 signal = lengths[2 * c.n_column + j];
    IndicatorState s = from == 0 ? IndicatorState{0.0, 0.0, 0.0} : states[j];
    f64 fast_rate = indicator_rate(fast);
    f64 slow_rate = indicator_rate(slow);
    f64 signal_rate = indicator_rate(signal);
    f64* column = table + c.first + j;
    indicator_in_order(bars, from, c.t1, [&](u32 t, f64 close) {
        f64 value = indicator_nan();
        if (t < slow) {
            s.b += close;
            if (t + fast >= slow) s.a += close;
            if (t + 1 == slow) {
                s.a = s.a / (f64)fast;
                s.b = s.b / (f64)slow;
            }
        } else {
            s.a += (close - s.a) * fast_rate;
            s.b += (close - s.b) * slow_rate;
        }
        if (t + 1 >= slow) {
            f64 line = s.a - s.b;
            u32 n = t + 1 - slow;  // lines before this one
            if (n < signal) {
                s.value += line;
                if (n + 1 == signal) s.value = s.value / (f64)signal;
            } else {
                s.value += (line - s.value) * signal_rate;
            }
            if (n + 1 >= signal) value = line - s.value;
        }
        if (t >= c.t0) column[(i64)(t - c.t0) * c.stride] = value;
    });
    states[j] = s;
}

GB_DEVICE f64 indicator_change(f64 close, f64 before) { return (close - before) / before; }

extern "C" __global__ void indicator_volatility(const EnvBar* __restrict__ bars, const u32* __restrict__ lengths,
                                                f64* table, IndicatorState* states, IndicatorColumns c, u32 from) {
    u32 j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= c.n_own || from >= c.t1) return;
    u32 n = lengths[j];
    IndicatorState s = from == 0 ? IndicatorState{0.0, 0.0, 0.0} : states[j];
    f64 rate = indicator_rate(n);
    f64 before = bars[from == 0 ? 0 : from - 1].close;
    f64* column = table + c.first + j;
    indicator_in_order(bars, from, c.t1, [&](u32 t, f64 close) {
        f64 ret = indicator_change(close, before);
        if (t > n) {
            s.a += (ret * ret - s.a) * rate;
        } else if (t > 0) {
            s.a += ret * ret;
            if (t == n) s.a = s.a / (f64)n;
        }
        before = close;
        if (t >= c.t0) column[(i64)(t - c.t0) * c.stride] = t < n ? indicator_nan() : sqrt(s.a);
    });
    states[j] = s;
}

extern "C" __global__ void indicator_momentum(const EnvBar* __restrict__ bars, const u32* __restrict__ lengths,
                                              f64* table, IndicatorColumns c) {
    u32 j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= c.n_own) return;
    u32 n = lengths[j];
    f64* column = table + c.first + j;
    for (u32 t = c.t0 + blockIdx.y; t < c.t1; t += ROWS_AT_ONCE) {
        f64 value = t >= n ? indicator_change(bars[t].close, bars[t - n].close) : indicator_nan();
        column[(i64)(t - c.t0) * c.stride] = value;
    }
}

// Average gain into the column, average loss into the column `losses` columns after it; NaN where not yet defined.
extern "C" __global__ void indicator_rsi(const EnvBar* __restrict__ bars, const u32* __restrict__ lengths, f64* table,
                                         IndicatorState* states, IndicatorColumns c, u32 from, u32 losses) {
    u32 j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= c.n_own || from >= c.t1) return;
    u32 n = lengths[j];
    IndicatorState s = from == 0 ? IndicatorState{0.0, 0.0, 0.0} : states[j];
    f64 share = 1.0 / (f64)n;
    f64 before = bars[from == 0 ? 0 : from - 1].close;
    f64* column = table + c.first + j;
    indicator_in_order(bars, from, c.t1, [&](u32 t, f64 close) {
        f64 change = close - before;
        f64 gain = change > 0.0 ? change : 0.0;
        f64 loss = change < 0.0 ? -change : 0.0;
        if (t > n) {
            s.a += (gain - s.a) * share;
            s.b += (loss - s.b) * share;
        } else if (t > 0) {
            s.a += gain;
            s.b += loss;
            if (t == n) {
                s.a *= share;
                s.b *= share;
            }
        }
        before = close;
        if (t >= c.t0) {
            f64* out = column + (i64)(t - c.t0) * c.stride;
            out[0] = t < n ? indicator_nan() : s.a;
            out[losses] = s.b;
        }
    });
    states[j] = s;
}

extern "C" __global__ void indicator_strength(f64* table, IndicatorColumns c, u32 losses) {
    u32 j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= c.n_own) return;
    for (u32 row = blockIdx.y; row < c.t1 - c.t0; row += ROWS_AT_ONCE) {
        f64* out = table + (i64)row * c.stride + c.first + j;
        out[0] = 100.0 * (out[0] / (out[0] + out[losses]));
    }
}

GB_DEVICE f64 indicator_beyond(f64 a, f64 b, u32 highest) { return (highest != 0 ? b > a : b < a) ? b : a; }

// Extremes of single bars: out [n], bars from `first` on.
extern "C" __global__ void indicator_extreme_base(const EnvBar* __restrict__ bars, f64* out, u32 first, u32 n,
                                                  u32 highest) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = highest != 0 ? bars[first + i].high : bars[first + i].low;
}

// From the extremes of the last `reach` bars those of the last 2·reach; the first ones reach back less far.
extern "C" __global__ void indicator_extreme_double(const f64* __restrict__ in, f64* out, u32 reach, u32 n,
                                                    u32 highest) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i >= reach ? indicator_beyond(in[i], in[i - reach], highest) : in[i];
}

// Extreme of the n bars before each: two overlapping stretches of 2^k bars. levels [n_level, n_row]; row 0 is bar
// `base`.
extern "C" __global__ void indicator_extreme_gather(const f64* __restrict__ levels, const u32* __restrict__ lengths,
                                                    f64* table, IndicatorColumns c, u32 base, u32 n_row, u32 highest) {
    u32 j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= c.n_own) return;
    u32 n = lengths[j];
    u32 k = 0;
    while (2u << k <= n) ++k;
    const f64* level = levels + (i64)k * n_row;
    f64* column = table + c.first + j;
    for (u32 t = c.t0 + blockIdx.y; t < c.t1; t += ROWS_AT_ONCE) {
        f64 value = indicator_nan();
        if (t >= n) {
            u32 last = t - 1 - base;
            value = indicator_beyond(level[last], level[last + (1u << k) - n], highest);
        }
        column[(i64)(t - c.t0) * c.stride] = value;
    }
}
