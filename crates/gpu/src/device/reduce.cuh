// Block-wide reductions and scans of fixed shape: the same input gives the same bits. CPU twin:
// metric::sum::fold_lanes.
// All threads of the block must call. `scratch` is shared memory, free again on return. THREADS is a power of two.
#pragma once

struct AddF64 {
    GB_DEVICE f64 operator()(f64 a, f64 b) const { return a + b; }
};
struct MulF64 {
    GB_DEVICE f64 operator()(f64 a, f64 b) const { return a * b; }
};
struct MinF64 {
    GB_DEVICE f64 operator()(f64 a, f64 b) const { return b < a ? b : a; }
};
struct MaxF64 {
    GB_DEVICE f64 operator()(f64 a, f64 b) const { return b > a ? b : a; }
};
struct MinU64 {
    GB_DEVICE u64 operator()(u64 a, u64 b) const { return b < a ? b : a; }
};

// Folds one value per thread as a binary tree: for stride THREADS/2, …, 1, lane l < stride takes lane l + stride.
// Every thread gets the result. `scratch` [THREADS].
template <int THREADS, typename T, typename Op>
GB_DEVICE T block_reduce(T value, T* scratch, Op op) {
    static_assert((THREADS & (THREADS - 1)) == 0, "a power of two");
    int lane = (int)threadIdx.x;
    scratch[lane] = value;
    __syncthreads();
    for (int stride = THREADS / 2; stride > 0; stride /= 2) {
        if (lane < stride) scratch[lane] = op(scratch[lane], scratch[lane + stride]);
        __syncthreads();
    }
    T result = scratch[0];
    __syncthreads();
    return result;
}

// K such folds at once, for the barriers of one. `scratch` [K, THREADS].
template <int THREADS, int K, typename Op>
GB_DEVICE void block_reduce_all(f64 (&values)[K], f64* scratch, Op op) {
    static_assert((THREADS & (THREADS - 1)) == 0, "a power of two");
    int lane = (int)threadIdx.x;
#pragma unroll
    for (int k = 0; k < K; ++k) scratch[k * THREADS + lane] = values[k];
    __syncthreads();
    for (int stride = THREADS / 2; stride > 0; stride /= 2) {
        if (lane < stride) {
#pragma unroll
            for (int k = 0; k < K; ++k) {
                f64* own = scratch + k * THREADS + lane;
                own[0] = op(own[0], own[stride]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < K; ++k) values[k] = scratch[k * THREADS];
    __syncthreads();
}

// Maximum over the threads before this one; `identity` for thread 0. Exact, so its order does not matter. `scratch`
// [THREADS].
template <int THREADS>
GB_DEVICE f64 block_max_before(f64 value, f64 identity, f64* scratch) {
    int lane = (int)threadIdx.x;
    scratch[lane] = value;
    __syncthreads();
    for (int reach = 1; reach < THREADS; reach *= 2) {
        f64 other = lane >= reach ? scratch[lane - reach] : identity;
        __syncthreads();
        if (other > scratch[lane]) scratch[lane] = other;
        __syncthreads();
    }
    f64 before = lane == 0 ? identity : scratch[lane - 1];
    __syncthreads();
    return before > identity ? before : identity;
}

// Sum of integers over the threads before this one. `scratch` [THREADS].
template <int THREADS>
GB_DEVICE u32 block_count_before(u32 value, u32* scratch) {
    int lane = (int)threadIdx.x;
    scratch[lane] = value;
    __syncthreads();
    for (int reach = 1; reach < THREADS; reach *= 2) {
        u32 other = lane >= reach ? scratch[lane - reach] : 0;
        __syncthreads();
        scratch[lane] += other;
        __syncthreads();
    }
    u32 before = scratch[lane] - value;
    __syncthreads();
    return before;
}
