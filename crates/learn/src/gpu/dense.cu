// One hidden layer of all learners over all their rows: forward, and back to the layer before. tile.cuh.
//   dense_forward   y = f(W·x + b)            [rows, IN] → [rows, OUT]
//   dense_backward  dx = (W'·dy)·f'(x)        [rows, OUT] → [rows, IN], x the activations of the layer before
// Rows come in segments of n_row: a segment is one pass of one network. The last of several uses the target network,
// the others the online one. Grid (tiles of rows, tiles of outputs or inputs, K·n_segment), block Tile::THREADS.
// Deterministic: every element is summed by one thread, or by SPLIT of them in fixed order. CPU twin: net::ops::Dense.

#if ACTIVATION == ACTIVATION_SILU
#define KEEPS_SUM 1  // its derivative asks for what went in
#else
#define KEEPS_SUM 0
#endif

// x [K, n_in_segment, n_row, IN_STRIDE]: the first segment reads the first, segment s reads segment min(s, n_in_segment
// − 1).
// online, target [K, PARAMS]. y [K, n_segment, n_row, OUT_STRIDE]. z [K, n_row, OUT_STRIDE]: before f, of segment 0.
extern "C" __global__ void __launch_bounds__(Tile::THREADS)
    dense_forward(const f32* __restrict__ x, const f32* __restrict__ online, const f32* __restrict__ target,
                  f32* __restrict__ y, f32* __restrict__ z, u32 n_row, u32 n_segment, u32 n_in_segment) {
    alignas(16) __shared__ f32 shared[Tile::SHARED_FLOATS];
    i64 learner = blockIdx.z / n_segment;
    u32 segment = blockIdx.z % n_segment;
    u32 from = segment < n_in_segment ? segment : n_in_segment - 1;
    bool bootstraps = n_segment > 1 && segment + 1 == n_segment;
    const f32* params = (bootstraps ? target : online) + learner * PARAMS;
    int m0 = (int)blockIdx.x * TILE_M;
    int n0 = (int)blockIdx.y * TILE_N;
    Operand rows{x + (learner * n_in_segment + from) * n_row * IN_STRIDE, IN_STRIDE, (int)n_row, IN_STRIDE};
    Operand weight{params + WEIGHT, IN_STRIDE, OUT, IN_STRIDE};
    TileSum sum = {};
    f32 unused[PER_M];
    tile_products<true, true>(rows, weight, m0, n0, IN, shared, sum, false, unused);
    if (!tile_join(shared, *(f32(*)[PER_M * PER_N])&sum)) return;
    int t = tile_thread();
#pragma unroll
    for (int j = 0; j < PER_N / 4; ++j) {
        int n = n0 + tile_column(t, j);
        if (n >= OUT_STRIDE) break;
        float4 bias = *(const float4*)(params + BIAS + n);
#pragma unroll
        for (int i = 0; i < PER_M; ++i) {
            int m = m0 + tile_row(t, i);
            if (m >= (int)n_row) break;
            float4 in = tile_quad(sum, i, j);
            in = make_float4(in.x + bias.x, in.y + bias.y, in.z + bias.z, in.w + bias.w);
            float4 out = make_float4(net_activate(in.x), net_activate(in.y), net_activate(in.z), net_activate(in.w));
            *(float4*)(y + ((learner * n_segment + segment) * n_row + m) * OUT_STRIDE + n) = out;
            if (KEEPS_SUM && segment == 0 && z != nullptr) *(float4*)(z + (learner * n_row + m) * OUT_STRIDE + n) = in;
        }
    }
}

// dy [K, n_row, OUT_STRIDE]. x [K, n_segment, n_row, IN_STRIDE], segment 0 of it; z [K, n_row, IN_STRIDE]: x before f.
// dx [K, n_row, IN_STRIDE].
extern "C" __global__ void __launch_bounds__(Tile::THREADS)
    dense_backward(const f32* __restrict__ dy, const f32* __restrict__ online, const f32* __restrict__ x,
                   const f32* __restrict__ z, f32* __restrict__ dx, u32 n_row, u32 n_segment) {
    alignas(16) __shared__ f32 shared[Tile::SHARED_FLOATS];
    i64 learner = blockIdx.z;
    int m0 = (int)blockIdx.x * TILE_M;
    int n0 = (int)blockIdx.y * TILE_N;
    Operand rows{dy + learner * n_row * OUT_STRIDE, OUT_STRIDE, (int)n_row, OUT_STRIDE};
    Operand weight{online + learner * PARAMS + WEIGHT, IN_STRIDE, OUT, IN_STRIDE};
    TileSum sum = {};
    f32 unused[PER_M];
    tile_products<true, false>(rows, weight, m0, n0, OUT, shared, sum, false, unused);
    if (!tile_join(shared, *(f32(*)[PER_M * PER_N])&sum)) return;
    int t = tile_thread();
#pragma unroll
    for (int j = 0; j < PER_N / 4; ++j) {
        int n = n0 + tile_column(t, j);
        if (n >= IN_STRIDE) break;
#pragma unroll
        for (int i = 0; i < PER_M; ++i) {
            int m = m0 + tile_row(t, i);
            if (m >= (int)n_row) break;
            float4 d = tile_quad(sum, i, j);
            float4 y = *(const float4*)(x + (learner * n_segment * n_row + m) * IN_STRIDE + n);
            float4 in = y;
            if (KEEPS_SUM) in = *(const float4*)(z + (learner * n_row + m) * IN_STRIDE + n);
            float4 out = make_float4(d.x * net_derivative(in.x, y.x), d.y * net_derivative(in.y, y.y),
                                     d.z * net_derivative(in.z, y.z), d.w * net_derivative(in.w, y.w));
            *(float4*)(dx + (learner * n_row + m) * IN_STRIDE + n) = out;
        }
    }
}
