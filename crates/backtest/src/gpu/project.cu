// Layer 1 on the features, for all bars of a launch at once: whatever does not depend on the account.
// projected[p, t − t0, j] = bias[j] + Σ_f features[row(p) + t, f]·weight[f, j], f32, fmaf in order of f.
// features [n_rows, N_FEATURE]; weight [n_policy, N_FEATURE, H1]; bias [n_policy, H1]; projected [n_pair, chunk, H1].
// Grid (bars/128, H1/TILE_OUT, pairs); 256 threads, each 8 bars × OUT_EACH outputs. CPU twin: learn's PlainNet, first
// layer.

#define TILE_BARS 128
#define TILE_OUT (H1 % 128 == 0 ? 128 : 64)
#define TILE_K 16
#define OUT_EACH (TILE_OUT / 16)

// Thread (tx, ty) makes bars ty·8 … and outputs tx·4 … + 3 of each 64.
extern "C" __global__ void __launch_bounds__(256)
    project_features(const f32* __restrict__ features, const EnvWindow* __restrict__ windows,
                     const RolloutPair* __restrict__ pairs, const f32* __restrict__ weight,
                     const f32* __restrict__ bias, f32* __restrict__ projected, u32 chunk, u32 t0, u32 n_steps,
                     u32 first_pair) {
    alignas(16) __shared__ f32 a[TILE_K][TILE_BARS + 4];
    alignas(16) __shared__ f32 b[TILE_K][TILE_OUT];
    u32 index = first_pair + blockIdx.z;
    RolloutPair pair = pairs[index];
    EnvWindow window = windows[pair.window];
    u32 steps = steps_from(window.n_bars, t0, n_steps);
    u32 bar0 = blockIdx.x * TILE_BARS;
    if (bar0 >= steps) return;
    int out0 = (int)blockIdx.y * TILE_OUT;
    int thread = (int)threadIdx.x;
    int tx = thread % 16;
    int ty = thread / 16;
    const f32* x = features + (window.row + t0) * N_FEATURE;
    const f32* w = weight + (i64)pair.policy * N_FEATURE * H1;
    f32 sum[8][OUT_EACH];
#pragma unroll
    for (int j = 0; j < OUT_EACH; ++j) {
        f32 start = bias[(i64)pair.policy * H1 + out0 + j / 4 * 64 + tx * 4 + j % 4];
#pragma unroll
        for (int i = 0; i < 8; ++i) sum[i][j] = start;
    }
    for (int k0 = 0; k0 < N_FEATURE; k0 += TILE_K) {
#pragma unroll
        for (int i = 0; i < TILE_BARS * TILE_K / 256; ++i) {
            int at = i * 256 + thread;
            int k = at % TILE_K;
            int bar = at / TILE_K;
            bool inside = bar0 + bar < steps && k0 + k < N_FEATURE;
            a[k][bar] = inside ? x[(i64)(bar0 + bar) * N_FEATURE + k0 + k] : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < TILE_OUT * TILE_K / 256; ++i) {
            int at = i * 256 + thread;
            int out = at % TILE_OUT;
            int k = at / TILE_OUT;
            b[k][out] = k0 + k < N_FEATURE ? w[(i64)(k0 + k) * H1 + out0 + out] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE_K; ++k) {
            float4 low = *(const float4*)&a[k][ty * 8];
            float4 high = *(const float4*)&a[k][ty * 8 + 4];
            f32 left[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
            for (int j = 0; j < OUT_EACH; j += 4) {
                float4 right = *(const float4*)&b[k][j / 4 * 64 + tx * 4];
#pragma unroll
                for (int i = 0; i < 8; ++i) {
                    sum[i][j] = fmaf(left[i], right.x, sum[i][j]);
                    sum[i][j + 1] = fmaf(left[i], right.y, sum[i][j + 1]);
                    sum[i][j + 2] = fmaf(left[i], right.z, sum[i][j + 2]);
                    sum[i][j + 3] = fmaf(left[i], right.w, sum[i][j + 3]);
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        u32 bar = bar0 + ty * 8 + i;
        if (bar < steps) {
            f32* row = &projected[((i64)index * chunk + bar) * H1 + out0 + tx * 4];
#pragma unroll
            for (int j = 0; j < OUT_EACH; j += 4) {
                *(float4*)(row + j / 4 * 64) = make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
            }
        }
    }
}
