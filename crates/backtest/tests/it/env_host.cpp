// env.cuh behind a C interface, for the lockstep test. Compiled after prelude.cuh and env.cuh.
struct Bounded {
    EnvTrade* out;
    u32 capacity;
    u32 n;
    void operator()(const EnvTrade& trade) {
        if (n < capacity) out[n] = trade;
        n += 1;
    }
};

extern "C" void host_env_new(EnvAccount* account, const EnvRules* rules) { env_new(*account, *rules); }

extern "C" void host_env_observation(const EnvAccount* account, const EnvBar* now, f32* out) {
    env_observation(*account, *now, out);
}

extern "C" void host_env_observation_fast(const EnvAccount* account, const EnvBar* now, f32* out) {
    env_observation_fast(*account, *now, out);
}

// Returns the number of trades that closed.
extern "C" u32 host_env_step(const EnvRules* rules, EnvAccount* account, const EnvBar* bars, u32 t, f64 level, u32 last,
                             EnvTrade* trades, u32 capacity, EnvStep* step) {
    Bounded sink{trades, capacity, 0};
    *step = env_step(*rules, *account, bars[t], bars[t + 1], t, level, last != 0, sink);
    return sink.n;
}
