// CUDA's execution model on one host thread, for tests: every thread of a block is a fiber that runs until it must wait.
// Barriers count as the hardware's do; a round in which no fiber gets on is a deadlock and ends the block with an error.
#include <setjmp.h>
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#define __global__
#define __shared__ static
#define __restrict__
#define __grid_constant__
#define __launch_bounds__(...)
#define __grid_constant__

struct HostDim {
    unsigned x, y, z;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
static inline float4 make_float4(float x, float y, float z, float w) { return float4{x, y, z, w}; }
static inline double __longlong_as_double(long long bits) {
    double value;
    std::memcpy(&value, &bits, 8);
    return value;
}

static inline long long __double_as_longlong(double value) {
    long long bits;
    std::memcpy(&bits, &value, 8);
    return bits;
}
// Fibers change hands at barriers only.
static inline unsigned atomicAdd(unsigned* address, unsigned value) {
    unsigned before = *address;
    *address += value;
    return before;
}
static inline unsigned long long atomicAdd(unsigned long long* address, unsigned long long value) {
    unsigned long long before = *address;
    *address += value;
    return before;
}
static inline unsigned long long atomicMax(unsigned long long* address, unsigned long long value) {
    unsigned long long before = *address;
    if (value > before) *address = value;
    return before;
}
static inline unsigned __float_as_uint(float value) {
    unsigned bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}
static inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
static inline double __hiloint2double(int high, int low) {
    return __longlong_as_double((long long)(((unsigned long long)(unsigned)high << 32) | (unsigned)low));
}
static inline int __double2hiint(double value) { return (int)(__double_as_longlong(value) >> 32); }
static inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline int __ffs(int bits) { return __builtin_ffs(bits); }

struct HostBarrier {
    int waiting = 0;
    unsigned generation = 0;
};

// A fiber begins with a context of its own stack and goes on by jumps, which cost no system call.
struct HostFiber {
    ucontext_t context;
    jmp_buf place;
    bool begun = false;
    HostDim thread;
    bool done = false;
};

static const int MAX_THREADS = 1024;
static const size_t STACK_BYTES = 256 * 1024;
static HostFiber host_fibers[MAX_THREADS];
static jmp_buf host_scheduler;
static int host_current = 0;
static int host_n_threads = 0;
static unsigned long host_progress = 0;
static HostBarrier host_named[16];
static HostBarrier host_warp[MAX_THREADS / 32];
static HostDim blockIdx, blockDim, gridDim;
static void (*host_kernel)();
alignas(16) static float4 dynamic_shared[1 << 16];

#define threadIdx (host_fibers[host_current].thread)

__attribute__((noinline)) static void host_yield() {
    if (_setjmp(host_fibers[host_current].place) == 0) _longjmp(host_scheduler, 1);
}

__attribute__((noinline)) static void host_resume(HostFiber& fiber) {
    if (_setjmp(host_scheduler) != 0) return;
    if (fiber.begun) _longjmp(fiber.place, 1);
    fiber.begun = true;
    setcontext(&fiber.context);
}

static inline void host_meet(HostBarrier& barrier, int expected, bool wait) {
    unsigned generation = barrier.generation;
    host_progress += 1;
    if (++barrier.waiting == expected) {
        barrier.waiting = 0;
        barrier.generation += 1;
    } else if (wait) {
        while (barrier.generation == generation) host_yield();
    }
}

static inline void named_sync(int barrier, int n_threads) { host_meet(host_named[barrier], n_threads, true); }
static inline void named_arrive(int barrier, int n_threads) { host_meet(host_named[barrier], n_threads, false); }
static inline void __syncthreads() { host_meet(host_named[0], host_n_threads, true); }
static inline void __syncwarp() { host_meet(host_warp[host_current / 32], 32, true); }
// Every lane of the warp shows a value and reads lane `from`'s.
template <typename T>
static T host_exchanged(T value, int from) {
    static unsigned long long exchange[MAX_THREADS];
    int own = host_current;
    std::memcpy(&exchange[own], &value, sizeof(T));
    __syncwarp();
    T other;
    std::memcpy(&other, &exchange[own / 32 * 32 + from], sizeof(T));
    __syncwarp();
    return other;
}
template <typename T>
static T __shfl_sync(unsigned, T value, int from) {
    return host_exchanged(value, from);
}
template <typename T>
static T __shfl_xor_sync(unsigned, T value, int reach) {
    return host_exchanged(value, host_current % 32 ^ reach);
}
// Lanes of the warp whose value is `value`, as a mask.
static inline unsigned __match_any_sync(unsigned, unsigned value) {
    static unsigned shown[MAX_THREADS];
    int own = host_current;
    shown[own] = value;
    __syncwarp();
    unsigned mask = 0;
    for (int lane = 0; lane < 32; ++lane) mask |= shown[own / 32 * 32 + lane] == value ? 1u << lane : 0u;
    __syncwarp();
    return mask;
}
static inline unsigned __ballot_sync(unsigned all, bool vote) {
    unsigned equals = __match_any_sync(all, vote ? 1 : 0);
    return vote ? equals : ~equals;
}

static inline void host_enter() {
    host_kernel();
    host_fibers[host_current].done = true;
    host_progress += 1;
    host_yield();
}

// Runs one block; false on a deadlock.
static inline bool host_run_block(int n_threads) {
    static char* stacks = (char*)std::malloc(MAX_THREADS * STACK_BYTES);
    for (auto& barrier : host_named) barrier = HostBarrier{};
    for (auto& barrier : host_warp) barrier = HostBarrier{};
    std::memset((void*)dynamic_shared, 0xff, sizeof(dynamic_shared));  // NaN: reading what nobody wrote shows
    host_n_threads = n_threads;
    for (int i = 0; i < n_threads; ++i) {
        HostFiber& fiber = host_fibers[i];
        fiber.done = fiber.begun = false;
        fiber.thread = HostDim{(unsigned)i, 0, 0};
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = stacks + i * STACK_BYTES;
        fiber.context.uc_stack.ss_size = STACK_BYTES;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, host_enter, 0);
    }
    for (int left = n_threads; left > 0;) {
        unsigned long before = host_progress;
        left = 0;
        // Every round in another order, so that code which leans on one order is found out.
        static unsigned dice = 1;
        dice = dice * 1664525u + 1013904223u;
        int start = (int)((dice >> 8) % (unsigned)n_threads);
        bool backwards = (dice >> 31) != 0;
        for (int k = 0; k < n_threads; ++k) {
            int i = (backwards ? start + n_threads - k : start + k) % n_threads;
            if (host_fibers[i].done) continue;
            host_current = i;
            host_resume(host_fibers[i]);
            left += host_fibers[i].done ? 0 : 1;
        }
        if (left > 0 && host_progress == before) return false;
    }
    return true;
}

// Runs `kernel` over a grid; returns the number of deadlocked blocks.
template <typename Kernel>
static int host_launch(unsigned gx, unsigned gy, unsigned gz, unsigned n_threads, Kernel kernel) {
    static Kernel* call;
    call = &kernel;
    host_kernel = [] { (*call)(); };
    blockDim = HostDim{n_threads, 1, 1};
    gridDim = HostDim{gx, gy, gz};
    int deadlocks = 0;
    for (unsigned z = 0; z < gz; ++z)
        for (unsigned y = 0; y < gy; ++y)
            for (unsigned x = 0; x < gx; ++x) {
                blockIdx = HostDim{x, y, z};
                if (!host_run_block((int)n_threads)) deadlocks += 1;
            }
    return deadlocks;
}
