/*
 * Dimensions distinguish the values of one metric, such as the size and the direction of a copy. A
 * benchmark declares them (struct bench, `dims`), and gives each value that it emits a position
 * along some of them, as numbers:
 *
 *   enum { BY_SIZE = 1, BY_DIR };
 *   static const struct bench_dim dims[] = {
 *       [BY_SIZE] = {"size", DIM_BYTES}, [BY_DIR] = {"dir", .labels = dir_names}, {.name = NULL}};
 *   bench_emit(ctx, BANDWIDTH, gbps, DIMS({BY_SIZE, 4096}, {BY_DIR, H2D}));
 *
 * Only files have the position as text, the value's key: "size=4096;dir=h2d".
 */
#ifndef CONTEND_ENGINE_CONTRACT_DIMS_H
#define CONTEND_ENGINE_CONTRACT_DIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"

struct bench;

/* Most parts (dimensions) of one value; size of a key. */
enum { DIMS_MAX = 6, DIMS_KEY_MAX = 68 };

enum dim_kind {
    DIM_NUMBER,
    DIM_BYTES, /* a number, shown as "64 KiB" */
    DIM_PAIR,  /* one of the two CPUs of a pair */
    /* Numbers of equal units. Source and target are the two GPUs of a copy. */
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
    const char *const *labels;      /* of 0, 1 ..., ends with NULL; NULL: it is a number */
    const char *const *labels_long; /* each label for people, "base pages"; NULL: "pages 4k" */
    const char *unit;               /* follows a number in texts for people: "8 threads"; or NULL */
    unsigned digits;                /* least digits of a number in keys: "07" has 2 */
    struct {
        double at;
        const char *text; /* for people, in place of this number: "1 thread"; or NULL */
    } special;
};

struct dim_value {
    uint32_t dim; /* 0: an undeclared dimension; the part's text is "name=value" */
    double at;    /* a number, or a label's index; 0 where a text replaces it */
};

/*
 * Position of a value along dimensions; crosses shared memory. A part may have a text in place of a
 * number, such as a name that the machine reports.
 */
struct dims {
    struct dim_value of[DIMS_MAX]; /* in the order of the key */
    uint8_t n, used;               /* parts; bytes of `text` */
    uint8_t text_at[DIMS_MAX];     /* 1 + the part's offset in `text`; 0: a number, in `at` */
    char text[DIMS_KEY_MAX];       /* the parts' texts, each NUL-terminated */
};

#define LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define DIMS(...)                                                                                  \
    ((struct dims){.of = {__VA_ARGS__},                                                            \
                   .n = sizeof((struct dim_value[]){__VA_ARGS__}) / sizeof(struct dim_value)})

#define NO_DIMS ((struct dims){.n = 0})

/* Index of the benchmark's dimension with that name, or of the first of that kind; 0 = none. */
unsigned dim_find(const struct bench *bench, const char *name);
unsigned dim_find_kind(const struct bench *bench, enum dim_kind kind);
/* The name and kind of a declared dimension; "" and DIM_NUMBER for 0. */
const char *dim_name(const struct bench *bench, unsigned dim);
enum dim_kind dim_kind(const struct bench *bench, unsigned dim);

bool dims_has(const struct dims *at, unsigned dim);
/* The same by the name of a part, declared or not. */
bool dims_has_name(const struct bench *bench, const struct dims *at, const char *name);

/* The number along that dimension, also if it is a text; NaN for none or a label. */
double dims_number(const struct bench *bench, const struct dims *at, unsigned dim);

/* The same as a whole number >= 0; else -1. */
int dims_ordinal(const struct bench *bench, const struct dims *at, unsigned dim);

/* Append a part. A full set stays as it is; a text that does not fit is cut. */
struct dims dims_with(struct dims at, unsigned dim, double value);
struct dims dims_with_text(struct dims at, unsigned dim, const char *text);

/* Appends the part of `from` along that dimension, if it has one. */
void dims_take(struct dims *to, const struct dims *from, unsigned dim);

/* A copy without that dimension, or with only that dimension. */
struct dims dims_without(const struct dims *at, unsigned dim);
struct dims dims_only(const struct dims *at, unsigned dim);

/* An order of keys; 0 = the same. */
int dims_compare(const struct dims *a, const struct dims *b);

/* True if they are equal along each dimension that both have; pattern NULL: always. */
bool dims_agree(const struct dims *at, const struct dims *pattern);

/* Name and value of a part, as in a key. */
void dims_part(const struct bench *bench, const struct dims *at, unsigned part,
               char name[static DIMS_KEY_MAX], char value[static DIMS_KEY_MAX]);

/* The value along a dimension, as in a key; "" = none. Returns value. */
const char *dims_value(const struct bench *bench, const struct dims *at, unsigned dim);

/* A part in words for people: "base pages", "8 threads", "op read". */
const char *dims_format_part(const struct bench *bench, const struct dims *at, unsigned part);

/* The key, "size=4096;dir=h2d". Returns it. */
const char *dims_format(const struct bench *bench, const struct dims *at);

/*
 * Parses a key of less than DIMS_KEY_MAX bytes; dims_format returns the same key again. Parts that
 * the benchmark does not declare stay texts.
 */
struct dims dims_parse(const struct bench *bench, const char *key);

/*
 * Log of the values that a benchmark emits, with reasons for absent and noisy values; lives in
 * shared memory. See bench_emit, bench_emit_absent and bench_emit_doubt.
 */
/* 256 CPUs have 32,640 pairs; two metrics per pair fit. */
enum { VALUES_MAX = 1 << 17, VALUE_REASONS_MAX = 512 };

struct value {
    double value;    /* NaN = absent */
    uint32_t metric; /* index in the benchmark's metrics[] */
    uint32_t reason; /* 1 + index of why it is absent or noisy; 0 = no reason */
    struct dims dims;
};

struct value_log {
    uint32_t n, nreasons;
    uint32_t lost; /* values that did not fit */
    struct value value[VALUES_MAX];
    struct err reason[VALUE_REASONS_MAX]; /* values share equal ones; code 0 = of a noisy value */
};

#endif
