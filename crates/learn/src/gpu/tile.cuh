// The product of two matrices, one tile of it a block: C[m, n] = sum over k of A(m, k)·B(k, n). f32, explicit fmaf.
//
// Operands are rows of `stride` floats (a multiple of 4, zero beyond their width), read in one of two ways:
//   along the sum   row m (or n) holds its k side by side     x of a forward product, W of a forward product
//   across the sum  row k holds its m (or n) side by side     everything in products that sum over rows or outputs
// A block is PARTS groups of (TM/4)·(TN/4) threads; a thread makes 4 × 4 of the tile. Group g takes the g-th,
// (g + PARTS)-th, … run of 16 k; the groups' sums are added in the order of g. So a sum's order depends on TM, TN and
// PARTS alone. Two buffers in shared memory: while one is multiplied, the next run is on its way in registers.
#pragma once

#define TILE_K 16
#define PAD 4  // floats between the rows of a buffer: neighbouring k lie in other banks

template <int TM, int TN, int PARTS>
struct Tile {
    static constexpr int GROUP = TM / 4 * (TN / 4);
    static constexpr int THREADS = GROUP * PARTS;
    static constexpr int ROW_A = TM + PAD;
    static constexpr int ROW_B = TN + PAD;
    static constexpr int BUFFER = TILE_K * (ROW_A + ROW_B);
    static constexpr int SHARED_FLOATS = 2 * PARTS * BUFFER > PARTS * TM * TN ? 2 * PARTS * BUFFER : PARTS * TM * TN;
    static constexpr int QUADS_A = TM * TILE_K / 4 / GROUP;  // float4 a thread fetches of A for one run
    static constexpr int QUADS_B = TN * TILE_K / 4 / GROUP;
};

// One operand: `rows` rows of `width` valid floats.
struct Operand {
    const f32* at;
    i64 stride;
    int rows;
    int width;
};

GB_DEVICE float4 tile_fetch(const Operand& x, int row, int column) {
    if (row < x.rows && column < x.width) return *(const float4*)(x.at + row * x.stride + column);
    return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

// Fetches the share of thread `t` of a run: ALONG: rows first.., floats k0..; else rows k0.., floats first...
template <int TILE, bool ALONG, int QUADS, int GROUP>
GB_DEVICE void tile_load(const Operand& x, int first, int k0, int t, float4* held) {
#pragma unroll
    for (int i = 0; i < QUADS; ++i) {
        int at = i * GROUP + t;
        if (ALONG) held[i] = tile_fetch(x, first + at / (TILE_K / 4), k0 + at % (TILE_K / 4) * 4);
        else held[i] = tile_fetch(x, k0 + at / (TILE / 4), first + at % (TILE / 4) * 4);
    }
}

template <int TILE, bool ALONG, int QUADS, int GROUP>
GB_DEVICE void tile_store(f32* buffer, int t, const float4* held) {
    constexpr int ROW = TILE + PAD;
#pragma unroll
    for (int i = 0; i < QUADS; ++i) {
        int at = i * GROUP + t;
        if (ALONG) {
            f32* column = buffer + at % (TILE_K / 4) * 4 * ROW + at / (TILE_K / 4);
            column[0] = held[i].x;
            column[ROW] = held[i].y;
            column[2 * ROW] = held[i].z;
            column[3 * ROW] = held[i].w;
        } else {
            *(float4*)(buffer + at / (TILE / 4) * ROW + at % (TILE / 4) * 4) = held[i];
        }
    }
}

// Adds the tile's products of this thread's group to sum[4][4] (rows m, columns n of the thread); with `columns` also the sum over
// k of A(m, k) to column[4].
template <int TM, int TN, int PARTS, bool ALONG_A, bool ALONG_B>
GB_DEVICE void tile_products(const Operand& a, const Operand& b, int m0, int n0, int n_k, f32* shared, f32 (&sum)[4][4],
                             bool columns, f32 (&column)[4]) {
    using T = Tile<TM, TN, PARTS>;
    int group = (int)threadIdx.x / T::GROUP;
    int t = (int)threadIdx.x % T::GROUP;
    int tm = t / (TN / 4) * 4;
    int tn = t % (TN / 4) * 4;
    f32* own = shared + group * 2 * T::BUFFER;
    int n_run = (n_k + TILE_K - 1) / TILE_K;
    int n_turn = (n_run + PARTS - 1) / PARTS;
    float4 next_a[T::QUADS_A], next_b[T::QUADS_B];
    tile_load<TM, ALONG_A, T::QUADS_A, T::GROUP>(a, m0, group * TILE_K, t, next_a);
    tile_load<TN, ALONG_B, T::QUADS_B, T::GROUP>(b, n0, group * TILE_K, t, next_b);
    for (int turn = 0; turn < n_turn; ++turn) {
        f32* buffer_a = own + turn % 2 * T::BUFFER;
        f32* buffer_b = buffer_a + TILE_K * T::ROW_A;
        tile_store<TM, ALONG_A, T::QUADS_A, T::GROUP>(buffer_a, t, next_a);
        tile_store<TN, ALONG_B, T::QUADS_B, T::GROUP>(buffer_b, t, next_b);
        __syncthreads();
        if (turn + 1 < n_turn) {
            int k0 = ((turn + 1) * PARTS + group) * TILE_K;
            tile_load<TM, ALONG_A, T::QUADS_A, T::GROUP>(a, m0, k0, t, next_a);
            tile_load<TN, ALONG_B, T::QUADS_B, T::GROUP>(b, n0, k0, t, next_b);
        }
#pragma unroll
        for (int k = 0; k < TILE_K; ++k) {
            float4 va = *(const float4*)(buffer_a + k * T::ROW_A + tm);
            float4 vb = *(const float4*)(buffer_b + k * T::ROW_B + tn);
            f32 am[4] = {va.x, va.y, va.z, va.w};
            f32 bn[4] = {vb.x, vb.y, vb.z, vb.w};
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(am[i], bn[j], sum[i][j]);
            }
            if (columns) {
#pragma unroll
                for (int i = 0; i < 4; ++i) column[i] += am[i];
            }
        }
    }
    __syncthreads();
}

// Adds up the groups' sums in the order of the groups; thread t < GROUP ends with the total, the others have nothing to do.
template <int TM, int TN, int PARTS, int N>
GB_DEVICE bool tile_join(f32* shared, f32 (&sum)[N]) {
    using T = Tile<TM, TN, PARTS>;
    if (PARTS == 1) return true;
    int group = (int)threadIdx.x / T::GROUP;
    int t = (int)threadIdx.x % T::GROUP;
    if (group > 0) {
#pragma unroll
        for (int i = 0; i < N; ++i) shared[(i * (PARTS - 1) + group - 1) * T::GROUP + t] = sum[i];
    }
    __syncthreads();
    if (group == 0) {
        for (int g = 0; g + 1 < PARTS; ++g) {
#pragma unroll
            for (int i = 0; i < N; ++i) sum[i] += shared[(i * (PARTS - 1) + g) * T::GROUP + t];
        }
    }
    __syncthreads();
    return group == 0;
}
