// The action that a policy takes. CPU twin: gigabar_learn::policy::argmax. Needs prelude.cuh.
#pragma once

// Index of the largest of q [N]: of equal ones the first, a NaN only where there is nothing else.
template <int N>
GB_DEVICE int argmax(const f32* q) {
    int best = 0;
    f32 top = q[0];
#pragma unroll
    for (int a = 1; a < N; ++a) {
        bool better = (q[a] > top) | ((top != top) & (q[a] == q[a]));
        best = better ? a : best;
        top = better ? q[a] : top;
    }
    return best;
}
