// An account, its rules and what a bar does to it, as structs. CPU twins: cpu::account::Account, cpu::engine::Rules,
// path::Trade. Layout twins: gpu/layout.rs. Enumerations come from there by -D. Needs prelude.cuh.
#pragma once

// Bits of RULES_* that any rules of this compilation may have: what no rules use costs nothing.
#ifndef ENV_FLAGS
#define ENV_FLAGS 0xffffffffu
#endif

// Columns of one bar, side by side so that one thread fetches a bar with three 16-byte loads.
struct alignas(16) EnvBar {
    f64 open;
    f64 high;
    f64 low;
    f64 close;
    f64 volume;  // units
    f64 sigma;   // per-bar volatility at the close of this bar
};
static_assert(sizeof(EnvBar) == 48, "EnvBar");

// cpu::engine::Rules.
struct EnvRules {
    f64 initial_cash;
    f64 max_position;
    f64 lot_size;
    f64 threshold;         // |delta|·close/equity an order must exceed
    f64 half_spread;       // fraction of the price
    f64 commission;        // fraction of the traded value
    f64 commission_fixed;  // quote currency
    f64 slip_fixed;        // fraction of the price
    f64 impact_eta;
    f64 impact_max;  // fraction of the price
    f64 max_participation;
    f64 carry_long;   // fraction of |units|·close a bar
    f64 carry_short;  // fraction of |units|·close a bar
    f64 margin;
    f64 k_stop;
    f64 k_take;
    f64 kelly_fraction;
    f64 kelly_cap;
    u32 kelly_min_trades;  // at least 1
    u32 max_hold;          // bars; 0: no vertical barrier
    u32 flags;             // RULES_*
    u32 unused;
};
static_assert(sizeof(EnvRules) == 160, "EnvRules");

// cpu::account::Account with its OpenTrade, Tally and Counts. What every bar needs comes first; env_copy.
struct alignas(16) EnvAccount {
    f64 cash;
    f64 units;
    f64 level;
    f64 equity;
    f64 peak;
    f64 entry_price;  // of the trade in progress: average cost
    f64 traded_value;
    f64 costs;
    u32 bars;  // lived through by the trade in progress
    u32 trades;
    u32 bars_in_market;
    u32 fills;
    u32 rejected_orders;
    u32 capped_orders;
    u32 nan_levels;
    u32 flags;  // ACCOUNT_*
    f64 last_return;
    f64 initial;
    f64 carry;
    f64 stop;  // where ACCOUNT_HAS_STOP
    f64 take;  // where ACCOUNT_HAS_TAKE
    f64 entry_equity;  // equity just before the entry of the trade in progress
    f64 flow;          // its net cash so far
    f64 won;           // sum of the wins' returns
    f64 lost;          // sum of the losses' |returns|
    u32 wins;
    u32 losses;
    u32 max_hold;  // 0: no vertical barrier
    u32 entry_bar;
    f64 max_units;
};
static_assert(sizeof(EnvAccount) == 192, "EnvAccount");

// path::Trade.
struct EnvTrade {
    f64 units;
    f64 entry_price;
    f64 exit_price;
    f64 pnl;
    f64 trade_return;
    u32 entry_bar;
    u32 exit_bar;
    u32 bars_held;
    i32 side;
    u32 exit;  // EXIT_*
    u32 unused;
};
static_assert(sizeof(EnvTrade) == 64, "EnvTrade");

// What one bar did.
struct EnvStep {
    f64 ret;
    f64 equity;
    f64 turnover;
    f64 drawdown_rise;
    f64 sigma;
    u32 ruined;  // in this very bar
    u32 unused;
};
static_assert(sizeof(EnvStep) == 48, "EnvStep");

GB_DEVICE f64 env_max(f64 a, f64 b) { return b > a ? b : a; }
GB_DEVICE f64 env_min(f64 a, f64 b) { return b < a ? b : a; }

GB_DEVICE bool env_has(const EnvRules& rules, u32 bit) { return (ENV_FLAGS & bit) != 0 && (rules.flags & bit) != 0; }

GB_DEVICE bool env_trades_in(const EnvRules& rules, f64 volume) {
    return !env_has(rules, RULES_HAS_VOLUME) || volume > 0.0;
}

GB_DEVICE bool env_ruined(const EnvAccount& a) { return (a.flags & ACCOUNT_RUINED) != 0; }

// Copies what a bar may need under ENV_FLAGS, where closed trades go nowhere.
GB_DEVICE void env_copy(EnvAccount& to, const EnvAccount& from) {
    to.cash = from.cash;
    to.units = from.units;
    to.level = from.level;
    to.equity = from.equity;
    to.peak = from.peak;
    to.entry_price = from.entry_price;
    to.traded_value = from.traded_value;
    to.costs = from.costs;
    to.bars = from.bars;
    to.trades = from.trades;
    to.bars_in_market = from.bars_in_market;
    to.fills = from.fills;
    to.rejected_orders = from.rejected_orders;
    to.capped_orders = from.capped_orders;
    to.nan_levels = from.nan_levels;
    to.flags = from.flags;
    if (ENV_FLAGS & RULES_HAS_CARRY) to.carry = from.carry;
    if (ENV_FLAGS & RULES_HAS_BARRIER) {
        to.stop = from.stop;
        to.take = from.take;
        to.max_hold = from.max_hold;
    }
    if (ENV_FLAGS & RULES_HAS_KELLY) {
        to.entry_equity = from.entry_equity;
        to.flow = from.flow;
        to.won = from.won;
        to.lost = from.lost;
        to.wins = from.wins;
        to.losses = from.losses;
    }
}

GB_DEVICE void env_new(EnvAccount& a, const EnvRules& rules) {
    a = EnvAccount{};
    a.cash = rules.initial_cash;
    a.equity = rules.initial_cash;
    a.initial = rules.initial_cash;
    a.peak = rules.initial_cash;
}

GB_DEVICE f64 env_drawdown(const EnvAccount& a) { return 1.0 - a.equity / a.peak; }
