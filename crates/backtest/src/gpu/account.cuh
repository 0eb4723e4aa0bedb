// Accounts kept by warps beside the network of their block; two ways, by how many pairs the block has.
//
//   LIVES 1: one pair. While the network runs, the account already lives through the next bar with every action, each
//            life in a warp where no other costs it time; once the action is known, its life and its observation are
//            there.
//   LIVES 0: SLOTS pairs in ACCOUNT_WARPS groups of BATCH. A warp keeps its group's accounts while the network serves
//            the other groups.
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
    EnvRules rules;
    f64 close, sigma;             // of the bar observed, unless LIVES
    f64 level[N_ACTION];
    i32 action;
    u32 steps;  // decisions of this launch
};

struct NoTrades {
    GB_DEVICE void operator()(const EnvTrade&) {}
};

// One set of rules for all windows lies in the kernel's parameters, where reading costs nothing. (An account's first
// cash comes from the copy in shared memory all the same: see sweep_walk.)
#if ONE_RULES
#define RULES_OF(slot) one
#else
#define RULES_OF(slot) ((slot).rules)
#endif

// What a pair reads and where it writes.
struct PairView {
    const EnvBar* bars;  // of the window
    u32 last_bar;
    u32 first_bar;
    i64 path;
    // Bar t, the last one again beyond the end.
    GB_DEVICE EnvBar bar(u32 t) const { return bars[t < last_bar ? t : last_bar]; }
};

// `zero` is 0 in every lane, but not as far as the compiler knows (BlockShared): what is the same in all lanes it keeps
// in uniform registers, and waits for memory to fill those.
GB_DEVICE PairView view_of(const EnvBar* bars, const EnvWindow& window, const RolloutPair& pair, int zero) {
    return PairView{bars + window.row + zero, window.n_bars - 1, window.first_bar, pair.path};
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

// The four account warps of a block with one pair. Warp w takes the w-th, (w + 4)-th, … action counted from the one
// held, which costs least because nothing is ordered: it shares its warp.
GB_DEVICE void account_warps(SlotShared& slot, const EnvRules& one, const f32* head_packed, const PairView& pair,
                             EnvAccount* saved, f64* equity, f64* returns, u8* actions, u32 t0, int warp, int lane) {
    EnvBar now = pair.bar(t0);
    EnvBar next = pair.bar(t0 + 1);
    int action = 0;
    if (warp == 0) {
        if (lane == 0) {
            account_begin(slot.life[0], slot.rules, *saved, equity, pair.path, t0);
            for (int k = 1; k < N_LIFE; ++k) slot.life[k] = slot.life[0];
            slot.action = 0;
        }
        __syncwarp();
        if (lane < N_PORTFOLIO) slot.observed[0][lane] = env_observed(slot.life[0], now.close, now.sigma, lane);
    }
    named_sync(BARRIER_ACCOUNTS, 32 * ACCOUNT_WARPS);
    named_arrive(BARRIER_OBSERVED(0), MEET);
    NoTrades sink;
    // A lane has the level of the action of its number: handed over while shared memory looks up the account.
    f64 level_of_lane = slot.level[lane < N_ACTION ? lane : 0];
    u32 steps = slot.steps;
    for (u32 step = 0; step < steps; ++step) {
        u32 t = t0 + step;
        // Asked for here and used a step later.
        EnvBar ahead = pair.bar(t + 2);
        int before = (int)(step & 1) * N_ACTION;
        int after = N_ACTION - before;
        int turn = warp + ACCOUNT_WARPS * lane;
        int life = action + turn < N_ACTION ? action + turn : action + turn - N_ACTION;
        f64 level = __shfl_sync(0xffffffffu, level_of_lane, turn < N_ACTION ? life : 0);
        if (turn < N_ACTION) {
            EnvAccount account;
            env_copy(account, slot.life[before + action]);
            env_step(RULES_OF(slot), account, now, next, pair.first_bar + t, level, t + 1 == pair.last_bar, sink);
            env_copy(slot.life[after + life], account);
            slot.life[after + life].last_return = account.last_return;
        }
        __syncwarp();
#pragma unroll
        for (int part = 0; part < LIVES_PER_WARP * N_PORTFOLIO; part += 32) {
            int turn = warp + ACCOUNT_WARPS * ((part + lane) / N_PORTFOLIO);
            int life = action + turn < N_ACTION ? action + turn : action + turn - N_ACTION;
            int row = after + (turn < N_ACTION ? life : action);
            f32 observed = env_observed(slot.life[row], next.close, next.sigma, lane % N_PORTFOLIO);
            if (turn < N_ACTION) slot.observed[row][lane % N_PORTFOLIO] = observed;
        }
        now = next;
        next = ahead;
        Head head;
        head.load(head_packed, lane);
        named_sync(BARRIER_FORWARDED(0), MEET);
        f32 q[N_ACTION];
        head.apply(slot.last, head_packed, q, lane);
        action = argmax<N_ACTION>(q);
        if (warp == 0 && lane == 0) slot.action = action;
        if (step + 1 < steps) named_arrive(BARRIER_OBSERVED(0), MEET);
        if (warp == 0 && lane == 0) {
            const EnvAccount& taken = slot.life[after + action];
            returns[pair.path + t] = taken.last_return;
            equity[pair.path + t + 1] = taken.equity;
#if WRITE_ACTIONS
            actions[pair.path + t] = (u8)action;
#endif
        }
    }
    if (warp == 0 && lane == 0) *saved = slot.life[(int)(steps & 1) * N_ACTION + action];
}

#else

// One account warp: the accounts of group `group`. Lane b < BATCH lives with slot b·GROUPS + group.
GB_DEVICE void account_warp(SlotShared* slots, int group, const EnvRules& one, const f32* head_packed,
                            const EnvBar* bars, const EnvWindow* windows, const RolloutPair* pairs, EnvAccount* saved,
                            f64* equity, f64* returns, u8* actions, u32 t0, u32 steps, int lane, int zero) {
    int keeper = (lane < BATCH ? lane : 0) * GROUPS + group;
    SlotShared& own = slots[keeper];
    bool keeps = lane < BATCH && own.steps > 0;
    const RolloutPair& kept = pairs[keeps ? keeper : 0];
    PairView pair = view_of(bars, windows[kept.window], kept, zero);
    EnvBar now = pair.bar(t0);
    EnvBar next = pair.bar(t0 + 1);
    if (keeps) {
        account_begin(own.life[0], own.rules, saved[keeper], equity, pair.path, t0);
        own.close = now.close;
        own.sigma = now.sigma;
    }
    int part = lane % N_PORTFOLIO;
    NoTrades sink;
    for (u32 step = 0;; ++step) {
        u32 t = t0 + step;
        __syncwarp();
        for (int b = lane / N_PORTFOLIO; b < BATCH; b += 32 / N_PORTFOLIO) {
            SlotShared& slot = slots[b * GROUPS + group];
            if (step <= slot.steps && slot.steps > 0)
                slot.observed[0][part] = env_observed(slot.life[0], slot.close, slot.sigma, part);
        }
        if (step == steps) break;
        named_arrive(BARRIER_OBSERVED(group), MEET);
        EnvBar ahead = pair.bar(t + 2);
        Head head;
        head.load(head_packed, lane);
        named_sync(BARRIER_FORWARDED(group), MEET);
        int action = 0;
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            f32 q[N_ACTION];
            head.apply(slots[b * GROUPS + group].last, head_packed, q, lane);
            int best = argmax<N_ACTION>(q);
            action = lane == b ? best : action;
        }
        if (keeps && step < own.steps) {
            f64 level = own.level[action];
            EnvAccount account;
            env_copy(account, own.life[0]);
            env_step(RULES_OF(own), account, now, next, pair.first_bar + t, level, t + 1 == pair.last_bar, sink);
            env_copy(own.life[0], account);
            own.life[0].last_return = account.last_return;
            own.close = next.close;
            own.sigma = next.sigma;
            returns[pair.path + t] = account.last_return;
            equity[pair.path + t + 1] = account.equity;
#if WRITE_ACTIONS
            actions[pair.path + t] = (u8)action;
#endif
        }
        now = next;
        next = ahead;
    }
    if (keeps) saved[keeper] = own.life[0];
}

#endif
