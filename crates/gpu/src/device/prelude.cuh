// Fixed-width types and the function qualifier of the device headers. No includes under NVRTC, which has no standard
// headers; a host compiler takes the mathematics from <cmath>.
#pragma once
#if defined(__CUDACC__)
#define GB_DEVICE __device__ __forceinline__
#else
#include <cmath>
#define GB_DEVICE inline
#endif

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

static_assert(sizeof(i8) == 1 && sizeof(i16) == 2 && sizeof(i32) == 4 && sizeof(i64) == 8, "integer widths");
static_assert(sizeof(f32) == 4 && sizeof(f64) == 8, "float widths");
