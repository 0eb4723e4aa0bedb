// What a rule strategy wants at a bar's close, in four bits (SIGNAL_*). CPU twins: policy::strategy::Strategy::signal
// and Strategy::level of each strategy, and policy::strategy::Signal::apply. Comparisons with NaN are false: what is
// undefined gives no signal.
#pragma once

// One parameter set. Layout twin: gpu/sweep.rs.
struct SweepSet {
    u32 column[MAX_INPUTS];         // of the indicator table
    f64 threshold[MAX_THRESHOLDS];  // RSI: low, high; Bollinger: width; momentum: threshold; vol-target: target, cap,
                                    // step, whether there is a trend
    u32 below;                      // SIGNAL_SHORT, or with long_only SIGNAL_LEAVE_LONG
    u32 unused;
};
static_assert(sizeof(SweepSet) == 56, "SweepSet");

GB_DEVICE u32 signal_when(u32 signal, bool wanted) { return wanted ? signal : 0u; }

GB_DEVICE u32 signal_cross(const SweepSet& set, f64 gap, f64 price) {
    f64 tie = TIE * fabs(price);
    return signal_when(SIGNAL_LONG, gap > tie) | signal_when(set.below, gap < -tie);
}

GB_DEVICE u32 signal_rsi(const SweepSet& set, f64 rsi) {
    return signal_when(SIGNAL_LONG, rsi < set.threshold[0]) | signal_when(set.below, rsi > set.threshold[1]);
}

GB_DEVICE u32 signal_donchian(const SweepSet& set, f64 close, f64 top, f64 bottom, f64 exit_top, f64 exit_bottom) {
    return signal_when(SIGNAL_LONG, close > top) | signal_when(set.below, close < bottom) |
           signal_when(SIGNAL_LEAVE_LONG, close < exit_bottom) | signal_when(SIGNAL_LEAVE_SHORT, close > exit_top);
}

GB_DEVICE u32 signal_bollinger(const SweepSet& set, f64 close, f64 mean, f64 std) {
    f64 reach = set.threshold[0] * std;
    bool wide = std > 0.0;
    f64 above = close - mean;
    f64 tie = TIE * fabs(close);
    return signal_when(SIGNAL_LONG, wide && close < mean - reach) |
           signal_when(set.below, wide && close > mean + reach) | signal_when(SIGNAL_LEAVE_LONG, above >= -tie) |
           signal_when(SIGNAL_LEAVE_SHORT, above <= tie);
}

GB_DEVICE u32 signal_momentum(const SweepSet& set, f64 past) {
    f64 threshold = set.threshold[0];
    return signal_when(SIGNAL_LONG, past > threshold) | signal_when(set.below, past < -threshold) |
           signal_when(SIGNAL_LEAVE_LONG | SIGNAL_LEAVE_SHORT, fabs(past) <= threshold);
}

GB_DEVICE u32 signal_vol_target(const SweepSet& set, f64 volatility, f64 past) {
    bool defined = volatility >= 0.0;
    bool trend = set.threshold[3] != 0.0;
    return signal_when(SIGNAL_LONG, defined && (!trend || past > 0.0)) |
           signal_when(set.below, defined && trend && past < 0.0);
}

// The size of a volatility target, defined where its signal is. root_year is the square root of the bars a year.
GB_DEVICE f64 signal_size(const SweepSet& set, f64 volatility, f64 root_year) {
    f64 wanted = set.threshold[0] / (volatility * root_year);
    f64 capped = wanted < set.threshold[1] ? wanted : set.threshold[1];
    return floor(capped / set.threshold[2] + STEP_SLACK) * set.threshold[2];
}

// The signal of one set at one bar; `row` is that bar's row of the indicator table.
GB_DEVICE u32 signal_of(u32 strategy, const SweepSet& set, const f64* __restrict__ row, f64 close) {
    switch (strategy) {
        case STRATEGY_CROSS: {
            f64 slow = row[set.column[1]];
            return signal_cross(set, row[set.column[0]] - slow, slow);
        }
        case STRATEGY_MACD: return signal_cross(set, row[set.column[0]], close);
        case STRATEGY_MOMENTUM: return signal_momentum(set, row[set.column[0]]);
        case STRATEGY_VOL_TARGET: return signal_vol_target(set, row[set.column[0]], row[set.column[1]]);
        case STRATEGY_RSI: return signal_rsi(set, row[set.column[0]]);
        case STRATEGY_DONCHIAN:
            return signal_donchian(set, close, row[set.column[0]], row[set.column[1]], row[set.column[2]],
                                   row[set.column[3]]);
        default: return signal_bollinger(set, close, row[set.column[0]], row[set.column[1]]);
    }
}

// Sides in two bits: 0 flat, 1 long, 2 short. The side after a signal, from the side held.
GB_DEVICE u32 signal_apply(u32 signal, u32 held) {
    // SIGNAL_LEAVE_LONG is bit 2, SIGNAL_LEAVE_SHORT bit 3: held + 1 where anything is held.
    u32 kept = held != 0 && (signal >> (held + 1) & 1) != 0 ? 0u : held;
    return (signal & SIGNAL_LONG) != 0 ? 1u : ((signal & SIGNAL_SHORT) != 0 ? 2u : kept);
}
