/*
 * read_file FILE seq|random BLOCK SECONDS CPU: reads a file past the page cache in the same way as
 * the benchmark read_path, and prints GB/s and CPU seconds a GB. tests/fio.sh compares this with
 * fio on the same file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/io/reader.h"
#include "harness/lib/bitset.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/affinity.h"

enum { EXIT_USAGE = 2, ARGUMENTS = 6 };

static int fail(const struct err *err)
{
    (void)fprintf(stderr, "read_file: %s\n", err->msg);
    return 1;
}

static uint32_t *draw(size_t n)
{
    size_t *order = calloc(n, sizeof(*order));
    uint32_t *drawn = calloc(n, sizeof(*drawn));
    if (order && drawn)
        random_shuffle(1, n, order);
    for (size_t i = 0; i < n && order && drawn; i++)
        drawn[i] = (uint32_t)order[i];
    free(order);
    return drawn;
}

static int read_it(const struct io_reader_plan *plan, double seconds)
{
    struct io_reader reader;
    struct err err = {.code = 0};
    uint64_t ns = (uint64_t)(seconds * 1e9);
    bool over;
    int rc = io_reader_open(&reader, plan, &err);
    if (rc)
        return fail(&err);
    while (!rc && reader.totals.elapsed_ns < ns)
        rc = io_reader_run(&reader, ns - reader.totals.elapsed_ns, &over, &err);
    double gigabytes = (double)reader.totals.bytes / 1e9;
    (void)printf("%.6f %.4f\n", gigabytes * 1e9 / (double)reader.totals.elapsed_ns,
                 (double)reader.totals.cpu_ns / 1e9 / gigabytes);
    io_reader_close(&reader);
    return rc ? fail(&err) : 0;
}

int main(int argc, char **argv)
{
    struct stat about;
    if (argc != ARGUMENTS) {
        (void)fprintf(stderr, "usage: read_file FILE seq|random BLOCK SECONDS CPU\n");
        return EXIT_USAGE;
    }
    struct bitset cpus = {0};
    struct data_file file = {.fd = open(argv[1], O_RDONLY | O_CLOEXEC),
                             .direct_fd = open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC)};
    bitset_set(&cpus, (unsigned)atoi(argv[5]));
    if (file.fd < 0 || file.direct_fd < 0 || fstat(file.fd, &about) || affinity_set(0, &cpus)) {
        perror(argv[1]);
        return 1;
    }
    struct data data = {.file_bytes = (uint64_t)about.st_size, .nfiles = 1, .files = &file};
    struct io_reader_plan plan = {.data = &data,
                                  .way = READ_DIRECT,
                                  .unit_bytes = (size_t)atol(argv[3]),
                                  .every = 1,
                                  .timed = true};
    plan.nunits = (size_t)about.st_size / plan.unit_bytes;
    uint32_t *order = !strcmp(argv[2], "random") ? draw(plan.nunits) : NULL;
    plan.order = order;
    int rc = read_it(&plan, atof(argv[4]));
    free(order);
    return rc;
}
