// What a policy sees of its account.
// CPU twin: cpu::observation. Plain C++17: the host lockstep test compiles this very file. Needs prelude.cuh,
// env_state.cuh and env.cuh.
#pragma once

// The portfolio observation:
// [units·close/equity, level, side·(close/entry_price − 1), 1 − equity/peak, clip(r/sigma, ±10), ln(1 + bars)/5,
//  ln(equity/initial), cash/equity]; f64, rounded once to f32.
GB_DEVICE void env_observation(const EnvAccount& a, const EnvBar& now, f32* out) {
    f64 per_equity = a.equity > 0.0 ? 1.0 / a.equity : 0.0;
    f64 unrealised = 0.0;
    f64 bars = 0.0;
    if (a.units != 0.0) {
        f64 side = copysign(1.0, a.units);
        unrealised = side * (now.close / a.entry_price - 1.0);
        bars = (f64)a.bars;
    }
    f64 shock = 0.0;
    if (now.sigma > 0.0) {
        shock = a.last_return / now.sigma;
        shock = shock < -10.0 ? -10.0 : (shock > 10.0 ? 10.0 : shock);
    }
    out[0] = (f32)(a.units * now.close * per_equity);
    out[1] = (f32)a.level;
    out[2] = (f32)unrealised;
    out[3] = (f32)env_drawdown(a);
    out[4] = (f32)shock;
    out[5] = (f32)(log(1.0 + bars) / 5.0);
    out[6] = (f32)log(env_max(a.equity / a.initial, GROWTH_FLOOR));
    out[7] = (f32)(a.cash * per_equity);
}

// a/b within 2 ulp and ln x within 2e-7, without a branch; for normal b and x.
GB_DEVICE f32 env_quotient(f32 a, f32 b) {
#if defined(__CUDACC__)
    return __fdividef(a, b);
#else
    return a / b;
#endif
}

GB_DEVICE f32 env_log(f32 x) {
#if defined(__CUDACC__)
    return __logf(x);
#else
    return logf(x);
#endif
}

// Component i of the same observation, within 5e-7 of the larger of it and 1: differences in f64, where cancellation
// would show, quotients and logarithms in f32. Eight lanes make one observation, each by the same instructions: six f64
// quotients and two f64 logarithms of one thread would cost a step more than its network.
GB_DEVICE f32 env_observed(const EnvAccount& a, f64 close, f64 sigma, int i) {
    bool open = a.units != 0.0;
    bool alive = a.equity > 0.0;
    f32 gain = (f32)(a.units > 0.0 ? close - a.entry_price : a.entry_price - close);
    f32 above = (f32)a.level;
    f32 below = 1.0f;
    above = i == 0 ? (alive ? (f32)(a.units * close) : 0.0f) : above;
    above = i == 2 ? (open ? gain : 0.0f) : above;
    above = i == 3 ? (f32)(a.peak - a.equity) : above;
    above = i == 4 ? (sigma > 0.0 ? (f32)a.last_return : 0.0f) : above;
    above = i == 5 ? (open ? (f32)a.bars + 1.0f : 1.0f) : above;
    above = i == 6 ? (f32)a.equity : above;
    above = i == 7 ? (alive ? (f32)a.cash : 0.0f) : above;
    below = (i == 0 || i == 7) && alive ? (f32)a.equity : below;
    below = i == 2 && open ? (f32)a.entry_price : below;
    below = i == 3 ? (f32)a.peak : below;
    below = i == 4 && sigma > 0.0 ? (f32)sigma : below;
    below = i == 6 ? (f32)a.initial : below;
    f32 quotient = env_quotient(above, below);
    f32 floored = quotient > (f32)GROWTH_FLOOR ? quotient : (f32)GROWTH_FLOOR;
    f32 logarithm = env_log(floored) * (i == 5 ? 0.2f : 1.0f);
    f32 shock = quotient < -10.0f ? -10.0f : (quotient > 10.0f ? 10.0f : quotient);
    f32 out = i == 4 ? shock : quotient;
    return i == 5 || i == 6 ? logarithm : out;
}

GB_DEVICE void env_observation_fast(const EnvAccount& a, const EnvBar& now, f32* out) {
    for (int i = 0; i < N_PORTFOLIO; ++i) out[i] = env_observed(a, now.close, now.sigma, i);
}
