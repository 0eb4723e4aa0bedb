// Experience of N_ENV environments a learner: observe, live one bar ε-greedily, store what is finished in the ring.
// CPU twin: collector::Collector, equal bit for bit in everything but the device's own logarithm and power.
// Compile with --fmad=false. Arrays begin [K, N_ENV]; an observation is a row of ROW_FLOATS: features, portfolio,
// zeros.
// Deterministic: an environment is one warp's, its place in the ring the same whoever is first; random numbers are
// functions of (seed, environment, step).

// What all transitions that end with one bar share: where they bootstrap.
struct EnvAfter {
    f32 portfolio[N_PORTFOLIO];  // before a reset
    u32 bar;
    u32 done;
    u64 number;  // of the first transition finished with this bar, since the ring was empty
};
static_assert(sizeof(EnvAfter) == 48, "EnvAfter");

struct CollectorView {
    EnvAccount* accounts;
    EnvPlace* places;
    PendingStep* pending;  // [K, N_ENV, N_STEP], oldest first
    EnvTally* tallies;
    u64* action_counts;  // [K, N_ACTION]
    f32* observation;    // [K, N_ENV, ROW_FLOATS]
    EnvAfter* after;
};
static_assert(sizeof(CollectorView) == 56, "CollectorView");

struct NoTrades {
    GB_DEVICE void operator()(const EnvTrade&) const {}
};

// The row of bar `bar`, a warp's work; `portfolio` is shared memory.
GB_DEVICE void write_row(const LearnerParams& p, const f32* features, u32 bar, const f32* portfolio, f32* out) {
    const f32* from = features + p.features + (i64)bar * N_FEATURE;
    for (u32 i = threadIdx.x; i < ROW_FLOATS; i += 32) {
        f32 own = i >= N_FEATURE && i < N_FEATURE + N_PORTFOLIO ? portfolio[i - N_FEATURE] : 0.0f;
        out[i] = i < N_FEATURE ? from[i] : own;
    }
}

// Rows for where the environments stand. One warp an environment; grid: x environments, y learners.
extern "C" __global__ void __launch_bounds__(32)
    collector_observe(const LearnerParams* __restrict__ params, const EnvBar* __restrict__ bars,
                      const f32* __restrict__ features, CollectorView view) {
    __shared__ f32 portfolio[N_PORTFOLIO];
    u64 env = (u64)blockIdx.y * N_ENV + blockIdx.x;
    u32 bar = view.places[env].bar;
    if (threadIdx.x == 0) env_observation(view.accounts[env], bars[bar], portfolio);
    __syncwarp();
    write_row(params[blockIdx.y], features, bar, portfolio, view.observation + env * ROW_FLOATS);
}

GB_DEVICE u32 choose(const LearnerParams& p, EnvPlace& place, u32 e, const f32* q, f64 epsilon) {
    PhiloxWords words = philox_block(p.seed, STREAM_EXPLORE | e, place.steps);
    place.steps += 1;
    return unit_f64(words.v[0], words.v[1]) < epsilon ? index_below(words.v[2], N_ACTION)
                                                      : (u32)argmax<(int)N_ACTION>(q);
}

// A new flat account at a random start; the reward's moving averages live on.
GB_DEVICE void reset(const LearnerParams& p, EnvAccount& account, EnvPlace& place, u32 e) {
    PhiloxWords words = philox_block(p.seed, STREAM_EPISODE | e, place.episodes);
    place.episodes += 1;
    env_new(account, p.rules);
    place.bar = p.first_bar + index_below(words.v[0], p.n_start);
    place.end = place.bar + p.episode_bars;
}

GB_DEVICE void count(EnvTally& tally, f64 reward, const EnvStep& step) {
    bool first = tally.steps == 0;
    tally.reward_sum += reward;
    tally.reward_squares += reward * reward;
    tally.reward_min = first ? reward : env_min(tally.reward_min, reward);
    tally.reward_max = first ? reward : env_max(tally.reward_max, reward);
    tally.return_sum += step.ret;
    tally.return_squares += step.ret * step.ret;
    tally.steps += 1;
    tally.ruins += step.ruined;
}

// One bar of one environment: Env::choose and Env::live but for the transitions themselves. `portfolio` is the
// observation acted on and becomes the next one. Returns the action.
GB_DEVICE u32 live(const LearnerParams& p, const EnvBar* bars, const f64* levels, const f32* q, f64 epsilon, u32 e,
                   EnvAccount& account, EnvPlace& place, PendingStep* pending, EnvTally& tally, EnvAfter& after,
                   f32* portfolio) {
    u32 action = choose(p, place, e, q, epsilon);
    NoTrades trades;
    u32 bar = place.bar;
    EnvBar next = bars[bar + 1];
    EnvStep step = env_step(p.rules, account, bars[bar], next, bar, levels[action], false, trades);
    f64 reward = reward_of(p.reward, place, step);
    PendingStep& own = pending[place.n_pending];
    own.reward = reward;
    own.bar = bar;
    own.action = action;
    for (u32 i = 0; i < N_PORTFOLIO; ++i) own.portfolio[i] = portfolio[i];
    place.n_pending += 1;
    place.bar = bar + 1;
    count(tally, reward, step);
    bool over = step.ruined || place.bar >= place.end;
    place.n_ready = over ? place.n_pending : (place.n_pending >= N_STEP ? place.n_pending - N_STEP + 1 : 0);
    env_observation(account, next, portfolio);
    for (u32 i = 0; i < N_PORTFOLIO; ++i) after.portfolio[i] = portfolio[i];
    after.bar = place.bar;
    after.done = step.ruined;
    if (over) {
        reset(p, account, place, e);
        env_observation(account, bars[place.bar], portfolio);
    }
    return action;
}

// One bar of every environment for the values q [K, N_ENV, N_ACTION] of its row, and the rows of the next decision. One
// warp an environment, of which lane 0 lives; grid: x environments, y learners. Between two calls collector_store must
// run.
extern "C" __global__ void __launch_bounds__(32)
    collector_step(const LearnerParams* __restrict__ params, const LearnerState* __restrict__ states,
                   const EnvBar* __restrict__ bars, const f32* __restrict__ features, const f64* __restrict__ levels,
                   const f32* __restrict__ q, CollectorView view) {
    __shared__ f32 portfolio[N_PORTFOLIO];
    __shared__ u32 next_bar;
    u32 k = blockIdx.y;
    u32 e = blockIdx.x;
    u64 env = (u64)k * N_ENV + e;
    const LearnerParams& p = params[k];
    f32* row = view.observation + env * ROW_FLOATS;
    if (threadIdx.x < N_PORTFOLIO) portfolio[threadIdx.x] = row[N_FEATURE + threadIdx.x];
    __syncwarp();
    if (threadIdx.x == 0) {
        EnvAccount account = view.accounts[env];
        EnvPlace place = view.places[env];
        EnvTally tally = view.tallies[env];
        f64 epsilon = learner_epsilon(p, states[k].env_steps);
        u32 action = live(p, bars, levels + (u64)k * N_ACTION, q + env * N_ACTION, epsilon, e, account, place,
                          view.pending + env * N_STEP, tally, view.after[env], portfolio);
        view.accounts[env] = account;
        view.places[env] = place;
        view.tallies[env] = tally;
        atomicAdd(view.action_counts + (u64)k * N_ACTION + action, 1ull);
        next_bar = place.bar;
    }
    __syncwarp();
    write_row(p, features, next_bar, portfolio, row);
}

// The n-step transition from pending step `i` on, into `slot` of the learner's ring: Env::transition.
GB_DEVICE void write_transition(const LearnerParams& p, const RingView& ring, u64 at, const PendingStep* pending, u32 i,
                                u32 n_pending, const EnvAfter& after) {
    f64 sum = 0.0;
    f64 discount = 1.0;
    for (u32 j = i; j < n_pending; ++j) {
        sum += discount * pending[j].reward;
        discount *= p.gamma;
    }
    ring.bar[at] = pending[i].bar;
    ring.action[at] = pending[i].action;
    ring.reward[at] = (f32)(sum * p.reward_scale);
    ring.discount[at] = (f32)discount;
    ring.done[at] = after.done;
    ring.next_bar[at] = after.bar;
    for (u32 j = 0; j < N_PORTFOLIO; ++j) {
        ring.portfolio[at * N_PORTFOLIO + j] = pending[i].portfolio[j];
        ring.next_portfolio[at * N_PORTFOLIO + j] = after.portfolio[j];
    }
}

// Numbers the transitions that the bar finished, environment after environment and oldest first, as the CPU writes
// them; gives their slots the largest priority seen; then the learner's counts. One block a learner, a thread an
// environment, in turns.
extern "C" __global__ void __launch_bounds__(STORE_THREADS)
    collector_count(LearnerState* states, CollectorView view, ReplayView replay) {
    __shared__ u32 scratch[STORE_THREADS];
    __shared__ u32 shared_ready;
    u32 k = blockIdx.x;
    LearnerState& state = states[k];
    u64 written = state.written;
    f64 max_priority = state.max_priority;
    u64 total = 0;
    for (u32 turn = 0; turn < N_ENV; turn += STORE_THREADS) {
        u32 e = turn + threadIdx.x;
        u64 env = (u64)k * N_ENV + e;
        u32 ready = e < N_ENV ? view.places[env].n_ready : 0;
        u32 before = block_count_before<STORE_THREADS>(ready, scratch);
        if (threadIdx.x == STORE_THREADS - 1) shared_ready = before + ready;
        if (e < N_ENV) view.after[env].number = written + total + before;
        __syncthreads();
        total += shared_ready;
        __syncthreads();
    }
    if (total > 0) {
        u64 kept = total < CAPACITY ? total : CAPACITY;
        u64 slot = (written + total - kept) % CAPACITY;
        replay_insert_block<STORE_THREADS>(replay_own(replay, k), slot, kept, max_priority);
    }
    if (threadIdx.x == 0) {
        state.written = written + total;
        state.env_steps += N_ENV;
    }
}

// Writes the transitions that collector_count has numbered, and drops them. Of more than the ring holds the last ones
// stay. A thread an environment; grid: x environments, y learners.
extern "C" __global__ void collector_store(const LearnerParams* __restrict__ params,
                                           const LearnerState* __restrict__ states, CollectorView view, RingView ring) {
    u32 k = blockIdx.y;
    u32 e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= N_ENV) return;
    u64 env = (u64)k * N_ENV + e;
    EnvPlace& place = view.places[env];
    PendingStep* pending = view.pending + env * N_STEP;
    const EnvAfter& after = view.after[env];
    u64 end = states[k].written;
    u32 n_pending = place.n_pending;
    u32 n_ready = place.n_ready;
    for (u32 i = 0; i < n_ready; ++i) {
        u64 number = after.number + i;
        if (number + CAPACITY < end) continue;
        write_transition(params[k], ring, (u64)k * CAPACITY + number % CAPACITY, pending, i, n_pending, after);
    }
    for (u32 i = n_ready; i < n_pending; ++i) pending[i - n_ready] = pending[i];
    place.n_pending = n_pending - n_ready;
    place.n_ready = 0;
}
