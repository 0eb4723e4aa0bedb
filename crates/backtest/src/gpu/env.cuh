// One bar of the account: decision at the close of bar t, life in bar t + 1.
// CPU twin: cpu::account::Account::step. The same f64 operations in the same order, so that given the same levels cash,
// units, equity and trades are equal bit for bit. Compile with --fmad=false (host: -ffp-contract=off). Plain C++17: the
// host lockstep test compiles this very file. Needs prelude.cuh and env_state.cuh.
#pragma once

// Where and against what the fills of one instant happen.
struct EnvVenue {
    u32 bar;
    f64 volume;
    f64 sigma;
};

struct EnvFill {
    f64 price;
    f64 commission;
};

// Rounds a target toward zero to whole lots.
GB_DEVICE f64 env_whole_lots(const EnvRules& rules, f64 units) {
    if (!env_has(rules, RULES_HAS_LOTS)) return units;
    f64 lots = units / rules.lot_size;
    f64 nearest = round(lots);
    f64 whole = fabs(lots - nearest) <= LOT_TOLERANCE ? nearest : trunc(lots);
    return whole * rules.lot_size;
}

// Price concession of a market order, a fraction.
GB_DEVICE f64 env_concession(const EnvRules& rules, f64 quantity, const EnvVenue& venue) {
    f64 slip = 0.0;
    if (env_has(rules, RULES_SLIPS_FIXED)) {
        slip = rules.slip_fixed;
    } else if (env_has(rules, RULES_SLIPS_BY_IMPACT)) {
        f64 impact = rules.impact_eta * venue.sigma * sqrt(quantity / venue.volume);
        slip = impact < rules.impact_max ? impact : rules.impact_max;
    }
    return rules.half_spread + slip;
}

GB_DEVICE f64 env_kelly_scale(const EnvRules& rules, const EnvAccount& a) {
    if (!env_has(rules, RULES_HAS_KELLY) || a.trades < rules.kelly_min_trades) return 1.0;
    if (a.losses == 0) return rules.kelly_cap;
    if (a.wins == 0) return 0.0;
    f64 p = (f64)a.wins / (f64)a.trades;
    f64 b = (a.won / (f64)a.wins) / (a.lost / (f64)a.losses);
    f64 scale = rules.kelly_fraction * (p - (1.0 - p) / b);
    if (scale < 0.0) scale = 0.0;
    if (scale > rules.kelly_cap) scale = rules.kelly_cap;
    return scale;
}

// Prices a fill and counts it; cash moves with the caller.
GB_DEVICE EnvFill env_fill(const EnvRules& rules, EnvAccount& a, const EnvVenue& venue, f64 price, f64 delta,
                           bool limit) {
    f64 quantity = fabs(delta);
    f64 fill = price;
    if (!limit) {
        f64 concession = env_concession(rules, quantity, venue);
        fill = price * (1.0 + copysign(concession, delta));
    }
    f64 commission = quantity * fill * rules.commission + rules.commission_fixed;
    a.fills += 1;
    a.traded_value += quantity * price;
    a.costs += quantity * fabs(fill - price) + commission;
    return EnvFill{fill, commission};
}

GB_DEVICE void env_set_barriers(const EnvRules& rules, EnvAccount& a, const EnvVenue& venue, f64 fill) {
    if (!env_has(rules, RULES_HAS_BARRIER)) return;
    f64 horizon = rules.max_hold == 0 ? 1.0 : (f64)rules.max_hold;
    f64 reach = venue.sigma * sqrt(horizon);
    if (reach == 0.0) return;
    f64 side = copysign(1.0, a.units);
    if (env_has(rules, RULES_HAS_STOP)) {
        a.stop = fill * (1.0 - side * (rules.k_stop * reach));
        a.flags |= ACCOUNT_HAS_STOP;
    }
    if (env_has(rules, RULES_HAS_TAKE)) {
        a.take = fill * (1.0 + side * (rules.k_take * reach));
        a.flags |= ACCOUNT_HAS_TAKE;
    }
    a.max_hold = rules.max_hold;
}

GB_DEVICE void env_open(const EnvRules& rules, EnvAccount& a, const EnvVenue& venue, f64 fill, f64 units,
                        f64 commission) {
    f64 flow = -(units * fill) - commission;
    a.entry_bar = venue.bar;
    a.entry_price = fill;
    a.entry_equity = a.cash;
    a.flow = flow;
    a.max_units = fabs(units);
    a.bars = 0;
    a.max_hold = 0;
    a.flags &= ~(u32)(ACCOUNT_HAS_STOP | ACCOUNT_HAS_TAKE);
    a.cash += flow;
    a.units = units;
    env_set_barriers(rules, a, venue, fill);
}

GB_DEVICE void env_resize(EnvAccount& a, f64 fill, f64 delta, f64 after, f64 commission) {
    f64 flow = -(delta * fill) - commission;
    if (fabs(after) > fabs(a.units)) {
        f64 cost = fabs(a.units) * a.entry_price + fabs(delta) * fill;
        a.entry_price = cost / fabs(after);
    }
    a.max_units = env_max(a.max_units, fabs(after));
    a.flow += flow;
    a.cash += flow;
    a.units = after;
}

// Books the proceeds that end a trade. An account left with nothing is ruined; its debt is the broker's loss.
template <typename Trades>
GB_DEVICE void env_settle(EnvAccount& a, u32 bar, f64 fill, f64 proceeds, u32 exit, Trades& trades) {
    i32 side = a.units > 0.0 ? 1 : -1;
    a.cash += proceeds;
    f64 pnl = a.flow + proceeds;
    if (a.cash <= 0.0) {
        pnl -= a.cash;
        a.cash = 0.0;
        a.flags |= ACCOUNT_RUINED;
        a.level = 0.0;
    }
    a.units = 0.0;
    f64 trade_return = pnl / a.entry_equity;
    a.trades += 1;
    if (!(ENV_FLAGS & RULES_HAS_KELLY)) {
        // Nobody asks for the tally.
    } else if (trade_return > 0.0) {
        a.wins += 1;
        a.won += trade_return;
    } else if (trade_return < 0.0) {
        a.losses += 1;
        a.lost -= trade_return;
    }
    trades(EnvTrade{a.max_units, a.entry_price, fill, pnl, trade_return, a.entry_bar, bar, a.bars, side, exit, 0});
}

// Closes everything at `price`. The level held becomes 0 unless the policy asked for the exit itself.
template <typename Trades>
GB_DEVICE void env_close(const EnvRules& rules, EnvAccount& a, const EnvVenue& venue, f64 price, bool limit, u32 exit,
                         Trades& trades) {
    f64 held = a.units;
    EnvFill fill = env_fill(rules, a, venue, price, -held, limit);
    env_settle(a, venue.bar, fill.price, held * fill.price - fill.commission, exit, trades);
    if (exit != EXIT_SIGNAL) a.level = 0.0;
}

// Fills a policy's order of `delta` units that leaves `after`: opens, resizes, closes or flips.
template <typename Trades>
GB_DEVICE void env_trade_to(const EnvRules& rules, EnvAccount& a, const EnvVenue& venue, f64 price, f64 delta,
                            f64 after, Trades& trades) {
    f64 held = a.units;
    if (held != 0.0 && after == 0.0) {
        env_close(rules, a, venue, price, false, EXIT_SIGNAL, trades);
        return;
    }
    EnvFill fill = env_fill(rules, a, venue, price, delta, false);
    f64 opening = fill.commission;
    if (held != 0.0) {
        if ((after > 0.0) == (held > 0.0)) {
            env_resize(a, fill.price, delta, after, fill.commission);
            return;
        }
        f64 closing = fill.commission * (fabs(held) / fabs(delta));
        env_settle(a, venue.bar, fill.price, held * fill.price - closing, EXIT_FLIP, trades);
        if (env_ruined(a)) return;
        opening = fill.commission - closing;
    }
    env_open(rules, a, venue, fill.price, after, opening);
}

// Sizes the level and sends the order, if there is one.
template <typename Trades>
GB_DEVICE void env_order(const EnvRules& rules, EnvAccount& a, const EnvBar& now, const EnvBar& next, u32 t, f64 level,
                         Trades& trades) {
    if (!(level - level == 0.0)) {  // NaN or infinite
        a.nan_levels += 1;
        level = 0.0;
    }
    // The commonest bar: nothing to do, and no division.
    bool every_bar = env_has(rules, RULES_EVERY_BAR);
    if (!every_bar && level == a.level) return;
    f64 exposure = level * rules.max_position * env_kelly_scale(rules, a);
    f64 value = exposure * a.equity;
    // A quotient of 0 is the slow path of a division.
    f64 target = value == 0.0 ? 0.0 : env_whole_lots(rules, value / now.close);
    f64 delta = target - a.units;
    if (every_bar && !(fabs(delta) * now.close / a.equity > rules.threshold)) return;
    if (delta == 0.0) {
        a.level = level;
        return;
    }
    bool at_open = !env_has(rules, RULES_FILLS_AT_CLOSE);
    EnvVenue venue{at_open ? t + 1 : t, at_open ? next.volume : now.volume, now.sigma};
    f64 price = at_open ? next.open : now.close;
    if (!env_trades_in(rules, venue.volume)) {
        a.rejected_orders += 1;
        return;
    }
    a.level = level;
    f64 after = target;
    f64 cap = rules.max_participation * venue.volume;
    if (env_has(rules, RULES_HAS_CAP) && fabs(delta) > cap) {
        a.capped_orders += 1;
        delta = copysign(env_whole_lots(rules, cap), delta);
        after = a.units + delta;
        if (delta == 0.0) return;
    }
    env_trade_to(rules, a, venue, price, delta, after, trades);
}

// Stop and liquidation against the adverse extreme, then the take-profit.
template <typename Trades>
GB_DEVICE void env_touch(const EnvRules& rules, EnvAccount& a, const EnvVenue& venue, const EnvBar& bar,
                         Trades& trades) {
    bool is_long = a.units > 0.0;
    f64 adverse = is_long ? bar.low : bar.high;
    f64 notional = fabs(a.units) * adverse;
    bool liquidated = !(a.cash + a.units * adverse > rules.margin * notional);
    bool stopped = (ENV_FLAGS & RULES_HAS_STOP) && (a.flags & ACCOUNT_HAS_STOP) &&
                   (is_long ? bar.low <= a.stop : bar.high >= a.stop);
    f64 stop = is_long ? env_min(a.stop, bar.open) : env_max(a.stop, bar.open);
    if (liquidated) {
        f64 level = a.cash / (rules.margin * fabs(a.units) - a.units);
        f64 price = is_long ? env_min(level, bar.open) : env_max(level, bar.open);
        if (!stopped || (is_long ? price >= stop : price <= stop)) {
            env_close(rules, a, venue, price, false, EXIT_LIQUIDATION, trades);
            a.flags |= ACCOUNT_RUINED;
            return;
        }
    }
    if (stopped) {
        env_close(rules, a, venue, stop, false, EXIT_STOP, trades);
    } else if ((ENV_FLAGS & RULES_HAS_TAKE) && (a.flags & ACCOUNT_HAS_TAKE) &&
               (is_long ? bar.high >= a.take : bar.low <= a.take)) {
        env_close(rules, a, venue, a.take, true, EXIT_TAKE, trades);
    }
}

// Lives through bar t + 1 with a position.
template <typename Trades>
GB_DEVICE void env_live(const EnvRules& rules, EnvAccount& a, const EnvBar& now, const EnvBar& next, u32 t, bool last,
                        Trades& trades) {
    EnvVenue venue{t + 1, next.volume, now.sigma};
    bool can_trade = env_trades_in(rules, next.volume);
    a.bars_in_market += 1;
    a.bars += 1;
    if (can_trade) env_touch(rules, a, venue, next, trades);
    if (a.units == 0.0) return;
    if (env_has(rules, RULES_HAS_CARRY)) {
        f64 rate = a.units > 0.0 ? rules.carry_long : rules.carry_short;
        f64 carry = fabs(a.units) * now.close * rate;
        a.cash -= carry;
        a.flow -= carry;
        a.carry += carry;
    }
    bool expired = (ENV_FLAGS & RULES_HAS_BARRIER) && a.max_hold != 0 && a.bars >= a.max_hold;
    if (expired && can_trade) {
        env_close(rules, a, venue, next.close, false, EXIT_TIME, trades);
    } else if (last) {
        env_close(rules, a, venue, next.close, false, EXIT_END, trades);
    }
}

// Values the account at the close. Equity that is gone without a trade ends the account there.
template <typename Trades>
GB_DEVICE void env_mark(EnvAccount& a, f64 close, u32 bar, Trades& trades) {
    a.equity = a.cash + a.units * close;
    if (a.equity <= 0.0) {
        a.flags |= ACCOUNT_RUINED;
        a.level = 0.0;
        if (a.units != 0.0) env_settle(a, bar, close, a.units * close, EXIT_LIQUIDATION, trades);
        a.cash = 0.0;
        a.equity = 0.0;
    }
    a.peak = env_max(a.peak, a.equity);
}

// Decides at the close of bar t for `level` and lives through bar t + 1; `last` closes what is open at its close.
// `now` is bar t, `next` bar t + 1. Closed trades go to `trades(EnvTrade)`.
template <typename Trades>
GB_DEVICE EnvStep env_step(const EnvRules& rules, EnvAccount& a, const EnvBar& now, const EnvBar& next, u32 t,
                           f64 level, bool last, Trades& trades) {
    if (env_ruined(a)) {
        a.last_return = 0.0;
        return EnvStep{0.0, a.equity, 0.0, 0.0, next.sigma, 0, 0};
    }
    f64 before = a.equity;
    f64 drawdown = env_drawdown(a);
    f64 traded = a.traded_value;
    env_order(rules, a, now, next, t, level, trades);
    if (a.units != 0.0) env_live(rules, a, now, next, t, last, trades);
    env_mark(a, next.close, t + 1, trades);
    a.last_return = a.equity / before - 1.0;
    f64 rise = env_max(0.0, env_drawdown(a) - drawdown);
    f64 turnover = (a.traded_value - traded) / before;
    return EnvStep{a.last_return, a.equity, turnover, rise, next.sigma, (u32)env_ruined(a), 0};
}
