// Softmax attention with dropout on its map, in bfloat16, for sequences whose map fits into a core's cache.
//
// A head of an image is done at a time, from its queries to its values, and its map is never written to memory: the way
// back makes it again from the sums that were kept. Products multiply pairs of bfloat16 and add in float; a *word*
// here is such a pair, two neighbours along the dimension that is summed over.
#include <algorithm>
#include <cmath>
#include <vector>

#include "numbers.h"

inline Floats dot(Floats sum, Words a, Words b) {
#ifdef __AVX512BF16__
    return (Floats)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
#else
    sum += (Floats)(a << 16) * (Floats)(b << 16);
    return sum + (Floats)(a & 0xFFFF0000u) * (Floats)(b & 0xFFFF0000u);
#endif
}

// The left side of a product: the word of row r and depth k is at words[r * row + k * depth].
struct Left {
    const uint32_t *words;
    int64_t row, depth;
};

// R rows by C vectors of `out`, all in registers.
template <int R, int C>
void tile(Left a, const uint32_t *b, int64_t b_row, int depth, float *out, int64_t out_row) {
    Floats sums[R][C] = {};
    for (int k = 0; k < depth; k++) {
        Words right[C];
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) std::memcpy(&right[c], b + k * b_row + c * LANES, sizeof right[c]);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            const Words left = a.words[r * a.row + k * a.depth] - Words{};
#pragma GCC unroll 8
            for (int c = 0; c < C; c++) sums[r][c] = dot(sums[r][c], left, right[c]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) store(out + r * out_row + c * LANES, sums[r][c]);
}

template <int C>
void columns(Left a, const uint32_t *b, int64_t b_row, int depth, float *out, int64_t out_row, int rows) {
    int row = 0;
    const auto left = [&] { return Left{a.words + row * a.row, a.row, a.depth}; };
    for (; row + 5 <= rows; row += 5) tile<5, C>(left(), b, b_row, depth, out + row * out_row, out_row);
    if (row + 3 <= rows) tile<3, C>(left(), b, b_row, depth, out + row * out_row, out_row), row += 3;
    if (row + 2 <= rows) tile<2, C>(left(), b, b_row, depth, out + row * out_row, out_row), row += 2;
    if (row + 1 <= rows) tile<1, C>(left(), b, b_row, depth, out + row * out_row, out_row);
}

// out (rows, width) = a (rows, depth words) times b (depth words, width); the width is one of whole vectors.
void product(Left a, const uint32_t *b, int depth, float *out, int rows, int width) {
    int left = width / LANES;
    for (int groups = (left + 4) / 5, at = 0; groups; groups--) {
        const int take = (left + groups - 1) / groups;
        if (take == 5) columns<5>(a, b + at, width, depth, out + at, width, rows);
        if (take == 4) columns<4>(a, b + at, width, depth, out + at, width, rows);
        if (take == 3) columns<3>(a, b + at, width, depth, out + at, width, rows);
        if (take == 2) columns<2>(a, b + at, width, depth, out + at, width, rows);
        if (take == 1) columns<1>(a, b + at, width, depth, out + at, width, rows);
        at += take * LANES;
        left -= take;
    }
}

// Where the tokens of one head lie: `token` elements from one to the next, the head's own side by side.
struct Tokens {
    Bf16 *at;
    int64_t image, head, token;
    Bf16 *of(int64_t b, int64_t h) const { return at + b * image + h * head; }
};

struct Sizes {
    int64_t images, heads, queries, keys, width;
};

// Rows laid down as columns of words: (width / 2, padded), zero beyond the rows.
void upright(const Bf16 *from, int64_t token, int rows, int width, uint32_t *to, int padded) {
    for (int pair = 0; pair < width / 2; pair++) {
        for (int row = 0; row < rows; row++) std::memcpy(to + pair * padded + row, from + row * token + 2 * pair, 4);
        std::fill(to + pair * padded + rows, to + (pair + 1) * padded, 0);
    }
}

inline Words paired(Halves even, Halves odd) {
    return widened(even) | (widened(odd) << 16);
}

// Each two rows woven into one of words: (padded / 2, width), zero beyond the rows.
void woven(const Bf16 *from, int64_t token, int rows, int width, uint32_t *to) {
    for (int row = 0; row < rows; row += 2)
        for (int i = 0; i < width; i += LANES) {
            Halves even = {}, odd = {};
            std::memcpy(&even, from + row * token + i, sizeof even);
            if (row + 1 < rows) std::memcpy(&odd, from + (row + 1) * token + i, sizeof odd);
            const Words words = paired(even, odd);
            std::memcpy(to + row / 2 * width + i, &words, sizeof words);
        }
}

// The same from rows of floats (rows, width), rounded.
void woven(const float *from, int rows, int width, uint32_t *to) {
    for (int row = 0; row < rows; row += 2)
        for (int i = 0; i < width; i += LANES) {
            const Halves odd = row + 1 < rows ? rounded(load(from + (row + 1) * width + i)) : Halves{};
            const Words words = paired(rounded(load(from + row * width + i)), odd);
            std::memcpy(to + row / 2 * width + i, &words, sizeof words);
        }
}

void write(const float *from, int rows, int width, float scale, Bf16 *to, int64_t token) {
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < width; i += LANES) store(to + row * token + i, load(from + row * width + i) * scale);
}

// Room for elements of one type, at the beginning of a line of the cache: one that lies across two is read twice.
template <class T>
struct Lines {
    std::vector<Words> held;
    void make(int64_t count) { held.resize((count * sizeof(T) + sizeof(Words) - 1) / sizeof(Words)); }
    T *at() { return (T *)held.data(); }
};

// The room that a thread needs for a head.
struct Room {
    int padded;  // keys, to whole vectors
    Lines<uint32_t> upright, woven, map_words;
    Lines<float> map, slope, out, keep;
    Lines<Bf16> rows;
    explicit Room(const Sizes &s) : padded((s.keys + LANES - 1) / LANES * LANES) {
        const int64_t longest = std::max<int64_t>(s.queries, padded) + 1;
        upright.make(s.width / 2 * padded), woven.make((longest + 1) / 2 * s.width);
        map_words.make((s.queries + 1) / 2 * padded), map.make(s.queries * padded), slope.make(s.queries * padded);
        out.make(longest * s.width), keep.make(padded + LANES);
        rows.make(s.queries * std::max<int64_t>(padded, s.width));
    }
};

// The left side of a product, from floats that are rounded.
Left rounded_rows(const float *from, int rows, int width, Bf16 *to) {
    for (int64_t i = 0; i < (int64_t)rows * width; i += LANES) store(to + i, load(from + i));
    return {(const uint32_t *)to, width / 2, 1};
}

// The same from tokens, fetched all at once: read one by one in a product, each would be waited for.
Left fetched_rows(const Bf16 *from, int64_t token, int rows, int width, Bf16 *to) {
    for (int row = 0; row < rows; row++) std::memcpy(to + row * width, from + row * token, width * sizeof(Bf16));
    return {(const uint32_t *)to, width / 2, 1};
}

inline Floats beyond(Floats scores, int from, int keys) {
    const Ints lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return lanes + from < keys ? scores : all(-1e30f);
}

// Factors of dropout for a row of the map.
void row_factors(int64_t row, int padded, const Drop &drop, float *to) {
    for (int i = 0; i < padded; i += 2 * LANES) {
        const Factors both = factors(row * ((padded + LANES) / (2 * LANES)) + i / (2 * LANES), drop);
        store(to + i, both.low);
        store(to + i + LANES, both.high);
    }
}

extern "C" {
void vitlab_attend(Sizes s, Tokens q, Tokens k, Tokens v, Tokens out, float *sums, Drop drop) {
    const float scale = 1 / std::sqrt((float)s.width);
#pragma omp parallel
    {
        Room room(s);
        const int padded = room.padded;
#pragma omp for schedule(static)
        for (int64_t both = 0; both < s.images * s.heads; both++) {
            const int64_t b = both / s.heads, h = both % s.heads;
            upright(k.of(b, h), k.token, s.keys, s.width, room.upright.at(), padded);
            product(fetched_rows(q.of(b, h), q.token, s.queries, s.width, room.rows.at()), room.upright.at(),
                    s.width / 2, room.map.at(), s.queries, padded);
            for (int64_t row = 0; row < s.queries; row++) {
                float *scores = room.map.at() + row * padded;
                Floats top = all(-1e30f), total = {};
                for (int i = 0; i < padded; i += LANES) {
                    const Floats x = beyond(load(scores + i) * scale, i, s.keys);
                    top = x > top ? x : top;
                    store(scores + i, x);
                }
                const float most = largest(top);
                for (int i = 0; i < padded; i += LANES) {
                    const Floats x = exponential(load(scores + i) - most);
                    total += x;
                    store(scores + i, x);
                }
                const float whole = sum(total);
                row_factors(both * s.queries + row, padded, drop, room.keep.at());
                for (int i = 0; i < padded; i += LANES)
                    store(scores + i, load(scores + i) * (1 / whole) * load(room.keep.at() + i));
                sums[both * s.queries + row] = most + std::log(whole);
            }
            woven(v.of(b, h), v.token, s.keys, s.width, room.woven.at());
            const Left map = rounded_rows(room.map.at(), s.queries, padded, room.rows.at());
            product(map, room.woven.at(), (s.keys + 1) / 2, room.out.at(), s.queries, s.width);
            write(room.out.at(), s.queries, s.width, 1, out.of(b, h), out.token);
        }
    }
}

void vitlab_attend_back(Sizes s, Tokens q, Tokens k, Tokens v, Tokens grad, const float *sums, Tokens of_q, Tokens of_k,
                        Tokens of_v, Drop drop) {
    const float scale = 1 / std::sqrt((float)s.width);
#pragma omp parallel
    {
        Room room(s);
        const int padded = room.padded;
        const int pairs = (s.queries + 1) / 2;
        float *map = room.map.at(), *slope = room.slope.at();
        const Left across = {room.map_words.at(), 1, padded};  // the map with its keys as rows
#pragma omp for schedule(static)
        for (int64_t both = 0; both < s.images * s.heads; both++) {
            const int64_t b = both / s.heads, h = both % s.heads;
            upright(k.of(b, h), k.token, s.keys, s.width, room.upright.at(), padded);
            product(fetched_rows(q.of(b, h), q.token, s.queries, s.width, room.rows.at()), room.upright.at(),
                    s.width / 2, map, s.queries, padded);
            upright(v.of(b, h), v.token, s.keys, s.width, room.upright.at(), padded);
            product(fetched_rows(grad.of(b, h), grad.token, s.queries, s.width, room.rows.at()), room.upright.at(),
                    s.width / 2, slope, s.queries, padded);
            for (int64_t row = 0; row < s.queries; row++) {
                float *p = map + row * padded, *g = slope + row * padded;
                const float whole = sums[both * s.queries + row];
                row_factors(both * s.queries + row, padded, drop, room.keep.at());
                Floats total = {};
                for (int i = 0; i < padded; i += LANES) {
                    const Floats chance = exponential(beyond(load(p + i) * scale - whole, i, s.keys));
                    const Floats keep = load(room.keep.at() + i);
                    const Floats through = load(g + i) * keep;
                    total += chance * through;
                    store(g + i, through);
                    // The map as it was multiplied, and as it is needed once more: the sign says what was dropped.
                    store(p + i, keep > 0 ? chance : -chance);
                }
                const float mean = sum(total);
                for (int i = 0; i < padded; i += LANES) {
                    const Floats chance = load(p + i);
                    store(g + i, (chance < 0 ? -chance : chance) * (load(g + i) - mean));
                    store(p + i, chance < 0 ? all(0) : chance * drop.scale);
                }
            }
            woven(map, s.queries, padded, room.map_words.at());
            woven(grad.of(b, h), grad.token, s.queries, s.width, room.woven.at());
            product(across, room.woven.at(), pairs, room.out.at(), s.keys, s.width);
            write(room.out.at(), s.keys, s.width, 1, of_v.of(b, h), of_v.token);

            woven(slope, s.queries, padded, room.map_words.at());
            woven(q.of(b, h), q.token, s.queries, s.width, room.woven.at());
            product(across, room.woven.at(), pairs, room.out.at(), s.keys, s.width);
            write(room.out.at(), s.keys, s.width, scale, of_k.of(b, h), of_k.token);

            const Left rows = rounded_rows(slope, s.queries, padded, room.rows.at());
            woven(k.of(b, h), k.token, s.keys, s.width, room.woven.at());
            product(rows, room.woven.at(), (s.keys + 1) / 2, room.out.at(), s.queries, s.width);
            write(room.out.at(), s.queries, s.width, scale, of_q.of(b, h), of_q.token);
        }
    }
}
}
