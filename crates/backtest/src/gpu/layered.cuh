// What the kernels of the layered form share. A model's rows are its windows, longest first; row m·n_row + r is model m
// over window r. Widths are padded with zeros to multiples of 64.
#pragma once

// start + a·b over four neighbours, one after the other.
GB_DEVICE f32 fma4(float4 a, float4 b, f32 start) {
    f32 sum = fmaf(a.x, b.x, start);
    sum = fmaf(a.y, b.y, sum);
    sum = fmaf(a.z, b.z, sum);
    return fmaf(a.w, b.w, sum);
}

// Which decision comes next, and the launch of `projected` it belongs to. Two of them take turns, so that every block
// of a step reads the same one.
struct alignas(16) LayeredClock {
    u32 t;
    u32 start;  // decision of the first projected row
    u32 end;    // one past the last
    u32 unused;
};
static_assert(sizeof(LayeredClock) == 16, "LayeredClock");
