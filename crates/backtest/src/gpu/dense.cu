// One hidden layer but the first, of all models over all their rows: y = activation(W·x + b). f32, explicit fmaf.
// x [n_model, n_row, DENSE_IN]; weight [n_model, DENSE_OUT, DENSE_IN]; bias [n_model, DENSE_OUT]; out [n_model, n_row,
// DENSE_OUT].
// The last hidden layer (EMITS_HEAD) writes its share of the head instead: out [n_model, n_row, N_HEAD, LAST/4], each
// element head[o]·y over four neighbouring units. head [n_model, N_HEAD, LAST].
// A block makes TILE_OUTS outputs of TILE_ROWS rows: every weight and every input it needs is loaded once, by one
// thread, because the threads split the inputs. Thread q takes the inputs 4q to 4q + 3 and every 4·DENSE_THREADS
// further; the partial sums meet in a fixed butterfly over the lanes, then warp after warp. So a sum depends on the
// widths alone, not on the tile or on how many rows and models there are.
// Grid (DENSE_OUT/TILE_OUTS, rows/TILE_ROWS, n_model). CPU twin: learn's PlainNet, up to the order of the sums.

#define TILE (TILE_OUTS * TILE_ROWS)
#define WARPS (DENSE_THREADS / 32)
#define OUT_QUADS (TILE_OUTS / 4)

// Sums N values over the 32 lanes of a warp: while a lane has more than one, it gives half of them away, then copies
// add up. Lane l ends with the values from l·N/32 on.
template <int N>
GB_DEVICE void fold_warp(f32* value, int lane) {
    int n = N;
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) {
        if (n > 1) {
            n /= 2;
            bool upper = (lane & reach) != 0;
#pragma unroll
            for (int i = 0; i < N / 2; ++i) {
                if (i < n) {
                    f32 give = upper ? value[i] : value[i + n];
                    f32 keep = upper ? value[i + n] : value[i];
                    value[i] = keep + __shfl_xor_sync(0xffffffffu, give, reach);
                }
            }
        } else {
            value[0] += __shfl_xor_sync(0xffffffffu, value[0], reach);
        }
    }
}

// Two blocks of 256 threads, or as many of fewer, share a multiprocessor: that bounds the registers to 128.
extern "C" __global__ void __launch_bounds__(DENSE_THREADS, 512 / DENSE_THREADS)
    dense_forward(const f32* __restrict__ x, const f32* __restrict__ weight, const f32* __restrict__ bias,
                  const f32* __restrict__ head, f32* __restrict__ out, u32 n_row) {
    __shared__ f32 part[WARPS][TILE];
    alignas(16) __shared__ f32 tile[TILE];  // [TILE_ROWS, TILE_OUTS]
    int thread = (int)threadIdx.x;
    int lane = thread % 32;
    int out0 = (int)blockIdx.x * TILE_OUTS;
    u32 row0 = blockIdx.y * TILE_ROWS;
    i64 model = blockIdx.z;
    const float4* w = (const float4*)(weight + (model * DENSE_OUT + out0) * DENSE_IN);
    const float4* in = (const float4*)(x + model * n_row * DENSE_IN);
    f32 sum[TILE];
#pragma unroll
    for (int i = 0; i < TILE; ++i) sum[i] = 0.0f;
    for (int quad = thread; quad < DENSE_IN / 4; quad += DENSE_THREADS) {
        float4 own[TILE_OUTS];
#pragma unroll
        for (int o = 0; o < TILE_OUTS; ++o) own[o] = w[o * (DENSE_IN / 4) + quad];
#pragma unroll
        for (int r = 0; r < TILE_ROWS; ++r) {
            // Rows beyond the last repeat it; nobody stores them.
            u32 row = row0 + r < n_row ? row0 + r : n_row - 1;
            float4 v = in[(i64)row * (DENSE_IN / 4) + quad];
#pragma unroll
            for (int o = 0; o < TILE_OUTS; ++o) sum[r * TILE_OUTS + o] = fma4(own[o], v, sum[r * TILE_OUTS + o]);
        }
    }
    fold_warp<TILE>(sum, lane);
    if (TILE >= 32 || lane % (32 / (TILE < 32 ? TILE : 32)) == 0) {
#pragma unroll
        for (int i = 0; i < (TILE > 32 ? TILE / 32 : 1); ++i) part[thread / 32][lane * TILE / 32 + i] = sum[i];
    }
    __syncthreads();
    for (int at = thread; at < TILE; at += DENSE_THREADS) {
        f32 total = 0.0f;
#pragma unroll
        for (int i = 0; i < WARPS; ++i) total += part[i][at];
        int o = out0 + at % TILE_OUTS;
        u32 row = row0 + at / TILE_OUTS;
        f32 y = mlp_activate(total + bias[model * DENSE_OUT + o]);
#if EMITS_HEAD
        tile[at] = y;
#else
        if (row < n_row) out[(model * n_row + row) * DENSE_OUT + o] = y;
#endif
    }
#if EMITS_HEAD
    __syncthreads();
    const float4* own_head = (const float4*)(head + model * N_HEAD * LAST + out0);
    for (int at = thread; at < N_HEAD * OUT_QUADS; at += DENSE_THREADS) {
        int quad = at % OUT_QUADS;
        int o = at / OUT_QUADS;
        float4 h = own_head[o * (LAST / 4) + quad];
#pragma unroll
        for (int r = 0; r < TILE_ROWS; ++r) {
            if (row0 + r < n_row) {
                float4 y = ((const float4*)tile)[r * OUT_QUADS + quad];
                out[((model * n_row + row0 + r) * N_HEAD + o) * (LAST / 4) + out0 / 4 + quad] = fma4(h, y, 0.0f);
            }
        }
    }
#endif
}
