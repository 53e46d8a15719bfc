/*
 * The results of up to three machines in one input, run.json and rows.csv of each, separated by the
 * byte 0x1e. Damaged results get a line, and the others are judged.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/validate/fleet_read.h"
#include "tests/fuzz/judged.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MACHINES = 3 };

static size_t reported;

static void report(const char *line)
{
    if (!line[0] || strchr(line, '\n'))
        abort();
    reported++;
}

static const struct bench_metric metrics[] = {
    {.name = "rate", .unit = "GB/s", .better = "higher", .gating = true}, {.name = NULL}};
static const struct bench b = {.name = "b", .metrics = metrics};
static const struct bench *const benches[] = {&b, NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fleet fleet = {.benches = benches};
    struct fleet_found found = {0};
    struct err err = {0};
    for (int i = 0; i < 2 * MACHINES; i++) {
        char name[32];
        size_t length;
        const uint8_t *part = scratch_next_part(&data, &size, &length);
        (void)snprintf(name, sizeof(name), "%d/%s", i / 2, i % 2 ? "rows.csv" : "run.json");
        scratch_put(name, part, length);
    }
    reported = 0;
    int rc = fleet_read(scratch_path(), report, &fleet, &found, &err);
    check_refusal(rc, &err);
    if ((rc && rc != -ENOENT) || reported != found.damaged || (!rc && !found.results && !reported))
        abort();
    judge_and_free(&fleet);
    return 0;
}
