// Many parameter sets of one rule strategy over one window, without keeping a path. Flags: --fmad=false.
// Deterministic: a set is one thread's, and no order between threads matters. CPU twin: sweep::cpu, bit for bit.
// Shapes: bars [n_bars] up to the window's end; decisions are counted from the window's start, in tiles of TILE.
//
//   sweep_extremes  lowest low and highest high of the bars lived through in a tile; a thread per tile
//   sweep_signals   four bits per (set, bar), TILE bars in one word; a thread per (set, tile)
//   sweep_walk      the accounts; a warp per `lanes` sets, all of its lanes fetch bars
//
// A warp's bar costs what its slowest lane's costs, and a trade costs twenty quiet bars. So an account does not step
// through quiet bars: while it holds its level, its cash and units do not change, and equity is cash + units·close.
// Each tile has two parts:
// the trades (env_step at each bar whose level differs, all lanes at their own bar), then the statistics of all bars.
//
// SIZED: for a strategy whose level is the side times a size, which is computed where the level is needed.

#define GROUP 4  // bars whose divisions run side by side

// Carried from launch to launch, and the result. Layout twin: gpu/sweep.rs; statistics: sweep::Statistics.
struct SweepState {
    f64 equity;
    f64 peak;
    f64 trough;  // lowest equity since the peak
    f64 max_drawdown;
    f64 mean;
    f64 m2;
    f64 largest;  // |return|
    f64 costs;
    u32 n;  // bars
    u32 n_trades;
    u32 n_wins;
    u32 bars_in_market;
    u32 held;  // the side the strategy is on, two bits
    u32 ruined;
};
static_assert(sizeof(SweepState) == 88, "SweepState");

// Which decisions a launch makes.
struct SweepSpan {
    u32 start;       // the window's first bar
    u32 n_decision;  // of the window
    u32 from;        // first decision of this launch, a multiple of TILE
    u32 n;           // decisions of this launch
    u32 n_set;
    u32 lanes;  // sets of a warp
};
static_assert(sizeof(SweepSpan) == 24, "SweepSpan");

extern "C" __global__ void sweep_extremes(const EnvBar* __restrict__ bars, f64* lows, f64* highs, u32 start,
                                          u32 n_decision) {
    u32 tile = blockIdx.x * blockDim.x + threadIdx.x;
    u32 from = tile * TILE;
    if (from >= n_decision) return;
    f64 low = bars[start + from + 1].low;
    f64 high = bars[start + from + 1].high;
    for (u32 i = 1; i < TILE && from + i < n_decision; ++i) {
        low = env_min(low, bars[start + from + i + 1].low);
        high = env_max(high, bars[start + from + i + 1].high);
    }
    lows[tile] = low;
    highs[tile] = high;
}

// table [span.n, stride]; signals [tiles of the launch, n_set].
extern "C" __global__ void sweep_signals(const EnvBar* __restrict__ bars, const f64* __restrict__ table,
                                         const SweepSet* __restrict__ sets, u64* signals, SweepSpan span, u32 stride,
                                         u32 strategy) {
    u32 index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= span.n_set) return;
    SweepSet set = sets[index];
    for (u32 tile = blockIdx.y; tile * TILE < span.n; tile += ROWS_AT_ONCE) {
        u32 first = tile * TILE;
        u32 n = span.n - first < TILE ? span.n - first : TILE;
        const EnvBar* bar = bars + span.start + span.from + first;
        const f64* row = table + (i64)first * stride;
        u64 word = 0;
#pragma unroll 4
        for (u32 i = 0; i < n; ++i) {
            word |= (u64)signal_of(strategy, set, row + (i64)i * stride, bar[i].close) << (4 * i);
        }
        signals[(i64)tile * span.n_set + index] = word;
    }
}

struct CountWins {
    u32 wins;
    GB_DEVICE void operator()(const EnvTrade& trade) { wins += trade.pnl > 0.0 ? 1 : 0; }
};

struct WalkShared {
    EnvBar bars[2][TILE + 1];  // tile k lies at k & 1; its last bar is the next one's first
    // What each lane holds after its k-th trade of the tile.
    f64 cash[TILE][32];
    f64 units[TILE][32];
};

// What the size of a level is made of; row 0 of the column is the tile's first bar.
struct SweepSizes {
    const SweepSet* set;
    const f64* column;
    u32 stride;
    f64 root_year;
};

// The level wanted at bar i of a tile.
GB_DEVICE f64 sweep_level(u32 wanted, u32 i, const SweepSizes& sizes) {
    u32 code = wanted >> (2 * i) & 3u;
    f64 side = code == 1 ? 1.0 : (code == 2 ? -1.0 : 0.0);
#if SIZED
    if (code != 0) side = side * signal_size(*sizes.set, sizes.column[(i64)i * sizes.stride], sizes.root_year);
#endif
    return side;
}

// Sides wanted in a tile, two bits each.
GB_DEVICE u32 sweep_levels(u64 signals, u32& held) {
    u32 wanted = 0;
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
        held = signal_apply((u32)(signals >> (4 * i)) & 15u, held);
        wanted |= held << (2 * i);
    }
    return wanted;
}

GB_DEVICE u32 sweep_code(f64 level) { return level > 0.0 ? 1u : (level < 0.0 ? 2u : 0u); }

// The first bar from `at` on whose level is not the one held; n or more if there is none.
GB_DEVICE u32 sweep_next(u32 wanted, f64 level, u32 at, u32 n, const SweepSizes& sizes) {
#if SIZED
    while (at < n && sweep_level(wanted, at, sizes) == level) ++at;
    return at;
#else
    u32 differs = wanted ^ (sweep_code(level) * 0x55555555u);
    differs = ((differs | differs >> 1) & 0x55555555u) >> (2 * at);
    return differs != 0 ? at + (u32)(__ffs((int)differs) - 1) / 2 : n;
#endif
}

// Whether nothing can happen to the account while it keeps its level, prices staying within low and high. Rounding is
// monotone: what holds at the extremes holds at every bar between them.
GB_DEVICE bool sweep_quiet(const EnvRules& rules, const EnvAccount& a, f64 low, f64 high) {
    if (env_has(rules, RULES_EVERY_BAR)) return false;
    if (a.units == 0.0) return true;
    if (env_has(rules, RULES_HAS_BARRIER) || env_has(rules, RULES_HAS_CARRY)) return false;
    return a.cash + a.units * (a.units > 0.0 ? low : high) > rules.margin * (fabs(a.units) * high);
}

// The trades of a tile's n decisions. Bit i of the result: cash or units may have changed in bar i.
GB_DEVICE u32 sweep_trade(const EnvRules& rules, EnvAccount& a, WalkShared& shared, const EnvBar* bars, u32 wanted,
                          u32 n, bool last, f64 low, f64 high, u32 t, int lane, CountWins& sink,
                          const SweepSizes& sizes) {
    u32 changed = 0;
    u32 n_changed = 0;
    u32 at = 0;
    while (at < n && !env_ruined(a)) {
        u32 next = at;
        if (sweep_quiet(rules, a, low, high)) {
            next = sweep_next(wanted, a.level, at, n, sizes);
            // At the window's end what is open is closed.
            if (next >= n) next = last ? n - 1 : n;
        }
        u32 passed = next - at;
        if (a.units != 0.0) {
            a.bars += passed;
            a.bars_in_market += passed;
        }
        if (next == n) break;
        f64 level = sweep_level(wanted, next, sizes);
        a.equity = a.cash + a.units * bars[next].close;
        env_step(rules, a, bars[next], bars[next + 1], t + next, level, last && next + 1 == n, sink);
        a.last_return = 0.0;  // nobody asks
        shared.cash[n_changed][lane] = a.cash;
        shared.units[n_changed][lane] = a.units;
        n_changed += 1;
        changed |= 1u << next;
        at = next + 1;
    }
    return changed;
}

// Whether divisions by x and of x stay clear of overflow and of subnormal numbers.
GB_DEVICE bool sweep_usual(f64 x) { return (u32)((u64)__double_as_longlong(x) >> 52) - 500u < 1000u; }

// a / b of usual numbers: the instructions a division compiles to, without the call for unusual ones that keeps
// neighbouring divisions from running side by side. Correctly rounded.
GB_DEVICE f64 sweep_quotient(f64 a, f64 b) {
#if defined(__CUDACC__)
    f64 y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(b));
#else
    f64 y = 1.0 / b;
#endif
    y = __hiloint2double(__double2hiint(y), 1);  // good to 20 bits, then to 60, then to all
    f64 e = __fma_rn(-b, y, 1.0);
    e = __fma_rn(e, e, e);
    y = __fma_rn(y, e, y);
    e = __fma_rn(-b, y, 1.0);
    y = __fma_rn(y, e, y);
    f64 q = __dmul_rn(a, y);
    return __fma_rn(y, __fma_rn(-b, q, a), q);
}

struct SweepSums {
    f64 sum;      // of deviations from the mean so far
    f64 squares;  // of them
    f64 shallow;  // a trough above this share of its peak is no deeper than the deepest
};

// Above 1 by more than the product and the quotient below can be off.
#define SHALLOW_MARGIN (1.0 + 1e-15)

// One bar into the statistics.
GB_DEVICE void sweep_bar(SweepState& s, SweepSums& sums, f64 ret, f64 equity) {
    f64 d = ret - s.mean;
    sums.sum += d;
    sums.squares += d * d;
    s.largest = env_max(s.largest, fabs(ret));
    bool top = equity >= s.peak;
    if (top && s.trough < s.peak * sums.shallow) {
        s.max_drawdown = env_max(s.max_drawdown, 1.0 - s.trough / s.peak);
        sums.shallow = (1.0 - s.max_drawdown) * SHALLOW_MARGIN;
    }
    s.trough = top ? equity : env_min(s.trough, equity);
    s.peak = top ? equity : s.peak;
    s.equity = equity;
}

// Statistics of a tile's n bars; cash and units are those before it and become those after it.
GB_DEVICE void sweep_count(SweepState& s, const WalkShared& shared, const EnvBar* bars, u32 changed, u32 n, f64& cash,
                           f64& units, int lane) {
    SweepSums sums{0.0, 0.0, (1.0 - s.max_drawdown) * SHALLOW_MARGIN};
    u32 k = 0;
    for (u32 first = 0; first < n; first += GROUP) {
        f64 equity[GROUP + 1];
        equity[0] = s.equity;
        bool usual = sweep_usual(s.equity);
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            if (changed >> (first + i) & 1) {
                cash = shared.cash[k][lane];
                units = shared.units[k][lane];
                k += 1;
            }
            equity[i + 1] = cash + units * bars[first + i + 1].close;
            usual = usual && sweep_usual(equity[i + 1]);
        }
        f64 ret[GROUP];
        if (usual) {
#pragma unroll
            for (int i = 0; i < GROUP; ++i) ret[i] = sweep_quotient(equity[i + 1], equity[i]) - 1.0;
        } else {
            for (int i = 0; i < GROUP; ++i) ret[i] = equity[i] > 0.0 ? equity[i + 1] / equity[i] - 1.0 : 0.0;
        }
        if (s.n == 0 && first == 0) s.mean = ret[0];
#pragma unroll
        for (int i = 0; i < GROUP; ++i) {
            if (first + i < n) sweep_bar(s, sums, ret[i], equity[i + 1]);
        }
    }
    s.n += n;
    f64 shift = sums.sum / (f64)s.n;
    s.mean += shift;
    s.m2 += sums.squares - sums.sum * shift;
}

// The rules come by address: taken by value, NVVM 13.0 reads the first cash from them where the loop's own cash
// belongs.
extern "C" __global__ void __launch_bounds__(32, WALK_WARPS)
    sweep_walk(const EnvRules* __restrict__ own_rules, const EnvBar* __restrict__ bars, const f64* __restrict__ lows,
               const f64* __restrict__ highs, const u64* __restrict__ signals, EnvAccount* accounts, SweepState* states,
               const __grid_constant__ SweepSpan span, const f64* __restrict__ table,
               const SweepSet* __restrict__ sets, u32 stride, f64 root_year) {
    __shared__ WalkShared shared;
    const EnvRules& rules = *own_rules;
    const u32 words = (TILE + 1) * 6;
    int lane = (int)threadIdx.x;
    u32 index = blockIdx.x * span.lanes + (u32)lane;
    bool own = (u32)lane < span.lanes && index < span.n_set;
    const f64* column = (const f64*)(bars + span.start);
    u32 last_word = (span.n_decision + 1) * 6 - 1;
    EnvAccount account;
    SweepState state;
    if (own && span.from == 0) {
        env_new(account, rules);
        state = SweepState{account.equity, account.equity, account.equity, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0, 0, 0, 0};
    } else if (own) {
        account = accounts[index];
        state = states[index];
    }
    f64 cash = own ? account.cash : 0.0;
    f64 units = own ? account.units : 0.0;
    CountWins sink{own ? state.n_wins : 0u};
    for (u32 i = (u32)lane; i < words; i += 32) {
        u32 word = span.from * 6 + i;
        ((f64*)shared.bars[0])[i] = column[word < last_word ? word : last_word];
    }
    u64 signals_ahead = own ? signals[index] : 0;
    __syncwarp();
    for (u32 first = 0; first < span.n; first += TILE) {
        u32 from = span.from + first;
        u32 n = span.n - first < TILE ? span.n - first : TILE;
        u32 parity = first / TILE & 1;
        // The next tile is on its way while this one is worked on.
        f64 ahead[(words + 31) / 32];
#pragma unroll
        for (u32 k = 0; k < (words + 31) / 32; ++k) {
            u32 word = (from + TILE) * 6 + k * 32 + (u32)lane;
            ahead[k] = column[word < last_word ? word : last_word];
        }
        u64 now = signals_ahead;
        if (own && first + TILE < span.n) signals_ahead = signals[(i64)(first / TILE + 1) * span.n_set + index];
        if (own) {
            f64 low = lows[from / TILE];
            f64 high = highs[from / TILE];
            u32 wanted = sweep_levels(now, state.held);
            bool last = from + n == span.n_decision;
            const EnvBar* tile = shared.bars[parity];
            const SweepSet* set = sets + index;
            SweepSizes sizes{set, SIZED ? table + (i64)first * stride + set->column[0] : table, stride, root_year};
            u32 changed = sweep_trade(rules, account, shared, tile, wanted, n, last, low, high, span.start + from, lane,
                                      sink, sizes);
            sweep_count(state, shared, tile, changed, n, cash, units, lane);
        }
#pragma unroll
        for (u32 k = 0; k < (words + 31) / 32; ++k) {
            u32 i = k * 32 + (u32)lane;
            if (i < words) ((f64*)shared.bars[parity ^ 1])[i] = ahead[k];
        }
        __syncwarp();
    }
    if (!own) return;
    state.costs = account.costs;
    state.n_trades = account.trades;
    state.n_wins = sink.wins;
    state.bars_in_market = account.bars_in_market;
    state.ruined = env_ruined(account) ? 1u : 0u;
    states[index] = state;
    accounts[index] = account;
}
