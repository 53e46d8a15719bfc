/*
 * Three files of a result in one input, run.json, rounds.csv and rows.csv, separated by the byte
 * 0x1e. They are refused with a sentence, or the result can be printed again.
 */
#include <stdlib.h>

#include "harness/cmd/common/page.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One benchmark that this program has and one that it lacks; the corpus has both. */
static const struct bench_metric scan_metrics[] = {
    {.name = "latency", .unit = "ns", .better = "lower"}, {.name = NULL}};
static const struct bench scan_bench = {.name = "scan", .metrics = scan_metrics};
static const struct bench *const benches[] = {&scan_bench, NULL};

static void read_result(void)
{
    struct recorded recorded;
    struct err err = {0};
    char *text = NULL;
    size_t size;
    int rc = recorded_read(scratch_fd(), benches, &recorded, &err);
    check_refusal(rc, &err);
    if (!rc && summary_format(&recorded, &text, &size, &err))
        abort();
    free(text);
    recorded_free(&recorded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"run.json", "rounds.csv", "rows.csv"};
    for (int i = 0; i < 3; i++) {
        size_t length;
        const uint8_t *part = scratch_next_part(&data, &size, &length);
        scratch_put(names[i], part ? part : (const uint8_t *)"", length);
    }
    read_result();
    return 0;
}
