// One bar of every account, when Q comes from outside: any model that reads observations [n_pair, N_FEATURE + 8] and
// writes Q [n_pair, N_ACTION] between two steps on the same stream. A warp per pair; its lanes live alike and share the
// copying.
// Compile with --fmad=false, as rollout.cu. CPU twin: cpu::engine::simulate with the model as a policy.
// Shapes: bars, windows, rules, pairs, accounts, path columns as in rollout.cu; features [n_rows, N_FEATURE]; levels
// [N_ACTION]; clock [n_pair]: decisions taken, kept on the device because a CUDA graph freezes what the host says.

struct NoTrades {
    GB_DEVICE void operator()(const EnvTrade&) {}
};

GB_DEVICE void observe(const EnvAccount& account, const EnvBar& bar, const f32* features, f32* out, int lane) {
    for (int i = lane; i < N_FEATURE; i += 32) out[i] = features[i];
    if (lane < N_PORTFOLIO) out[N_FEATURE + lane] = env_observed(account, bar.close, bar.sigma, lane);
}

extern "C" __global__ void __launch_bounds__(32)
    external_begin(const EnvBar* __restrict__ bars, const EnvWindow* __restrict__ windows,
                   const EnvRules* __restrict__ rules, const RolloutPair* __restrict__ pairs,
                   const f32* __restrict__ features, EnvAccount* accounts, u32* clock, f64* equity, f32* observation) {
    u32 index = blockIdx.x;
    int lane = (int)threadIdx.x;
    RolloutPair pair = pairs[index];
    EnvWindow window = windows[pair.window];
    EnvAccount account;
    env_new(account, rules[window.rules]);
    observe(account, bars[window.row], features + window.row * N_FEATURE,
            observation + (i64)index * (N_FEATURE + N_PORTFOLIO), lane);
    if (lane == 0) {
        accounts[index] = account;
        clock[index] = 0;
        equity[pair.path] = account.equity;
    }
}

extern "C" __global__ void __launch_bounds__(32)
    external_step(const EnvBar* __restrict__ bars, const EnvWindow* __restrict__ windows,
                  const EnvRules* __restrict__ rules, const RolloutPair* __restrict__ pairs,
                  const f32* __restrict__ features, const f64* __restrict__ levels, const f32* q, EnvAccount* accounts,
                  u32* clock, f64* equity, f64* returns, u8* actions, f32* observation) {
    u32 index = blockIdx.x;
    int lane = (int)threadIdx.x;
    RolloutPair pair = pairs[index];
    EnvWindow window = windows[pair.window];
    u32 t = clock[index];
    if (t + 1 >= window.n_bars) return;
    i64 row = window.row + t + 1;
    EnvBar next = bars[row];
    EnvAccount account = accounts[index];
    f32 own[N_ACTION];
    for (int a = 0; a < N_ACTION; ++a) own[a] = q[(i64)index * N_ACTION + a];
    int action = argmax<N_ACTION>(own);
    NoTrades sink;
    env_step(rules[window.rules], account, bars[row - 1], next, window.first_bar + t, levels[action],
             t + 2 == window.n_bars, sink);
    observe(account, next, features + row * N_FEATURE, observation + (i64)index * (N_FEATURE + N_PORTFOLIO), lane);
    // Every lane has read what lane 0 now changes.
    __syncwarp();
    if (lane == 0) {
        accounts[index] = account;
        clock[index] = t + 1;
        returns[pair.path + t] = account.last_return;
        equity[pair.path + t + 1] = account.equity;
        actions[pair.path + t] = (u8)action;
    }
}
