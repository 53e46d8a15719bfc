/*
 * Three files of a result in one input, run.json, rounds.csv and rows.csv, with the byte 0x1e
 * between them. They are refused with a sentence, or what they say can be said again.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/summary.h"
#include "harness/sys/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"run.json", "rounds.csv", "rows.csv"};
static char directory[] = "/dev/shm/contend-fuzz-XXXXXX"; /* in memory */
static int dir_fd = -1;

static void remove_directory(void)
{
    for (int i = 0; i < 3; i++)
        (void)unlinkat(dir_fd, names[i], 0);
    (void)rmdir(directory);
}

static void make_directory(void)
{
    if (dir_fd >= 0)
        return;
    dir_fd = mkdtemp(directory) ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (dir_fd < 0 || atexit(remove_directory))
        abort();
}

/* One benchmark that this program knows, and one that it does not: the corpus has both. */
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
    int rc = recorded_read(dir_fd, benches, &recorded, &err);
    if (rc && (err.code != rc || !err.msg[0]))
        abort(); /* refused without a word */
    if (!rc && summary_format(&recorded, &text, &size, &err))
        abort();
    free(text);
    recorded_free(&recorded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_directory();
    for (int i = 0; i < 3; i++) {
        const uint8_t *end = i < 2 && size ? memchr(data, 0x1e, size) : NULL;
        size_t length = end ? (size_t)(end - data) : size;
        if (file_write(dir_fd, names[i], (const char *)data, length))
            abort();
        data = end ? end + 1 : data + length;
        size -= end ? length + 1 : length;
    }
    read_result();
    return 0;
}
