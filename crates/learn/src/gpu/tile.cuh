// The product of two matrices, one tile of it a block: C[m, n] = sum over k of A(m, k)·B(k, n). f32, explicit fmaf.
//
// Operands are rows of `stride` floats (a multiple of 4, zero beyond their width), read in one of two ways:
//   along the sum   row m (or n) holds its k side by side     x of a forward product, W of a forward product
//   across the sum  row k holds its m (or n) side by side     everything in products that sum over rows or outputs
// The tile has TILE_M rows and TILE_N columns. A thread makes PER_M × PER_N of them, 4 or 8 each: an 8 is two fours
// half a tile apart, so that neighbours read neighbouring banks. A block is SPLIT groups of threads that share the sum:
// group g takes the g-th, (g + SPLIT)-th, … run of TILE_K k; then the upper half of the groups is added to the lower
// half, until one is left. So a sum's order depends on the shape alone. Two buffers in shared memory: while one is
// multiplied, the next run is on its way.
#pragma once

#define PAD 4  // floats between the rows of a buffer: neighbouring k lie in other banks

struct Tile {
    static constexpr int COLUMNS = TILE_N / PER_N;  // threads side by side
    static constexpr int GROUP = TILE_M / PER_M * COLUMNS;
    static constexpr int THREADS = GROUP * SPLIT;
    static constexpr int ROW_A = TILE_M + PAD;
    static constexpr int ROW_B = TILE_N + PAD;
    static constexpr int BUFFER = TILE_K * (ROW_A + ROW_B);
    static constexpr int JOIN = SPLIT / 2 * TILE_M * TILE_N;
    static constexpr int SHARED_FLOATS = 2 * SPLIT * BUFFER > JOIN ? 2 * SPLIT * BUFFER : JOIN;
    static constexpr int QUADS_A = TILE_M * TILE_K / 4 / GROUP;  // float4 a thread fetches of A for one run
    static constexpr int QUADS_B = TILE_N * TILE_K / 4 / GROUP;
    static_assert(QUADS_A * GROUP * 4 == TILE_M * TILE_K && QUADS_B * GROUP * 4 == TILE_N * TILE_K,
                  "whole float4s a thread");
    static_assert((SPLIT & (SPLIT - 1)) == 0 && SHARED_FLOATS <= 12288, "groups halve; 48 KiB");
};

using TileSum = f32[PER_M][PER_N];

// One operand: `rows` rows of `width` valid floats.
struct Operand {
    const f32* at;
    i64 stride;
    int rows;
    int width;
};

GB_DEVICE int tile_thread() { return (int)threadIdx.x % Tile::GROUP; }

// Row of the tile that is row i of thread t, and the first of its column quad j.
GB_DEVICE int tile_row(int t, int i) { return i / 4 * (TILE_M / 2) + t / Tile::COLUMNS * 4 + i % 4; }
GB_DEVICE int tile_column(int t, int j) { return j * (TILE_N / 2) + t % Tile::COLUMNS * 4; }

GB_DEVICE float4 tile_quad(const TileSum& sum, int i, int j) {
    return make_float4(sum[i][4 * j], sum[i][4 * j + 1], sum[i][4 * j + 2], sum[i][4 * j + 3]);
}

GB_DEVICE float4 tile_fetch(const Operand& x, int row, int column) {
    if (row < x.rows && column < x.width) return *(const float4*)(x.at + row * x.stride + column);
    return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

// Fetches the share of thread `t` of a run: ALONG: rows first.., floats k0..; else rows k0.., floats first...
template <int EDGE, bool ALONG, int QUADS>
GB_DEVICE void tile_load(const Operand& x, int first, int k0, int t, float4* held) {
#pragma unroll
    for (int i = 0; i < QUADS; ++i) {
        int at = i * Tile::GROUP + t;
        if (ALONG) held[i] = tile_fetch(x, first + at / (TILE_K / 4), k0 + at % (TILE_K / 4) * 4);
        else held[i] = tile_fetch(x, k0 + at / (EDGE / 4), first + at % (EDGE / 4) * 4);
    }
}

template <int EDGE, bool ALONG, int QUADS>
GB_DEVICE void tile_store(f32* buffer, int t, const float4* held) {
    constexpr int ROW = EDGE + PAD;
#pragma unroll
    for (int i = 0; i < QUADS; ++i) {
        int at = i * Tile::GROUP + t;
        if (ALONG) {
            f32* column = buffer + at % (TILE_K / 4) * 4 * ROW + at / (TILE_K / 4);
            column[0] = held[i].x;
            column[ROW] = held[i].y;
            column[2 * ROW] = held[i].z;
            column[3 * ROW] = held[i].w;
        } else {
            *(float4*)(buffer + at / (EDGE / 4) * ROW + at % (EDGE / 4) * 4) = held[i];
        }
    }
}

// N floats of a buffer's row: fours half a tile apart.
template <int EDGE, int N>
GB_DEVICE void tile_read(const f32* row, f32 (&out)[N]) {
#pragma unroll
    for (int j = 0; j < N / 4; ++j) {
        float4 v = *(const float4*)(row + j * (EDGE / 2));
        out[4 * j] = v.x;
        out[4 * j + 1] = v.y;
        out[4 * j + 2] = v.z;
        out[4 * j + 3] = v.w;
    }
}

// Adds the tile's products of this thread's group to `sum`; with `columns` also the sum over k of A(m, k) to `column`.
template <bool ALONG_A, bool ALONG_B>
GB_DEVICE void tile_products(const Operand& a, const Operand& b, int m0, int n0, int n_k, f32* shared, TileSum& sum,
                             bool columns, f32 (&column)[PER_M]) {
    int group = (int)threadIdx.x / Tile::GROUP;
    int t = tile_thread();
    f32* own = shared + group * 2 * Tile::BUFFER;
    int n_run = (n_k + TILE_K - 1) / TILE_K;
    int n_turn = (n_run + SPLIT - 1) / SPLIT;
    float4 next_a[Tile::QUADS_A], next_b[Tile::QUADS_B];
    tile_load<TILE_M, ALONG_A, Tile::QUADS_A>(a, m0, group * TILE_K, t, next_a);
    tile_load<TILE_N, ALONG_B, Tile::QUADS_B>(b, n0, group * TILE_K, t, next_b);
    for (int turn = 0; turn < n_turn; ++turn) {
        f32* buffer_a = own + turn % 2 * Tile::BUFFER;
        f32* buffer_b = buffer_a + TILE_K * Tile::ROW_A;
        tile_store<TILE_M, ALONG_A, Tile::QUADS_A>(buffer_a, t, next_a);
        tile_store<TILE_N, ALONG_B, Tile::QUADS_B>(buffer_b, t, next_b);
        __syncthreads();
        if (turn + 1 < n_turn) {
            int k0 = ((turn + 1) * SPLIT + group) * TILE_K;
            tile_load<TILE_M, ALONG_A, Tile::QUADS_A>(a, m0, k0, t, next_a);
            tile_load<TILE_N, ALONG_B, Tile::QUADS_B>(b, n0, k0, t, next_b);
        }
#pragma unroll
        for (int k = 0; k < TILE_K; ++k) {
            f32 am[PER_M], bn[PER_N];
            tile_read<TILE_M>(buffer_a + k * Tile::ROW_A + t / Tile::COLUMNS * 4, am);
            tile_read<TILE_N>(buffer_b + k * Tile::ROW_B + t % Tile::COLUMNS * 4, bn);
#pragma unroll
            for (int i = 0; i < PER_M; ++i) {
#pragma unroll
                for (int j = 0; j < PER_N; ++j) sum[i][j] = fmaf(am[i], bn[j], sum[i][j]);
            }
            if (columns) {
#pragma unroll
                for (int i = 0; i < PER_M; ++i) column[i] += am[i];
            }
        }
    }
    __syncthreads();
}

// Adds up the groups' sums; true in the group that ends with the total, the others have nothing to do.
template <int N>
GB_DEVICE bool tile_join(f32* shared, f32 (&sum)[N]) {
    int group = (int)threadIdx.x / Tile::GROUP;
    int t = tile_thread();
#pragma unroll
    for (int half = SPLIT / 2; half > 0; half /= 2) {
        if (group >= half && group < 2 * half) {
#pragma unroll
            for (int i = 0; i < N; ++i) shared[(i * half + group - half) * Tile::GROUP + t] = sum[i];
        }
        __syncthreads();
        if (group < half) {
#pragma unroll
            for (int i = 0; i < N; ++i) sum[i] += shared[(i * half + group) * Tile::GROUP + t];
        }
        __syncthreads();
    }
    return group == 0;
}
