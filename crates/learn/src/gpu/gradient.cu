// The gradient of every parameter of all learners: dW = dy'·x, db = column sums of dy, one launch for all layers.
// tile.cuh.
// Grid (tiles of all jobs together, K), block Tile::THREADS. A block makes one tile of one layer's dW; the tiles in a
// layer's first column of tiles add up db on the way. Also each tile's sum of squares, for the global norm.
// Deterministic: sums over rows in the fixed order of tile.cuh. CPU twin: net::ops::Dense::bwd.

// One layer. Rows of learner k begin at dy + k·dy_learner and x + k·x_learner.
struct GradientJob {
    const f32* dy;  // [n_row, out_stride]
    const f32* x;   // [n_row, in_stride]
    i64 dy_learner;
    i64 x_learner;
    i32 n_out, out_stride;
    i32 in_stride;
    i32 weight, bias;  // offsets of its parameters
    i32 first_tile;    // of this layer
    i32 tiles_n;       // columns of tiles
    i32 unused;
};
static_assert(sizeof(GradientJob) == 64, "GradientJob");

GB_DEVICE f64 squares(float4 v) {
    return (f64)v.x * (f64)v.x + (f64)v.y * (f64)v.y + ((f64)v.z * (f64)v.z + (f64)v.w * (f64)v.w);
}

// jobs [n_job]. gradient [K, PARAMS]. square_sum [K, tiles]: of each tile.
extern "C" __global__ void __launch_bounds__(Tile::THREADS)
    gradient_sum(const GradientJob* __restrict__ jobs, u32 n_job, u32 n_row, f32* __restrict__ gradient,
                 f64* __restrict__ square_sum) {
    alignas(16) __shared__ f32 shared[Tile::SHARED_FLOATS];
    int tile = (int)blockIdx.x;
    i64 learner = blockIdx.y;
    u32 own = 0;
    while (own + 1 < n_job && jobs[own + 1].first_tile <= tile) own += 1;
    GradientJob job = jobs[own];
    tile -= job.first_tile;
    int m0 = tile / job.tiles_n * TILE_M;
    int n0 = tile % job.tiles_n * TILE_N;
    Operand dy{job.dy + learner * job.dy_learner, job.out_stride, (int)n_row, job.out_stride};
    Operand x{job.x + learner * job.x_learner, job.in_stride, (int)n_row, job.in_stride};
    bool first_column = n0 == 0;
    TileSum sum = {};
    f32 column[PER_M] = {};
    tile_products<false, false>(dy, x, m0, n0, (int)n_row, shared, sum, first_column, column);
    bool owns = tile_join(shared, *(f32(*)[PER_M * PER_N])&sum);
    if (first_column) tile_join(shared, column);
    f64 square = 0.0;
    if (owns) {
        f32* out = gradient + learner * PARAMS;
        int t = tile_thread();
#pragma unroll
        for (int i = 0; i < PER_M; ++i) {
            int m = m0 + tile_row(t, i);
            if (m >= job.n_out) continue;
#pragma unroll
            for (int j = 0; j < PER_N / 4; ++j) {
                int n = n0 + tile_column(t, j);
                if (n >= job.in_stride) continue;
                float4 v = tile_quad(sum, i, j);
                *(float4*)(out + job.weight + (i64)m * job.in_stride + n) = v;
                square += squares(v);
            }
            if (first_column && tile_column(t, 0) == 0) {
                out[job.bias + m] = column[i];
                square += (f64)column[i] * (f64)column[i];
            }
        }
    }
    // The threads that own nothing add zeros.
    square = block_sum<Tile::THREADS>(square, (f64*)shared);
    if (threadIdx.x == 0) square_sum[learner * gridDim.x + blockIdx.x] = square;
}
