// What a gradient step does besides products: the loss, the guard's verdict, Adam, the target network.
// In the order of dqn::Trainer::learn, its CPU twin. f32 where the CPU has f32, f64 where it has f64.
// Deterministic: sums of fixed order (fold.cuh). All launches have K in the last dimension of the grid.

#define LOSS_WARPS 8
#define UPDATE_THREADS 256

// Q of the rows h [K, n_row, LAST_STRIDE] → q [K, n_row, N_ACTION]. A warp a row.
extern "C" __global__ void learner_q(const f32* __restrict__ online, const f32* __restrict__ h, f32* __restrict__ out,
                                     u32 n_row) {
    u32 row = blockIdx.x * LOSS_WARPS + threadIdx.x / 32;
    i64 learner = blockIdx.y;
    int lane = (int)threadIdx.x % 32;
    if (row >= n_row) return;
    f32 q[N_ACTION];
    net_q(online + learner * PARAMS, h + (learner * n_row + row) * LAST_STRIDE, q, lane);
    if (lane == 0) {
        for (int a = 0; a < N_ACTION; ++a) out[(learner * n_row + row) * N_ACTION + a] = q[a];
    }
}

// The largest of the batch's raw importance weights, by every warp for itself.
GB_DEVICE f64 largest_weight(const f64* raw, int lane) {
    f64 top = 0.0;
    for (int i = lane; i < BATCH; i += 32) top = raw[i] > top ? raw[i] : top;
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) {
        f64 other = __shfl_xor_sync(0xffffffffu, top, reach);
        top = other > top ? other : top;
    }
    return top;
}

// y = R + gamma^n·Q(s'), nothing after a termination: of the target network's value of the action the online network
// prefers (DOUBLE), or of its own best.
GB_DEVICE f32 bootstrap_target(const f32* target_q, const f32* chooser, f32 reward, f32 discount, bool done) {
    int best = argmax<N_ACTION>(chooser);
    f32 value = target_q[0];
#pragma unroll
    for (int a = 1; a < N_ACTION; ++a) value = a == best ? target_q[a] : value;
    f32 later = discount * value;
    return reward + (done ? 0.0f : later);
}

// dL/dh of the last hidden layer, by the lanes: g is dL/dQ at the action taken.
GB_DEVICE void head_backward(const f32* params, const f32* h, const f32* z, const f32 (&dhead)[N_HEAD], f32* dh,
                             int lane) {
    for (int i = lane; i < LAST_STRIDE / 4; i += 32) {
        float4 y = ((const float4*)h)[i];
        float4 in = y;
#if ACTIVATION == ACTIVATION_SILU
        in = ((const float4*)z)[i];
#endif
        float4 d = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
        for (int o = 0; o < N_HEAD; ++o) {
            float4 w = ((const float4*)(params + HEAD_WEIGHT + o * LAST_STRIDE))[i];
            d = make_float4(fmaf(dhead[o], w.x, d.x), fmaf(dhead[o], w.y, d.y), fmaf(dhead[o], w.z, d.z),
                            fmaf(dhead[o], w.w, d.w));
        }
        ((float4*)dh)[i] = make_float4(d.x * net_derivative(in.x, y.x), d.y * net_derivative(in.y, y.y),
                                       d.z * net_derivative(in.z, y.z), d.w * net_derivative(in.w, y.w));
    }
}

// A warp a row of the minibatch. h [K, H_SEGMENTS, BATCH, LAST_STRIDE]: of s by the online network, of s' by the online
// one where DOUBLE, of s' by the target network (segments 0, NEXT_SEGMENT, TARGET_SEGMENT). z: before f, of segment 0.
// slots, raw [K, BATCH].
// Out: td [K, BATCH]; dhead [K, BATCH, HEAD_STRIDE]; dh [K, BATCH, LAST_STRIDE]; rows [K, BATCH].
extern "C" __global__ void __launch_bounds__(32 * LOSS_WARPS)
    learner_loss(const LearnerParams* __restrict__ settings, const f32* __restrict__ online,
                 const f32* __restrict__ target, const f32* __restrict__ h, const f32* __restrict__ z,
                 const u32* __restrict__ slots, const f64* __restrict__ raw, RingView ring, f32* __restrict__ td_out,
                 f32* __restrict__ dhead_out, f32* __restrict__ dh, LossRow* __restrict__ rows) {
    int row = (int)(blockIdx.x * LOSS_WARPS + threadIdx.x / 32);
    i64 learner = blockIdx.y;
    int lane = (int)threadIdx.x % 32;
    if (row >= BATCH) return;
    const LearnerParams& p = settings[learner];
    i64 at = learner * BATCH + row;
    i64 slot = learner * (i64)ring.capacity + slots[at];
    const f32* own = online + learner * PARAMS;
    const f32* h_row = h + (learner * H_SEGMENTS * BATCH + row) * LAST_STRIDE;
    f32 reward = ring.reward[slot];
    f32 discount = ring.discount[slot];
    bool done = ring.done[slot] != 0;
    int action = (int)ring.action[slot];
    f32 weight = (f32)(raw[at] / largest_weight(raw + learner * BATCH, lane));

    f32 next_q[N_ACTION];
    net_q(target + learner * PARAMS, h_row + TARGET_SEGMENT * BATCH * LAST_STRIDE, next_q, lane);
#if DOUBLE
    f32 chooser[N_ACTION];
    net_q(own, h_row + NEXT_SEGMENT * BATCH * LAST_STRIDE, chooser, lane);
    f32 y = bootstrap_target(next_q, chooser, reward, discount, done);
#else
    f32 y = bootstrap_target(next_q, next_q, reward, discount, done);
#endif
    f32 q[N_ACTION];
    net_q(own, h_row, q, lane);
    f32 value = q[0];
#pragma unroll
    for (int a = 1; a < N_ACTION; ++a) value = a == action ? q[a] : value;

    // L = mean of w·Huber(td); dL/dQ = w·clamp(td, ±kappa)/batch at the action taken.
    f32 kappa = (f32)p.huber_delta;
    f32 td = value - y;
    f32 slope = td < -kappa ? -kappa : (td > kappa ? kappa : td);
    f32 g = weight * slope / (f32)BATCH;
    f32 dhead[N_HEAD];
#if DUELING
    dhead[0] = g;
#pragma unroll
    for (int a = 0; a < N_ACTION; ++a) dhead[1 + a] = (a == action ? g : 0.0f) - g / (f32)N_ACTION;
#else
#pragma unroll
    for (int a = 0; a < N_ACTION; ++a) dhead[a] = a == action ? g : 0.0f;
#endif
#if N_HIDDEN > 0
    head_backward(own, h_row, z + at * LAST_STRIDE, dhead, dh + at * LAST_STRIDE, lane);
#endif
    if (lane != 0) return;
    td_out[at] = fabsf(td);
    LossRow out{(f64)(weight * slope * (td - 0.5f * slope) / (f32)BATCH), 0.0, 0.0, q[0], q[0]};
#pragma unroll
    for (int o = 0; o < N_HEAD; ++o) dhead_out[at * HEAD_STRIDE + o] = dhead[o];
#pragma unroll
    for (int a = 0; a < N_ACTION; ++a) {
        out.q_sum += (f64)q[a];
        out.q_squares += (f64)q[a] * (f64)q[a];
        out.q_min = q[a] < out.q_min || q[a] != q[a] ? q[a] : out.q_min;
        out.q_max = q[a] > out.q_max || q[a] != q[a] ? q[a] : out.q_max;
    }
    rows[at] = out;
}

// Loss, norm and verdict of the step; the same in every block.
GB_DEVICE StepResult judge(const LearnerParams& p, const LearnerState& state, const LossRow* rows,
                           const f64* square_sum, u32 n_tile, f64* scratch) {
    f64 loss = 0.0, squares = 0.0, largest = 0.0;
    for (u32 i = threadIdx.x; i < BATCH; i += UPDATE_THREADS) {
        loss += rows[i].loss;
        f64 low = fabs((f64)rows[i].q_min), high = fabs((f64)rows[i].q_max);
        largest = low > largest || low != low ? low : largest;
        largest = high > largest || high != high ? high : largest;
    }
    for (u32 i = threadIdx.x; i < n_tile; i += UPDATE_THREADS) squares += square_sum[i];
    loss = block_sum<UPDATE_THREADS>(loss, scratch);
    f64 norm = sqrt(block_sum<UPDATE_THREADS>(squares, scratch));
    largest = block_largest<UPDATE_THREADS>(largest, scratch);
    return StepResult{loss, norm, (f32)largest, guard_verdict(p, state, loss, norm, largest)};
}

// Clip by global norm, Adam (Kingma & Ba 2015; decoupled decay: Loshchilov & Hutter 2019), target network, unless the
// guard says no. A thread takes four parameters. optim.rs states the same.
extern "C" __global__ void __launch_bounds__(UPDATE_THREADS)
    learner_update(const LearnerParams* __restrict__ settings, const LearnerState* __restrict__ states,
                   const LossRow* __restrict__ rows, const f64* __restrict__ square_sum, u32 n_tile,
                   const f32* __restrict__ gradient, f32* __restrict__ online, f32* __restrict__ target,
                   f32* __restrict__ first, f32* __restrict__ second, StepResult* __restrict__ results) {
    __shared__ f64 scratch[UPDATE_THREADS / 32];
    __shared__ f32 bias[2];
    i64 learner = blockIdx.y;
    const LearnerParams& p = settings[learner];
    const LearnerState& state = states[learner];
    f64 rate = learner_rate(p, state.env_steps);
    // Powers take long: one thread raises each, while the others read.
    if (threadIdx.x % 32 == 0 && threadIdx.x < 64) {
        f64 t = (f64)(state.adam_steps + 1);
        f64 left = 1.0 - pow(threadIdx.x == 0 ? ADAM_BETA1 : ADAM_BETA2, t);
        bias[threadIdx.x / 32] = threadIdx.x == 0 ? (f32)(rate / left) : (f32)sqrt(left);
    }
    StepResult step = judge(p, state, rows + learner * BATCH, square_sum + learner * n_tile, n_tile, scratch);
    if (blockIdx.x == 0 && threadIdx.x == 0) results[learner] = step;
    i64 quad = (i64)blockIdx.x * UPDATE_THREADS + threadIdx.x;
    if (step.verdict != 0 || quad >= PARAMS / 4) return;

    bool clips = p.max_grad_norm > 0.0 && step.grad_norm > p.max_grad_norm;
    f32 scale = clips ? (f32)(p.max_grad_norm / step.grad_norm) : 1.0f;
    f32 b1 = (f32)ADAM_BETA1, b2 = (f32)ADAM_BETA2, eps = (f32)p.adam_eps;
    f32 keep = (f32)(1.0 - rate * p.weight_decay);
    f32 tau = (f32)p.tau;
    bool soft = p.target_period == 0;
    bool copies = !soft && (state.grad_steps + 1) % p.target_period == 0;
    i64 at = learner * PARAMS + quad * 4;
    float4 g4 = *(const float4*)(gradient + at);
    float4 w4 = *(float4*)(online + at), t4 = *(float4*)(target + at);
    float4 m4 = *(float4*)(first + at), v4 = *(float4*)(second + at);
    f32 *g = &g4.x, *w = &w4.x, *o = &t4.x, *m = &m4.x, *v = &v4.x;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        f32 d = clips ? g[i] * scale : g[i];
        m[i] = b1 * m[i] + (1.0f - b1) * d;
        v[i] = b2 * v[i] + (1.0f - b2) * (d * d);
        w[i] = w[i] * keep - bias[0] * m[i] / (sqrtf(v[i]) / bias[1] + eps);
        o[i] = soft ? o[i] + tau * (w[i] - o[i]) : (copies ? w[i] : o[i]);
    }
    *(float4*)(online + at) = w4;
    *(float4*)(target + at) = t4;
    *(float4*)(first + at) = m4;
    *(float4*)(second + at) = v4;
}
