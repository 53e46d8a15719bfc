/* Every kernel, kind of store and instruction set of this CPU, compared with a scalar loop. */
#include "kernels/cpu/stream.h"
#include "tests/lib/unit.h"

#include <sys/mman.h>

/* Longest array, and guard elements on either side of it. */
enum { LONGEST = 9001, GUARD = 64, ROOM = LONGEST + 2 * GUARD };

/* Around an unrolled step, a page, and the eight pages that a non-temporal copy walks side by
 * side. */
static const size_t sizes[] = {0,    1,    2,    3,    7,    8,    9,          15,   16,
                               17,   31,   32,   33,   63,   64,   65,         95,   100,
                               127,  129,  511,  512,  513,  543,  545,        1024, 1031,
                               4095, 4096, 4097, 4103, 4609, 8192, LONGEST - 8};

/* Halves and small whole numbers: no result is rounded, so all agree to the bit, with or without
 * FMA. */
static const double q = 1.5;
static const char *const names[] = {"read", "write", "copy", "scale", "add", "triad"};
static _Alignas(64) double reach_to[ROOM], reach_x[ROOM], reach_y[ROOM], before[ROOM];

static double x_at(size_t i)
{
    return (double)(i % 1000) - 300;
}

static double y_at(size_t i)
{
    return (double)(i % 37) * 0.5;
}

static double reference(enum stream_op op, double x, double y)
{
    switch (op) {
    case STREAM_COPY:
        return x;
    case STREAM_SCALE:
        return q * x;
    case STREAM_ADD:
        return x + y;
    case STREAM_TRIAD:
        return x + q * y;
    default:
        return q;
    }
}

static void for_each_kernel(void (*visit)(const struct stream_isa *isa, enum stream_op op,
                                          enum stream_store store))
{
    for (const struct stream_isa *const *isa = stream_isas; *isa; isa++)
        for (int op = 0; (*isa)->supported() && op < STREAM_OPS; op++)
            for (int store = 0; store < STREAM_STORES; store++)
                if ((*isa)->kernel[op][store])
                    visit(*isa, (enum stream_op)op, (enum stream_store)store);
}

/* NaN before and after the array: an element read from there spoils a result. */
static void fill(double *reach, size_t first, size_t n, double (*value)(size_t))
{
    for (size_t i = 0; i < ROOM; i++)
        reach[i] = NAN;
    for (size_t i = 0; i < n; i++)
        reach[first + i] = value(i);
}

static void assert_only_changed(const double *reach, size_t first, size_t n)
{
    assert_memory_equal(reach, before, first * sizeof(*reach));
    assert_memory_equal(reach + first + n, before + first + n, (ROOM - first - n) * sizeof(*reach));
}

/* `to`, x and y start `shift` elements after multiples of 64 bytes, each by its own multiple. */
static void run_apart(const struct stream_isa *isa, enum stream_op op, enum stream_store store,
                      size_t n, size_t shift)
{
    size_t to = GUARD + shift, x = GUARD + shift * 3 % 8, y = GUARD + shift * 5 % 8;
    fill(reach_to, to, n, x_at);
    fill(reach_x, x, n, x_at);
    fill(reach_y, y, n, y_at);
    memcpy(before, reach_to, sizeof(before));
    const struct stream_args args = {reach_to + to, reach_x + x, reach_y + y, q, n};
    double got = isa->kernel[op][store](&args), sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x_at(i);
        double want = op == STREAM_READ ? x_at(i) : reference(op, x_at(i), y_at(i));
        if (reach_to[to + i] != want)
            fail_msg("%s %s, store %d, n %zu, shift %zu: [%zu] is %g, not %g", isa->name, names[op],
                     (int)store, n, shift, i, reach_to[to + i], want);
    }
    assert_only_changed(reach_to, to, n);
    if (got != (op == STREAM_READ ? sum : 0))
        fail_msg("%s %s, n %zu, shift %zu: returned %g", isa->name, names[op], n, shift, got);
    for (size_t i = 0; i < n; i++)
        assert_true(reach_x[x + i] == x_at(i) && reach_y[y + i] == y_at(i));
}

static void all_sizes_and_shifts(const struct stream_isa *isa, enum stream_op op,
                                 enum stream_store store)
{
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (size_t shift = 0; shift < 8; shift++)
            run_apart(isa, op, store, sizes[s], shift);
}

TEST(stream_kernels_equal_the_scalar_loop)
{
    for_each_kernel(all_sizes_and_shifts);
}

static void in_place(const struct stream_isa *isa, enum stream_op op, enum stream_store store)
{
    for (int over_y = 0; over_y < 2 && op != STREAM_READ; over_y++) {
        size_t first = GUARD + 3, n = 4777;
        double *to = over_y ? reach_y : reach_x;
        fill(reach_x, first, n, x_at);
        fill(reach_y, first, n, y_at);
        memcpy(before, to, sizeof(before));
        const struct stream_args args = {to + first, reach_x + first, reach_y + first, q, n};
        (void)isa->kernel[op][store](&args);
        for (size_t i = 0; i < n; i++)
            assert_true(to[first + i] == reference(op, x_at(i), y_at(i)));
        assert_only_changed(to, first, n);
    }
}

TEST(stream_kernels_work_in_place)
{
    for_each_kernel(in_place);
}

/* `n` doubles at the end of a mapping; the page after them is not accessible. */
static double *map_to_the_edge(size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (n * sizeof(double) / page + 1) * page;
    char *base =
        mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(base != MAP_FAILED);
    assert_int_equal(mprotect(base + bytes, page, PROT_NONE), 0);
    return (double *)(void *)(base + bytes) - n;
}

static double *edge[3];
enum { EDGE = 4200 };

static void up_to_the_edge(const struct stream_isa *isa, enum stream_op op, enum stream_store store)
{
    for (size_t n = EDGE - 70; n <= EDGE; n++) {
        size_t first = EDGE - n;
        const struct stream_args args = {edge[0] + first, edge[1] + first, edge[2] + first, q, n};
        (void)isa->kernel[op][store](&args);
    }
}

/* Access to one element too many ends the test. */
TEST(stream_kernels_stop_at_the_end)
{
    for (int i = 0; i < 3; i++)
        edge[i] = map_to_the_edge(EDGE);
    for_each_kernel(up_to_the_edge);
}

/* Arrays that an operation does not use may be NULL. */
static void without_the_unused(const struct stream_isa *isa, enum stream_op op,
                               enum stream_store store)
{
    static double to[100];
    fill(reach_x, GUARD, 100, x_at);
    fill(reach_y, GUARD, 100, y_at);
    const struct stream_args args = {
        .to = op == STREAM_READ ? NULL : to,
        .x = op == STREAM_WRITE ? NULL : reach_x + GUARD,
        .y = op == STREAM_ADD || op == STREAM_TRIAD ? reach_y + GUARD : NULL,
        .q = q,
        .n = 100,
    };
    (void)isa->kernel[op][store](&args);
    if (op != STREAM_READ)
        assert_true(to[99] == reference(op, x_at(99), y_at(99)));
}

TEST(stream_kernels_need_no_more_than_they_use)
{
    for_each_kernel(without_the_unused);
}

TEST(stream_bytes)
{
    static const unsigned arrays[] = {1, 1, 2, 2, 3, 3};
    for (int op = 0; op < STREAM_OPS; op++)
        assert_int_equal(stream_op_bytes((enum stream_op)op), arrays[op] * sizeof(double));
}

TEST(stream_isa_best_is_the_last_supported)
{
    const struct stream_isa *last = NULL;
    assert_true(stream_isas[0]->supported());
    for (const struct stream_isa *const *isa = stream_isas; *isa; isa++) {
        assert_ptr_equal(stream_isa_find((*isa)->name), *isa);
        last = (*isa)->supported() ? *isa : last;
        for (int op = 0; op < STREAM_OPS; op++)
            assert_non_null((*isa)->kernel[op][STREAM_PLAIN]);
        assert_null((*isa)->kernel[STREAM_READ][STREAM_NT]);
#if defined(__x86_64__)
        for (int op = STREAM_READ + 1; op < STREAM_OPS; op++)
            assert_non_null((*isa)->kernel[op][STREAM_NT]);
#endif
    }
    assert_ptr_equal(stream_isa_best(), last);
    assert_null(stream_isa_find("mmx"));
}
