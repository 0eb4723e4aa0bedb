// Windows, pairs and how far a launch goes. Layout twins: gpu/layout.rs.
#pragma once

struct EnvWindow {
    i64 row;       // of its first bar in `bars`
    u32 n_bars;    // decisions: n_bars − 1
    u32 first_bar; // index of its first bar in the data set
    u32 rules;
    u32 unused;
};
static_assert(sizeof(EnvWindow) == 24, "EnvWindow");

struct RolloutPair {
    i64 path;
    u32 window;
    u32 policy;
};
static_assert(sizeof(RolloutPair) == 16, "RolloutPair");

// Decisions of this launch.
GB_DEVICE u32 steps_from(u32 n_bars, u32 t0, u32 n_steps) {
    u32 n_decision = n_bars - 1;
    u32 left = n_decision > t0 ? n_decision - t0 : 0;
    return left < n_steps ? left : n_steps;
}
