// Block-wide reductions of fixed shape: the same input gives the same bits. CPU twin: metric::sum::fold_lanes.
// All threads of the block must call. `scratch` is shared memory of THREADS elements, free again on return.
#pragma once

struct AddF64 {
    GB_DEVICE f64 operator()(f64 a, f64 b) const { return a + b; }
};
struct MinF64 {
    GB_DEVICE f64 operator()(f64 a, f64 b) const { return b < a ? b : a; }
};
struct MaxF64 {
    GB_DEVICE f64 operator()(f64 a, f64 b) const { return b > a ? b : a; }
};

// Folds one value per thread as a binary tree: for stride THREADS/2, …, 1, lane l < stride takes lane l + stride.
// Every thread gets the result. THREADS is a power of two.
template <int THREADS, typename Op>
GB_DEVICE f64 block_reduce(f64 value, f64* scratch, Op op) {
    static_assert((THREADS & (THREADS - 1)) == 0, "a power of two");
    int lane = (int)threadIdx.x;
    scratch[lane] = value;
    __syncthreads();
    for (int stride = THREADS / 2; stride > 0; stride /= 2) {
        if (lane < stride) scratch[lane] = op(scratch[lane], scratch[lane + stride]);
        __syncthreads();
    }
    f64 result = scratch[0];
    __syncthreads();
    return result;
}

// Maximum over the threads before this one; `identity` for thread 0. Exact, so its order does not matter.
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
