// Accounts kept by warps beside the network of their block; two ways, by how many pairs the block has.
//
//   LIVES 1: one pair. While the network runs, the account already lives through the next bar with every action, each life
//            in a warp where no other costs it time; once the action is known, its life and its observation are there.
//   LIVES 0: SLOTS pairs in ACCOUNT_WARPS groups of BATCH. A warp keeps its group's accounts while the network serves the
//            other groups.
#pragma once

#define ACCOUNT_WARPS 4
#define LIVES (SLOTS == 1)
#define BATCH (LIVES ? 1 : SLOTS / ACCOUNT_WARPS)
#define GROUPS (SLOTS / BATCH)
#define LIVES_PER_WARP ((N_ACTION + ACCOUNT_WARPS - 1) / ACCOUNT_WARPS)
#define N_LIFE (LIVES ? 2 * N_ACTION : 1)

// One group of pairs: the compute warps and the group's account warps meet at these.
#define BARRIER_COMPUTE 1
#define BARRIER_ACCOUNTS 15
#define BARRIER_OBSERVED(group) (2 + 2 * (group))
#define BARRIER_FORWARDED(group) (3 + 2 * (group))
#define MEET (COMPUTE_THREADS + (LIVES ? 32 * ACCOUNT_WARPS : 32))

// Sizes are repeated in gpu/mlp.rs, which owns the launch.
struct SlotShared {
    alignas(16) f32 observed[N_LIFE][N_PORTFOLIO];
    alignas(16) f32 last[LAST];   // output of the last hidden layer
    EnvAccount life[N_LIFE];      // LIVES: after each action, for the step to come and the one before
    EnvBar bars[LIVES ? ACCOUNT_WARPS : 1][2];  // bar t lies at t & 1; with LIVES each warp has its own
    EnvRules rules;
    f64 level[N_ACTION];
    i32 action;
    u32 steps;  // decisions of this launch
};

struct NoTrades {
    GB_DEVICE void operator()(const EnvTrade&) {}
};

// What a pair reads and writes.
struct PairView {
    const f64* column;  // EnvBar columns of the window's first bar
    u32 n_bars;
    u32 first_bar;
    i64 path;
};

GB_DEVICE PairView view_of(const EnvBar* bars, const EnvWindow& window, const RolloutPair& pair) {
    return PairView{(const f64*)(bars + window.row), window.n_bars, window.first_bar, pair.path};
}

// Number `column` of bar t, the last bar again beyond the end.
GB_DEVICE f64 bar_value(const PairView& pair, u32 t, int column) {
    u32 last = pair.n_bars - 1;
    return pair.column[(i64)(t < last ? t : last) * 6 + column];
}

GB_DEVICE void account_begin(EnvAccount& account, const EnvRules& rules, const EnvAccount& saved, f64* equity, i64 path,
                             u32 t0) {
    if (t0 != 0) {
        account = saved;
        return;
    }
    env_new(account, rules);
    equity[path] = account.equity;
}

#if LIVES

// The four account warps of a block with one pair. Warp w takes the w-th, (w + 4)-th, … action counted from the one held, which
// costs least because nothing is ordered: it shares its warp.
GB_DEVICE void account_warps(SlotShared& slot, const f32* head_packed, const PairView& pair, EnvAccount* saved, f64* equity,
                             f64* returns, u8* actions, u32 t0, int warp, int lane) {
    EnvBar* staged = slot.bars[warp];
    int column = lane % 6;
    if (lane < 6) {
        ((f64*)&staged[t0 & 1])[lane] = bar_value(pair, t0, lane);
        ((f64*)&staged[(t0 + 1) & 1])[lane] = bar_value(pair, t0 + 1, lane);
    }
    f64 ahead = bar_value(pair, t0 + 2, column);
    __syncwarp();
    int action = 0;
    if (warp == 0) {
        if (lane == 0) {
            account_begin(slot.life[0], slot.rules, *saved, equity, pair.path, t0);
            slot.action = 0;
        }
        __syncwarp();
        if (lane < N_PORTFOLIO) slot.observed[0][lane] = env_observed(slot.life[0], staged[t0 & 1], lane);
    }
    named_sync(BARRIER_ACCOUNTS, 32 * ACCOUNT_WARPS);
    named_arrive(BARRIER_OBSERVED(0), MEET);
    NoTrades sink;
    u32 steps = slot.steps;
    for (u32 step = 0; step < steps; ++step) {
        u32 t = t0 + step;
        int now = (int)(step & 1) * N_ACTION;
        int then = N_ACTION - now;
        const EnvBar& next = staged[(t + 1) & 1];
        int turn = warp + ACCOUNT_WARPS * lane;
        if (turn < N_ACTION) {
            int life = action + turn < N_ACTION ? action + turn : action + turn - N_ACTION;
            EnvAccount account = slot.life[now + action];
            env_step(slot.rules, account, staged[t & 1], next, pair.first_bar + t, slot.level[life],
                     t + 2 == pair.n_bars, sink);
            slot.life[then + life] = account;
        }
        __syncwarp();
        for (int part = lane; part < LIVES_PER_WARP * N_PORTFOLIO; part += 32) {
            int turn = warp + ACCOUNT_WARPS * (part / N_PORTFOLIO);
            int life = action + turn < N_ACTION ? action + turn : action + turn - N_ACTION;
            int i = part % N_PORTFOLIO;
            if (turn < N_ACTION) slot.observed[then + life][i] = env_observed(slot.life[then + life], next, i);
        }
        // Bar t is done with: bar t + 2 takes its place.
        if (lane < 6) ((f64*)&staged[t & 1])[lane] = ahead;
        ahead = bar_value(pair, t + 3, column);
        Head head;
        head.load(head_packed, lane);
        named_sync(BARRIER_FORWARDED(0), MEET);
        f32 q[N_ACTION];
        head.apply(slot.last, head_packed, q, lane);
        action = mlp_argmax(q);
        if (warp == 0 && lane == 0) slot.action = action;
        if (step + 1 < steps) named_arrive(BARRIER_OBSERVED(0), MEET);
        if (warp == 0 && lane == 0) {
            const EnvAccount& taken = slot.life[then + action];
            returns[pair.path + t] = taken.last_return;
            equity[pair.path + t + 1] = taken.equity;
#if WRITE_ACTIONS
            actions[pair.path + t] = (u8)action;
#endif
        }
    }
    if (warp == 0 && lane == 0) *saved = slot.life[(steps & 1) * N_ACTION + action];
}

#else

// One account warp: the accounts of group `group`. Lane b < BATCH lives with slot b·GROUPS + group.
GB_DEVICE void account_warp(SlotShared* slots, int group, const f32* head_packed, const EnvBar* bars,
                            const EnvWindow* windows, const RolloutPair* pairs, EnvAccount* saved, f64* equity,
                            f64* returns, u8* actions, u32 t0, u32 steps, int lane) {
    static_assert(BATCH * 6 <= 32, "a lane carries one column of one pair");
    // As a carrier of bars: lane 6·b + c brings column c of slot b. As a keeper of accounts: lane b.
    int column = lane % 6;
    SlotShared& carried = slots[(lane / 6 < BATCH ? lane / 6 : 0) * GROUPS + group];
    SlotShared& own = slots[(lane < BATCH ? lane : 0) * GROUPS + group];
    int carrier = (lane / 6 < BATCH ? lane / 6 : 0) * GROUPS + group;
    int keeper = (lane < BATCH ? lane : 0) * GROUPS + group;
    bool carries = lane < BATCH * 6 && carried.steps > 0;
    bool keeps = lane < BATCH && own.steps > 0;
    PairView load = view_of(bars, windows[pairs[carries ? carrier : 0].window], pairs[carries ? carrier : 0]);
    PairView pair = view_of(bars, windows[pairs[keeps ? keeper : 0].window], pairs[keeps ? keeper : 0]);
    if (carries) {
        ((f64*)&carried.bars[0][t0 & 1])[column] = bar_value(load, t0, column);
        ((f64*)&carried.bars[0][(t0 + 1) & 1])[column] = bar_value(load, t0 + 1, column);
    }
    f64 ahead = bar_value(load, t0 + 2, column);
    __syncwarp();
    if (keeps) account_begin(own.life[0], own.rules, saved[keeper], equity, pair.path, t0);
    __syncwarp();
    int part = lane % N_PORTFOLIO;
    for (int b = lane / N_PORTFOLIO; b < BATCH; b += 32 / N_PORTFOLIO) {
        SlotShared& slot = slots[b * GROUPS + group];
        if (slot.steps > 0) slot.observed[0][part] = env_observed(slot.life[0], slot.bars[0][t0 & 1], part);
    }
    named_arrive(BARRIER_OBSERVED(group), MEET);
    NoTrades sink;
    for (u32 step = 0; step < steps; ++step) {
        u32 t = t0 + step;
        named_sync(BARRIER_FORWARDED(group), MEET);
        Head head;
        head.load(head_packed, lane);
        int action = 0;
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            f32 q[N_ACTION];
            head.apply(slots[b * GROUPS + group].last, head_packed, q, lane);
            int best = mlp_argmax(q);
            action = lane == b ? best : action;
        }
        bool lives = keeps && step < own.steps;
        if (lives) {
            EnvAccount account = own.life[0];
            env_step(own.rules, account, own.bars[0][t & 1], own.bars[0][(t + 1) & 1], pair.first_bar + t,
                     own.level[action], t + 2 == pair.n_bars, sink);
            own.life[0] = account;
        }
        __syncwarp();
        for (int b = lane / N_PORTFOLIO; b < BATCH; b += 32 / N_PORTFOLIO) {
            SlotShared& slot = slots[b * GROUPS + group];
            if (step < slot.steps) {
                slot.observed[0][part] = env_observed(slot.life[0], slot.bars[0][(t + 1) & 1], part);
            }
        }
        if (step + 1 < steps) named_arrive(BARRIER_OBSERVED(group), MEET);
        if (lives) {
            returns[pair.path + t] = own.life[0].last_return;
            equity[pair.path + t + 1] = own.life[0].equity;
#if WRITE_ACTIONS
            actions[pair.path + t] = (u8)action;
#endif
        }
        // Bar t is done with: bar t + 2 takes its place.
        if (carries && step < carried.steps) ((f64*)&carried.bars[0][t & 1])[column] = ahead;
        ahead = bar_value(load, t + 3, column);
        __syncwarp();
    }
    if (keeps) saved[keeper] = own.life[0];
}

#endif
