// Sums of all threads of a block in a fixed tree: lanes by a butterfly, then warp after warp. Every thread gets the
// result.
#pragma once

GB_DEVICE f64 warp_sum(f64 x) {
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) x += __shfl_xor_sync(0xffffffffu, x, reach);
    return x;
}

// `scratch` [THREADS / 32], free again on return.
template <int THREADS>
GB_DEVICE f64 block_sum(f64 x, f64* scratch) {
    x = warp_sum(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
    __syncthreads();
    f64 total = 0.0;
#pragma unroll
    for (int warp = 0; warp < THREADS / 32; ++warp) total += scratch[warp];
    __syncthreads();
    return total;
}

// Exact, so the order is of no matter.
template <int THREADS>
GB_DEVICE f64 block_largest(f64 x, f64* scratch) {
#pragma unroll
    for (int reach = 16; reach > 0; reach /= 2) {
        f64 other = __shfl_xor_sync(0xffffffffu, x, reach);
        x = other > x || other != other ? other : x;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
    __syncthreads();
    f64 top = scratch[0];
#pragma unroll
    for (int warp = 1; warp < THREADS / 32; ++warp)
        top = scratch[warp] > top || scratch[warp] != scratch[warp] ? scratch[warp] : top;
    __syncthreads();
    return top;
}
