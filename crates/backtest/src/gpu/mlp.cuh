// Layers of a multilayer perceptron whose weights stay in registers and shared memory for a whole launch. f32, explicit
// fmaf. CPU twin: learn's PlainNet; equal up to the order of the sums.
// One layer is computed by COMPUTE_THREADS = 256 threads, 8 warps. Widths are padded to multiples of 64.
#pragma once

#define COMPUTE_THREADS 256

GB_DEVICE f32 mlp_activate(f32 x) {
#if ACTIVATION == ACTIVATION_RELU
    return x > 0.0f ? x : 0.0f;
#elif ACTIVATION == ACTIVATION_TANH
    return tanhf(x);
#else
    return x / (1.0f + expf(-x));
#endif
}

// A host build brings its own: host_kernel.h runs these kernels without a GPU.
#if defined(__CUDACC__)
GB_DEVICE void named_sync(int barrier, int n_threads) {
    __syncwarp();  // the instruction wants its warp together
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(n_threads) : "memory");
}

GB_DEVICE void named_arrive(int barrier, int n_threads) {
    __syncwarp();
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(n_threads) : "memory");
}
#endif

// y = activation(W·x + b), W [OUT, IN]. Each warp owns OUT/8 outputs, as two half-warps of RO = OUT/16 outputs each;
// the 16 lanes of a half-warp split the inputs: input k = (c·16 + lane)·4 + e is the lane's number i = 4c + e of RI =
// IN/16. A value loaded thus serves RO products, and 16 partial sums meet by shuffles in a fixed butterfly.
// Weights of HELD of a lane's inputs live in registers, the rest in shared memory as [i, RO/4, thread] float4; the two
// kinds alternate, so that shared memory delivers while registers multiply.
template <int IN, int OUT, int HELD>
struct Dense {
    static constexpr int RO = OUT / 16;
    static constexpr int RI = IN / 16;
    static constexpr int QUADS = RO / 4;
    static constexpr int SHARED_FLOATS = (RI - HELD) * RO * COMPUTE_THREADS;
    static constexpr int PER_LANE = RO > 16 ? RO / 16 : 1;  // outputs a lane ends up with
    static constexpr int COPIES = RO > 16 ? 1 : 16 / RO;    // lanes that end up with the same output
    // Of the first i inputs of a lane, how many are not held; input i is not where this grows.
    GB_DEVICE static constexpr int shared_before(int i) { return i * (RI - HELD) / RI; }
    GB_DEVICE static constexpr bool is_shared(int i) { return shared_before(i + 1) > shared_before(i); }
    static_assert(IN % 64 == 0 && OUT % 64 == 0 && (OUT & (OUT - 1)) == 0 && HELD <= RI, "padded widths");

    f32 held[HELD > 0 ? HELD * RO : 1];
    f32 bias[PER_LANE];

    GB_DEVICE static int first_output(int thread) { return thread / 16 * RO + thread % 16 / COPIES * PER_LANE; }

    // `packed` is [RI, RO/4, thread] float4, then the biases [OUT].
    GB_DEVICE void load(const f32* packed, f32* shared, int thread) {
        const float4* weights = (const float4*)packed;
#pragma unroll
        for (int i = 0; i < RI; ++i) {
#pragma unroll
            for (int q = 0; q < QUADS; ++q) {
                float4 w = weights[(i * QUADS + q) * COMPUTE_THREADS + thread];
                if (is_shared(i)) {
                    ((float4*)shared)[(shared_before(i) * QUADS + q) * COMPUTE_THREADS + thread] = w;
                } else {
                    int at = (i - shared_before(i)) * RO + q * 4;
                    held[at] = w.x;
                    held[at + 1] = w.y;
                    held[at + 2] = w.z;
                    held[at + 3] = w.w;
                }
            }
        }
#pragma unroll
        for (int p = 0; p < PER_LANE; ++p) bias[p] = packed[IN * OUT + first_output(thread) + p];
    }

    // x [BATCH, x_stride] and y [BATCH, y_stride] lie in shared memory; a weight is read once for the whole batch. The
    // caller synchronises.
    template <int BATCH>
    GB_DEVICE void apply(const f32* x, int x_stride, const f32* shared, f32* y, int y_stride, int thread) const {
        int slice = thread % 16;
        f32 sum[BATCH][RO];
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
#pragma unroll
            for (int r = 0; r < RO; ++r) sum[b][r] = 0.0f;
        }
#pragma unroll
        for (int c = 0; c < RI / 4; ++c) {
            f32 value[BATCH][4];
#pragma unroll
            for (int b = 0; b < BATCH; ++b) {
                float4 v = ((const float4*)(x + b * x_stride))[c * 16 + slice];
                value[b][0] = v.x;
                value[b][1] = v.y;
                value[b][2] = v.z;
                value[b][3] = v.w;
            }
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                int i = c * 4 + e;
#pragma unroll
                for (int q = 0; q < QUADS; ++q) {
                    f32 weight[4];
                    if (is_shared(i)) {
                        float4 w = ((const float4*)shared)[(shared_before(i) * QUADS + q) * COMPUTE_THREADS + thread];
                        weight[0] = w.x;
                        weight[1] = w.y;
                        weight[2] = w.z;
                        weight[3] = w.w;
                    } else {
#pragma unroll
                        for (int k = 0; k < 4; ++k) weight[k] = held[(i - shared_before(i)) * RO + q * 4 + k];
                    }
#pragma unroll
                    for (int b = 0; b < BATCH; ++b) {
#pragma unroll
                        for (int k = 0; k < 4; ++k) {
                            sum[b][q * 4 + k] = fmaf(weight[k], value[b][e], sum[b][q * 4 + k]);
                        }
                    }
                }
            }
        }
#pragma unroll
        for (int b = 0; b < BATCH; ++b) {
            fold(sum[b], slice);
            if (slice % COPIES == 0) {
#pragma unroll
                for (int p = 0; p < PER_LANE; ++p) {
                    y[b * y_stride + first_output(thread) + p] = mlp_activate(sum[b][p] + bias[p]);
                }
            }
        }
    }

   private:
    // Adds over the 16 lanes of a half-warp: halve the outputs while there is more than one, then add the copies.
    GB_DEVICE static void fold(f32* sum, int slice) {
        int n = RO;
#pragma unroll
        for (int reach = 8; reach > 0; reach /= 2) {
            if (n > 1) {
                n /= 2;
                bool upper = (slice & reach) != 0;
#pragma unroll
                for (int r = 0; r < RO / 2; ++r) {
                    if (r < n) {
                        f32 give = upper ? sum[r] : sum[r + n];
                        f32 keep = upper ? sum[r + n] : sum[r];
                        sum[r] = keep + __shfl_xor_sync(0xffffffffu, give, reach);
                    }
                }
            } else {
                sum[0] += __shfl_xor_sync(0xffffffffu, sum[0], reach);
            }
        }
    }
};

// The head, by one warp: lane l holds the weights of inputs (i·32 + l)·2 + {0, 1}.
struct Head {
    static constexpr int PAIRS = LAST / 64;
    f32 weight[N_HEAD][2 * PAIRS];

    // `packed` is [N_HEAD, LAST], then the biases [N_HEAD].
    GB_DEVICE void load(const f32* packed, int lane) {
#pragma unroll
        for (int o = 0; o < N_HEAD; ++o) {
#pragma unroll
            for (int i = 0; i < PAIRS; ++i) {
                float2 w = ((const float2*)packed)[o * (LAST / 2) + i * 32 + lane];
                weight[o][2 * i] = w.x;
                weight[o][2 * i + 1] = w.y;
            }
        }
    }

    // Q of every action, the same bits in every lane. With a dueling head output 0 is the value.
    GB_DEVICE void apply(const f32* x, const f32* packed, f32* q, int lane) const {
        f32 out[N_HEAD];
#pragma unroll
        for (int o = 0; o < N_HEAD; ++o) out[o] = 0.0f;
#pragma unroll
        for (int i = 0; i < PAIRS; ++i) {
            float2 v = ((const float2*)x)[i * 32 + lane];
#pragma unroll
            for (int o = 0; o < N_HEAD; ++o) {
                out[o] = fmaf(weight[o][2 * i], v.x, out[o]);
                out[o] = fmaf(weight[o][2 * i + 1], v.y, out[o]);
            }
        }
#pragma unroll
        for (int reach = 16; reach > 0; reach /= 2) {
#pragma unroll
            for (int o = 0; o < N_HEAD; ++o) out[o] += __shfl_xor_sync(0xffffffffu, out[o], reach);
        }
#pragma unroll
        for (int o = 0; o < N_HEAD; ++o) out[o] += packed[N_HEAD * LAST + o];
#if DUELING
        f32 total = 0.0f;
#pragma unroll
        for (int a = 0; a < N_ACTION; ++a) total += out[a + 1];
        f32 centre = out[0] - total / (f32)N_ACTION;
#pragma unroll
        for (int a = 0; a < N_ACTION; ++a) q[a] = out[a + 1] + centre;
#else
#pragma unroll
        for (int a = 0; a < N_ACTION; ++a) q[a] = out[a];
#endif
    }
};
