// Passes over memory between products of matrices: dropout, GELU with dropout, layer normalisation.
//
// `bf16` says which of the two types of element tensors have. Rows and elements are shared out among threads by their
// place, and what is summed over rows is summed within `slices` of them first: a result hangs on nothing else.
#include <cmath>

#include "numbers.h"

// Constants stay in registers only where a loop and what it does are one piece of code.
#define INLINE __attribute__((always_inline))

constexpr int64_t BLOCK = 2 * LANES;

// Calls `each(place, low, high)` for every 32 elements of `x`, and stores what it makes of them; the last few as well.
template <class T, class Each>
void over(const T *x, const T *grad, T *out, int64_t count, Each each) {
    const int64_t blocks = count / BLOCK;
#pragma omp parallel for schedule(static)
    for (int64_t block = 0; block < blocks; block++) {
        const int64_t at = block * BLOCK;
        each(block, x + at, grad ? grad + at : nullptr, out + at);
    }
    if (const int64_t left = count - blocks * BLOCK) {
        T last[3][BLOCK] = {};
        std::memcpy(last[0], x + blocks * BLOCK, left * sizeof(T));
        if (grad) std::memcpy(last[1], grad + blocks * BLOCK, left * sizeof(T));
        each(blocks, last[0], grad ? last[1] : nullptr, last[2]);
        std::memcpy(out + blocks * BLOCK, last[2], left * sizeof(T));
    }
}

template <class T>
void drop(const T *x, T *out, int64_t count, Drop drop) {
    over(x, (const T *)nullptr, out, count, [drop](int64_t block, const T *x, const T *, T *out) INLINE {
        const Factors keep = factors(block, drop);
        store(out, load(x) * keep.low);
        store(out + LANES, load(x + LANES) * keep.high);
    });
}

// The normal distribution's share below x, by way of erf (Abramowitz and Stegun 7.1.26, error below 1.5e-7), and its
// density: both come from one exponential.
struct Normal {
    Floats below, density;
};

inline Normal normal(Floats x) {
    const Floats far = (x < 0 ? -x : x) * 0.70710678f;
    const Floats exp = exponential(-far * far);
    const Floats t = 1.0f / (1.0f + 0.3275911f * far);
    Floats series = t * 1.061405429f - 1.453152027f;
    series = series * t + 1.421413741f;
    series = series * t - 0.284496736f;
    series = series * t + 0.254829592f;
    const Floats tail = 0.5f * series * t * exp;
    return {x < 0 ? tail : 1.0f - tail, exp * 0.39894228f};
}

template <class T>
void bend(const T *x, T *out, int64_t count, Drop drop) {
    over(x, (const T *)nullptr, out, count, [drop](int64_t block, const T *x, const T *, T *out) INLINE {
        const Factors keep = factors(block, drop);
        const Floats low = load(x), high = load(x + LANES);
        store(out, low * normal(low).below * keep.low);
        store(out + LANES, high * normal(high).below * keep.high);
    });
}

template <class T>
void bend_back(const T *x, const T *grad, T *out, int64_t count, Drop drop) {
    over(x, grad, out, count, [drop](int64_t block, const T *x, const T *grad, T *out) INLINE {
        const Factors keep = factors(block, drop);
        const Floats low = load(x), high = load(x + LANES);
        const Normal at_low = normal(low), at_high = normal(high);
        store(out, load(grad) * (at_low.below + low * at_low.density) * keep.low);
        store(out + LANES, load(grad + LANES) * (at_high.below + high * at_high.density) * keep.high);
    });
}

// (x - mean) / sqrt(variance + eps) * weight + bias of each row; mean and 1 / deviation are kept.
template <class T>
void norm(const T *x, const float *weight, const float *bias, T *out, float *kept, int64_t rows, int64_t width,
          float eps) {
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        const T *from = x + row * width;
        Floats total = {}, squares = {};
        for (int64_t i = 0; i < width; i += LANES) total += load(from + i);
        const float mean = sum(total) / width;
        for (int64_t i = 0; i < width; i += LANES) {
            const Floats off = load(from + i) - mean;
            squares += off * off;
        }
        const float scale = 1 / std::sqrt(sum(squares) / width + eps);
        for (int64_t i = 0; i < width; i += LANES)
            store(out + row * width + i, (load(from + i) - mean) * scale * load(weight + i) + load(bias + i));
        kept[2 * row] = mean;
        kept[2 * row + 1] = scale;
    }
}

// `sums` has for each slice of the rows the gradients of weight and of bias, (slices, 2, width), zero at first.
template <class T>
void norm_back(const T *x, const T *grad, const float *weight, const float *kept, T *out, float *sums, int64_t rows,
               int64_t width, int64_t slices) {
#pragma omp parallel for schedule(static, 1)
    for (int64_t slice = 0; slice < slices; slice++) {
        float *of_weight = sums + slice * 2 * width, *of_bias = of_weight + width;
        for (int64_t row = rows * slice / slices; row < rows * (slice + 1) / slices; row++) {
            const T *from = x + row * width;
            const T *g = grad + row * width;
            const float mean = kept[2 * row], scale = kept[2 * row + 1];
            Floats total = {}, along = {};
            for (int64_t i = 0; i < width; i += LANES) {
                const Floats unit = (load(from + i) - mean) * scale, given = load(g + i);
                store(of_weight + i, load(of_weight + i) + given * unit);
                store(of_bias + i, load(of_bias + i) + given);
                total += given * load(weight + i);
                along += given * load(weight + i) * unit;
            }
            const float constant = sum(total) / width, slope = sum(along) / width;
            for (int64_t i = 0; i < width; i += LANES) {
                const Floats unit = (load(from + i) - mean) * scale;
                store(out + row * width + i, (load(g + i) * load(weight + i) - constant - unit * slope) * scale);
            }
        }
    }
}

extern "C" {
void vitlab_drop(int bf16, void *x, void *out, int64_t count, Drop with) {
    if (bf16)
        drop((const Bf16 *)x, (Bf16 *)out, count, with);
    else
        drop((const float *)x, (float *)out, count, with);
}

void vitlab_bend(int bf16, void *x, void *out, int64_t count, Drop with) {
    if (bf16)
        bend((const Bf16 *)x, (Bf16 *)out, count, with);
    else
        bend((const float *)x, (float *)out, count, with);
}

void vitlab_bend_back(int bf16, void *x, void *grad, void *out, int64_t count, Drop with) {
    if (bf16)
        bend_back((const Bf16 *)x, (const Bf16 *)grad, (Bf16 *)out, count, with);
    else
        bend_back((const float *)x, (const float *)grad, (float *)out, count, with);
}

void vitlab_norm(int bf16, void *x, float *weight, float *bias, void *out, float *kept, int64_t rows, int64_t width,
                 float eps) {
    if (bf16)
        norm((const Bf16 *)x, weight, bias, (Bf16 *)out, kept, rows, width, eps);
    else
        norm((const float *)x, weight, bias, (float *)out, kept, rows, width, eps);
}

void vitlab_norm_back(int bf16, void *x, void *grad, float *weight, float *kept, void *out, float *sums,
                      int64_t rows, int64_t width, int64_t slices) {
    if (bf16)
        norm_back((const Bf16 *)x, (const Bf16 *)grad, weight, kept, (Bf16 *)out, sums, rows, width, slices);
    else
        norm_back((const float *)x, (const float *)grad, weight, kept, (float *)out, sums, rows, width, slices);
}
}
