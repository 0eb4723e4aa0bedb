// What a learning agent is paid for one bar. CPU twin: cpu::reward::RewardState; the same f64 operations in the same
// order.
// Compile with --fmad=false. Needs prelude.cuh, env.cuh, learner.cuh.
#pragma once

// D_t of Moody & Saffell 1998; 0 while the variance is.
GB_DEVICE f64 differential_sharpe(f64 rate, EnvPlace& place, f64 r) {
    f64 mean = place.dsr_mean;
    f64 second = place.dsr_var + mean * mean;
    f64 d_mean = r - mean;
    f64 d_second = r * r - second;
    f64 reward = 0.0;
    if (place.dsr_var > 0.0) {
        reward = (second * d_mean - 0.5 * mean * d_second) / (place.dsr_var * sqrt(place.dsr_var));
    }
    place.dsr_mean = mean + rate * d_mean;
    f64 moved = second + rate * d_second;
    place.dsr_var = env_max(moved - place.dsr_mean * place.dsr_mean, 0.0);
    return reward;
}

// r·median_vol/max(vol, 0.1·median_vol).
GB_DEVICE f64 volatility_scaled(f64 median_vol, const EnvStep& step) {
    f64 vol = env_max(step.sigma, 0.1 * median_vol);
    return vol > 0.0 ? step.ret * (median_vol / vol) : step.ret;
}

// Base reward minus penalties for the bar `step`; the moving averages in `place` go on.
GB_DEVICE f64 reward_of(const RewardRules& rules, EnvPlace& place, const EnvStep& step) {
    f64 base = step.ret;
    if (rules.kind == REWARD_LOG) base = log(env_max(1.0 + step.ret, LOG_FLOOR));
    if (rules.kind == REWARD_DSR) base = differential_sharpe(rules.dsr_rate, place, step.ret);
    if (rules.kind == REWARD_VOL_SCALED) base = volatility_scaled(rules.median_vol, step);
    f64 ruin = step.ruined ? rules.ruin_penalty : 0.0;
    return base - rules.turnover_penalty * step.turnover - rules.drawdown_penalty * step.drawdown_rise - ruin;
}
