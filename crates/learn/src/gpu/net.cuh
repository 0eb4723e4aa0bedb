// Activations and the head of the Q-network. f32, explicit fmaf. CPU twin: net::QNet, up to the order of the sums.
//
// A learner's parameters lie in one row of PARAMS floats: for every hidden layer W [n_out, n_in padded to 4] and b
// [n_out padded to 4], then the head W [N_HEAD, LAST_STRIDE] (with DUELING value first, then advantages) and its b.
// Offsets come from net.rs.
#pragma once

GB_DEVICE f32 net_activate(f32 x) {
#if ACTIVATION == ACTIVATION_RELU
    return x > 0.0f ? x : 0.0f;
#elif ACTIVATION == ACTIVATION_TANH
    return tanhf(x);
#else
    return x / (1.0f + expf(-x));
#endif
}

// f'(x), given x and y = f(x); only SiLU asks for x.
GB_DEVICE f32 net_derivative(f32 x, f32 y) {
#if ACTIVATION == ACTIVATION_RELU
    return y > 0.0f ? 1.0f : 0.0f;
#elif ACTIVATION == ACTIVATION_TANH
    return 1.0f - y * y;
#else
    f32 sigmoid = 1.0f / (1.0f + expf(-x));
    return sigmoid * (1.0f - y) + y;
#endif
}

#if defined(N_HEAD)

// Q of one row, by one warp: every lane gets all of q. `h` [LAST_STRIDE]: what the last hidden layer put out.
GB_DEVICE void net_q(const f32* params, const f32* h, f32* q, int lane) {
    f32 head[N_HEAD];
#pragma unroll
    for (int o = 0; o < N_HEAD; ++o) head[o] = 0.0f;
    for (int i = lane; i < LAST_STRIDE / 4; i += 32) {
        float4 x = ((const float4*)h)[i];
#pragma unroll
        for (int o = 0; o < N_HEAD; ++o) {
            float4 w = ((const float4*)(params + HEAD_WEIGHT + o * LAST_STRIDE))[i];
            head[o] = fmaf(w.w, x.w, fmaf(w.z, x.z, fmaf(w.y, x.y, fmaf(w.x, x.x, head[o]))));
        }
    }
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) {
#pragma unroll
        for (int o = 0; o < N_HEAD; ++o) head[o] += __shfl_xor_sync(0xffffffffu, head[o], reach);
    }
#pragma unroll
    for (int o = 0; o < N_HEAD; ++o) head[o] += params[HEAD_BIAS + o];
#if DUELING
    f32 mean = 0.0f;
#pragma unroll
    for (int a = 0; a < N_ACTION; ++a) mean += head[1 + a];
    f32 centre = head[0] - mean / (f32)N_ACTION;
#pragma unroll
    for (int a = 0; a < N_ACTION; ++a) q[a] = head[1 + a] + centre;
#else
#pragma unroll
    for (int a = 0; a < N_ACTION; ++a) q[a] = head[a];
#endif
}

#endif
