/*
 * Dimensions: what tells the values of one metric apart, such as the size and the direction of a
 * copy. A benchmark declares them (struct bench, `dims`), and each value that it emits says where
 * it stands along some of them, by numbers:
 *
 *   enum { BY_SIZE = 1, BY_DIR };
 *   static const struct bench_dim dims[] = {
 *       [BY_SIZE] = {"size", DIM_BYTES}, [BY_DIR] = {"dir", .labels = dir_names}, {.name = NULL}};
 *   bench_emit(ctx, BANDWIDTH, gbps, DIMS({BY_SIZE, 4096}, {BY_DIR, H2D}));
 *
 * As text, "size=4096;dir=h2d", they are the key of a value in files, and nowhere else.
 */
#ifndef CONTEND_CONTRACT_DIMS_H
#define CONTEND_CONTRACT_DIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/base/err.h"

struct bench;

/* Parts that a value has at most; the size of a key. */
enum { DIMS_MAX = 6, DIMS_KEY_MAX = 68 };

enum dim_kind {
    DIM_NUMBER,
    DIM_BYTES, /* a number, told as "64 KiB" */
    DIM_PAIR,  /* one of the two CPUs of a pair */
    /* The number of one of equal units; source and target: the GPUs of a copy between two. */
    DIM_GPU,
    DIM_RANK,
    DIM_NODE,
    DIM_SOURCE,
    DIM_TARGET,
};

/* Dimensions are numbered from 1: the first entry of a table is empty. */
struct bench_dim {
    const char *name; /* as in keys; NULL ends the table */
    enum dim_kind kind;
    const char *const *labels; /* of 0, 1 ..., ends with NULL; NULL: it is a number */
    const char *const *said;   /* each as people say it, "4 KiB pages"; NULL: "pages 4k" */
    const char *unit;          /* behind a number, as people say it: "8 threads"; or NULL */
    unsigned digits;           /* a number has at least so many in keys: "07" */
    struct {
        double at;
        const char *text; /* what is said there: "1 thread"; or NULL */
    } special;
};

struct dim_value {
    uint32_t dim; /* 0: the text is "name=value" of a dimension that is not declared */
    double at;    /* a number, or that of a label; 0 where a text says it */
};

/*
 * Where a value stands: it crosses shared memory. A text stands in place of a number that has no
 * label, such as a name that the machine gave.
 */
struct dims {
    struct dim_value of[DIMS_MAX]; /* in the order of the key */
    uint8_t n, used;               /* parts; bytes of `text` */
    uint8_t text_at[DIMS_MAX];     /* 1 + where in `text` it begins; 0: `at` says it */
    char text[DIMS_KEY_MAX];       /* each ends with 0 */
};

#define LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define DIMS(...)                                                                                  \
    ((struct dims){.of = {__VA_ARGS__},                                                            \
                   .n = sizeof((struct dim_value[]){__VA_ARGS__}) / sizeof(struct dim_value)})

#define NO_DIMS ((struct dims){.n = 0})

/* The number of the benchmark's dimension of that name, or of the first of that kind; 0 = none. */
unsigned dim_find(const struct bench *bench, const char *name);
unsigned dim_find_kind(const struct bench *bench, enum dim_kind kind);
/* The name and kind of a declared dimension; "" and DIM_NUMBER for 0. */
const char *dim_name(const struct bench *bench, unsigned dim);
enum dim_kind dim_kind(const struct bench *bench, unsigned dim);

bool dims_has(const struct dims *at, unsigned dim);

/* NaN where it has none along that dimension, or a label; of a text, the number that it is. */
double dims_number(const struct bench *bench, const struct dims *at, unsigned dim);

/* A whole number from 0 on, or -1. */
int dims_ordinal(const struct bench *bench, const struct dims *at, unsigned dim);

/* With a part more, behind the others; text that has no room is cut. */
struct dims dims_with(struct dims at, unsigned dim, double value);
struct dims dims_with_text(struct dims at, unsigned dim, const char *text);

/* Adds where another stands along that dimension. */
void dims_take(struct dims *to, const struct dims *from, unsigned dim);

/* Without that dimension, or with nothing else. */
struct dims dims_without(const struct dims *at, unsigned dim);
struct dims dims_only(const struct dims *at, unsigned dim);

/* An order of keys; 0 = the same. */
int dims_compare(const struct dims *a, const struct dims *b);

/* Whether along each dimension that both have they stand at the same; pattern NULL: always. */
bool dims_agree(const struct dims *at, const struct dims *pattern);

/* Name and value of a part, as in a key. */
void dims_part(const struct bench *bench, const struct dims *at, unsigned part,
               char name[static DIMS_KEY_MAX], char value[static DIMS_KEY_MAX]);

/* The value along a dimension, as in a key; "" where it has none. Returns value. */
char *dims_value(const struct bench *bench, const struct dims *at, unsigned dim,
                 char value[static DIMS_KEY_MAX]);

/* A part as people say it: "4 KiB pages", "8 threads", "op read". Returns buf. */
char *dims_say(const struct bench *bench, const struct dims *at, unsigned part, char *buf,
               size_t size);

/* The key, "size=4096;dir=h2d". Returns it. */
char *dims_format(const struct bench *bench, const struct dims *at, char key[static DIMS_KEY_MAX]);

/*
 * A key of less than DIMS_KEY_MAX bytes, taken apart so that dims_format gives it again: what the
 * benchmark does not declare stays a text.
 */
struct dims dims_parse(const struct bench *bench, const char *key);

/*
 * Values that a benchmark emits, why some could not be had, and what others may not show; lives in
 * shared memory. See bench_emit, bench_emit_absent and bench_emit_doubt.
 */
/* 256 CPUs have 32,640 pairs; two metrics a pair fit. */
enum { VALUES_MAX = 1 << 17, VALUE_REASONS_MAX = 512 };

struct value {
    double value;    /* NaN = there is none */
    uint32_t metric; /* index in the benchmark's metrics[] */
    uint32_t reason; /* 1 + index of why there is none, or what it may not show; 0 = of neither */
    struct dims dims;
};

struct value_log {
    uint32_t n, nreasons;
    uint32_t lost; /* for which there was no room */
    struct value value[VALUES_MAX];
    struct err reason[VALUE_REASONS_MAX]; /* shared by values alike; code 0 = of a doubt */
};

#endif
