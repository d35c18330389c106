// Sixteen numbers at a time: how they are read, written, exponentiated and dropped.
//
// Written with the compiler's vectors, which become whatever registers the processor has. Elements are float or Bf16
// (the upper half of a float); all arithmetic is in float.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

constexpr int LANES = 16;
typedef float Floats __attribute__((vector_size(64)));
typedef uint32_t Words __attribute__((vector_size(64)));
typedef int32_t Ints __attribute__((vector_size(64)));
typedef uint16_t Halves __attribute__((vector_size(32)));

struct Bf16 {
    uint16_t bits;
};

// Some compilers take a detour over narrower registers here.
inline Words widened(Halves x) {
#ifdef __AVX512F__
    return (Words)_mm512_cvtepu16_epi32((__m256i)x);
#else
    return __builtin_convertvector(x, Words);
#endif
}

inline Floats load(const float *from) {
    Floats x;
    std::memcpy(&x, from, sizeof x);
    return x;
}

inline Floats load(const Bf16 *from) {
    Halves x;
    std::memcpy(&x, from, sizeof x);
    return (Floats)(widened(x) << 16);
}

inline void store(float *to, Floats x) { std::memcpy(to, &x, sizeof x); }

// Rounded to the nearest, ties to even, as torch does.
inline Halves rounded(Floats x) {
#ifdef __AVX512BF16__
    return (Halves)_mm512_cvtneps_pbh((__m512)x);
#else
    Words bits = (Words)x;
    bits += 0x7FFF + ((bits >> 16) & 1);
    return __builtin_convertvector(bits >> 16, Halves);
#endif
}

inline void store(Bf16 *to, Floats x) {
    Halves half = rounded(x);
    std::memcpy(to, &half, sizeof half);
}

inline Floats all(float x) { return x - (Floats){}; }

// Over the sixteen, halving: `each` joins two vectors.
template <class Each>
inline float folded(Floats x, Each each) {
    x = each(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    x = each(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    x = each(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    x = each(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
    return x[0];
}

inline float sum(Floats x) {
    return folded(x, [](Floats a, Floats b) { return a + b; });
}

inline float largest(Floats x) {
    return folded(x, [](Floats a, Floats b) { return a < b ? b : a; });
}

// e^x for x up to 0, relative error below 3e-7: 2^whole times the series of 2^rest, |rest| at most a half.
inline Floats exponential(Floats x) {
    Floats y = x * 1.44269504f;
    y = y < -126.0f ? all(-126.0f) : y;
    Floats shifted = y + 12582912.0f;  // 1.5 * 2^23: rounds to a whole number, held in the lowest bits
    Floats rest = y - (shifted - 12582912.0f);
    Floats series = rest * 1.54035304e-4f + 1.33335581e-3f;
    series = series * rest + 9.61812911e-3f;
    series = series * rest + 5.55041087e-2f;
    series = series * rest + 2.40226507e-1f;
    series = series * rest + 6.93147181e-1f;
    series = series * rest + 1.0f;
    return (Floats)((Ints)series + ((Ints)shifted << 23));
}

// What dropout needs to know: two seeds, which share is zero in 2^16ths, and what the others are multiplied by.
struct Drop {
    uint32_t first, second, below;
    float scale;
};

// Factors of 32 elements, zero or the scale, from a hash of where they are: nothing has to be stored.
struct Factors {
    Floats low, high;
};

inline Factors factors(uint32_t block, const Drop &drop) {
    if (!drop.below) return {all(1), all(1)};
    const Words lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    Words hash = ((lanes + block * LANES) ^ drop.first) * 0x85EBCA6Bu;
    hash = ((hash ^ (hash >> 15)) + drop.second) * 0xC2B2AE35u;
    hash = (hash ^ (hash >> 13)) * 0x9E3779B1u;
    return {(hash >> 16) < drop.below ? all(0) : all(drop.scale),
            ((hash ^ (hash >> 16)) & 0xFFFF) < drop.below ? all(0) : all(drop.scale)};
}
