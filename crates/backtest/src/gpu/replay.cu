// Given levels, T steps of many (policy, window) pairs in one launch; the accounts go on from launch to launch. One
// thread per pair, in blocks narrow enough that every multiprocessor has some. CPU twin: cpu::engine::replay.
// Compile with --fmad=false: money is f64 and equals the CPU engine's bit for bit.
// Shapes: bars [n_rows], windows [n_window], rules [n_rules], pairs and accounts [n_pair]; levels and path columns are
// [Σ n_bars] with a pair's first element at `path`. Deterministic: no thread sees another's data.

// A pair's trades go to out[0..room]; the account's count says how many there were.
struct KeepTrades {
    EnvTrade* out;
    i64 room;
    i64 n;
    GB_DEVICE void operator()(const EnvTrade& trade) {
        if (n < room) out[n] = trade;
        n += 1;
    }
};

// cash, units and level_held are written with WRITE_PATH only. trade_start [n_pair + 1]: where a pair's trades begin
// and, next to it, where they have to end.
extern "C" __global__ void replay_given(const EnvBar* __restrict__ bars, const EnvWindow* __restrict__ windows,
                                        const EnvRules* __restrict__ rules, const RolloutPair* __restrict__ pairs,
                                        const f64* __restrict__ levels, EnvAccount* accounts, f64* equity,
                                        f64* returns, f64* cash, f64* units, f64* level_held, EnvTrade* trades,
                                        const i64* __restrict__ trade_start, u32 n_pair, u32 t0, u32 n_steps) {
    u32 index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= n_pair) return;
    RolloutPair pair = pairs[index];
    EnvWindow window = windows[pair.window];
    u32 steps = steps_from(window.n_bars, t0, n_steps);
    if (steps == 0) return;
    EnvRules r = rules[window.rules];
    EnvAccount account;
    if (t0 == 0) {
        env_new(account, r);
        equity[pair.path] = account.equity;
#if WRITE_PATH
        cash[pair.path] = account.cash;
        units[pair.path] = account.units;
        level_held[pair.path] = account.level;
#endif
    } else {
        account = accounts[index];
    }
    KeepTrades sink{trades + trade_start[index], trade_start[index + 1] - trade_start[index], account.trades};
    const EnvBar* bar = bars + window.row;
    u32 last_bar = window.n_bars - 1;
    EnvBar now = bar[t0];
    EnvBar next = bar[t0 + 1];
    f64 level = levels[pair.path + t0];
    for (u32 step = 0; step < steps; ++step) {
        u32 t = t0 + step;
        i64 at = pair.path + t;
        // Asked for here and used a step later: memory answers while the account lives through its bar.
        EnvBar after = bar[t + 2 < last_bar ? t + 2 : last_bar];
        f64 level_after = levels[at + 1];
        env_step(r, account, now, next, window.first_bar + t, level, t + 1 == last_bar, sink);
        returns[at] = account.last_return;
        equity[at + 1] = account.equity;
#if WRITE_PATH
        cash[at + 1] = account.cash;
        units[at + 1] = account.units;
        level_held[at + 1] = account.level;
#endif
        now = next;
        next = after;
        level = level_after;
    }
    accounts[index] = account;
}

// What a greedy rollout's actions stand for, where replay_given looks for levels: pair i's actions begin at `from[i]`,
// action_levels is [n_policy, n_action]. Grid: x one block row per pair, y shares of its decisions.
extern "C" __global__ void replay_levels(const EnvWindow* __restrict__ windows, const RolloutPair* __restrict__ pairs,
                                         const i64* __restrict__ from, const u8* __restrict__ actions,
                                         const f64* __restrict__ action_levels, u32 n_action, f64* levels) {
    RolloutPair pair = pairs[blockIdx.x];
    const u8* own = actions + from[blockIdx.x];
    const f64* level = action_levels + (i64)pair.policy * n_action;
    u32 n_decision = windows[pair.window].n_bars - 1;
    for (u32 t = blockIdx.y * blockDim.x + threadIdx.x; t < n_decision; t += gridDim.y * blockDim.x) {
        levels[pair.path + t] = level[own[t]];
    }
}
