#include "bench/io/reader.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/lib/sys/clock.h"

/* Reads below SMALL_READ_BYTES read the clock only every READS_PER_CLOCK reads: it costs a share of
 * them. */
enum { SMALL_READ_BYTES = 65536, READS_PER_CLOCK = 16, POISON = 0x5a };

const char *const read_way_names[READ_WAYS] = {
    "read",
    "pread",
    "mmap",
    "pread",
};

/* Opens the small file `unit`. A descriptor, or -errno with the reason. */
static int open_unit(const struct io_reader *reader, size_t unit, struct err *err)
{
    const struct data *data = reader->plan.data;
    int flags = O_RDONLY | O_CLOEXEC | (reader->plan.way == READ_DIRECT ? O_DIRECT : 0);
    int fd = open(data->files[unit].name, flags);
    return fd >= 0 ? fd : err_sys(err, -errno, "cannot open file %zu of the data set", unit);
}

static void verify_unit(struct io_reader *reader, size_t unit, const void *buffer)
{
    const struct io_reader_plan *plan = &reader->plan;
    if (reader->verifying &&
        !data_holds(buffer, plan->unit_bytes, (uint64_t)unit * plan->unit_bytes, plan->data->seed))
        reader->wrong++;
}

int io_reader_read_whole(int fd, char *buffer, size_t bytes, int64_t offset, struct err *err)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = offset < 0
                        ? read(fd, buffer + done, bytes - done)
                        : pread(fd, buffer + done, bytes - done, (off_t)(offset + (int64_t)done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_sys(err, n ? -errno : -EIO, "cannot read the data set");
        done += (size_t)n;
    }
    return 0;
}

/* The mapping, or NULL with the reason in `err`. */
static char *map_whole(int fd, size_t bytes, int advice, struct err *err)
{
    char *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        (void)err_sys(err, -errno, "cannot map the data set");
        return NULL;
    }
    (void)madvise(map, bytes, advice);
    return map;
}

static int read_file(struct io_reader *reader, size_t unit, struct err *err)
{
    size_t bytes = reader->plan.unit_bytes;
    int fd = open_unit(reader, unit, err), rc = 0;
    if (fd < 0)
        return fd;
    if (reader->plan.way == READ_MMAP) {
        char *map = map_whole(fd, bytes, MADV_SEQUENTIAL, err);
        if (map) {
            memcpy(reader->buffer, map, bytes);
            (void)munmap(map, bytes);
        } else {
            rc = err->code;
        }
    } else {
        rc = io_reader_read_whole(fd, reader->buffer, bytes, -1, err);
    }
    (void)close(fd);
    return rc;
}

static int read_block(struct io_reader *reader, size_t unit, struct err *err)
{
    const struct io_reader_plan *plan = &reader->plan;
    const struct data_file *file = &plan->data->files[0];
    uint64_t offset = (uint64_t)unit * plan->unit_bytes;
    switch (plan->way) {
    case READ_READ:
        return io_reader_read_whole(file->fd, reader->buffer, plan->unit_bytes, -1, err);
    case READ_MMAP:
        assert(reader->map);
        memcpy(reader->buffer, reader->map + offset, plan->unit_bytes);
        return 0;
    case READ_DIRECT:
        return io_reader_read_whole(file->direct_fd, reader->buffer, plan->unit_bytes,
                                    (int64_t)offset, err);
    default:
        return io_reader_read_whole(file->fd, reader->buffer, plan->unit_bytes, (int64_t)offset,
                                    err);
    }
}

static void add_latency(struct io_reader *reader, uint64_t took_ns)
{
    time_sample_add(&reader->totals.latency_us, (double)took_ns / 1e3);
}

static int read_until(struct io_reader *reader, uint64_t end_ns, struct err *err)
{
    const struct io_reader_plan *plan = &reader->plan;
    bool files = plan->data->nfiles > 1;
    unsigned reads_per_clock =
        plan->timed || plan->unit_bytes >= SMALL_READ_BYTES ? 1 : READS_PER_CLOCK;
    uint64_t at_ns = clock_now_ns();
    for (unsigned n = 0; reader->next < plan->nunits; n++) {
        if (n % reads_per_clock == 0) {
            uint64_t now_ns = clock_now_ns();
            if (n && plan->timed)
                add_latency(reader, now_ns - at_ns);
            if (n && now_ns >= end_ns)
                break;
            at_ns = now_ns;
        }
        size_t unit = plan->order ? plan->order[reader->next] : reader->next;
        int rc = files ? read_file(reader, unit, err) : read_block(reader, unit, err);
        if (rc)
            return rc;
        verify_unit(reader, unit, reader->buffer);
        reader->totals.bytes += plan->unit_bytes;
        reader->next += plan->every;
    }
    return 0;
}

/* Tells the kernel the order, by which it decides whether to read ahead. */
static int advise_order(struct io_reader *reader, struct err *err)
{
    const struct io_reader_plan *plan = &reader->plan;
    const struct data *data = plan->data;
    if (data->nfiles > 1)
        return 0;
    (void)posix_fadvise(data->files[0].fd, 0, 0,
                        plan->order ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL);
    if (plan->way == READ_READ &&
        lseek(data->files[0].fd, (off_t)(reader->next * plan->unit_bytes), SEEK_SET) < 0)
        return err_sys(err, -errno, "cannot seek in the data set");
    if (plan->way != READ_MMAP)
        return 0;
    reader->map = map_whole(data->files[0].fd, data->file_bytes,
                            plan->order ? MADV_RANDOM : MADV_SEQUENTIAL, err);
    return reader->map ? 0 : err->code;
}

int io_reader_run(struct io_reader *reader, uint64_t ns, bool *over, struct err *err)
{
    uint64_t cpu_ns = clock_thread_cpu_ns(), start_ns = clock_now_ns();
    int rc = advise_order(reader, err);
    if (!rc)
        rc = read_until(reader, start_ns + ns, err);
    if (reader->map)
        (void)munmap(reader->map, reader->plan.data->file_bytes);
    reader->map = NULL;
    reader->totals.elapsed_ns += clock_now_ns() - start_ns;
    reader->totals.cpu_ns += clock_thread_cpu_ns() - cpu_ns;
    *over = reader->next >= reader->plan.nunits;
    if (*over)
        reader->next = reader->plan.first;
    return rc;
}

/* Runs a copy of the reader, so that the results in `totals` stay. */
int io_reader_verify(struct io_reader *reader, size_t units, struct err *err)
{
    struct io_reader copy = *reader;
    size_t last = reader->next + units * reader->plan.every;
    bool over;
    memset(reader->buffer, POISON, reader->plan.unit_bytes);
    copy.verifying = true;
    copy.plan.timed = false;
    copy.plan.nunits = last < reader->plan.nunits ? last : reader->plan.nunits;
    int rc = io_reader_run(&copy, UINT64_MAX / 2, &over, err);
    reader->wrong += copy.wrong;
    if (!rc && reader->wrong)
        rc = err_set(err, -EBADMSG, "%s read something else than what was written",
                     read_way_names[reader->plan.way]);
    return rc;
}

int io_reader_open(struct io_reader *reader, const struct io_reader_plan *plan, struct err *err)
{
    *reader = (struct io_reader){.plan = *plan, .next = plan->first};
    if (plan->way == READ_DIRECT && plan->data->no_direct.code)
        return err_set(err, -ENOTSUP, "%s", plan->data->no_direct.msg);
    reader->buffer = data_buffer(plan->unit_bytes);
    if (reader->buffer && (!plan->timed || !time_sample_open(&reader->totals.latency_us)))
        return 0;
    io_reader_close(reader);
    return err_set(err, -ENOMEM, "cannot allocate a buffer of %zu bytes", plan->unit_bytes);
}

void io_reader_close(struct io_reader *reader)
{
    time_sample_close(&reader->totals.latency_us);
    free(reader->buffer);
    *reader = (struct io_reader){.next = 0};
}

int time_sample_open(struct time_sample *sample)
{
    *sample = (struct time_sample){.value = calloc(TIME_SAMPLE_MOST, sizeof(double)), .every = 1};
    return sample->value ? 0 : -ENOMEM;
}

/* n is even, so the next value has an even index, too, and is kept. */
static void halve(struct time_sample *sample)
{
    sample->n /= 2;
    sample->every *= 2;
    for (size_t i = 0; i < sample->n; i++)
        sample->value[i] = sample->value[2 * i];
}

void time_sample_add(struct time_sample *sample, double value)
{
    if (sample->skip) {
        sample->skip--;
        return;
    }
    if (sample->n == TIME_SAMPLE_MOST)
        halve(sample);
    sample->value[sample->n++] = value;
    sample->skip = sample->every - 1;
}

void time_sample_close(struct time_sample *sample)
{
    free(sample->value);
    *sample = (struct time_sample){.n = 0};
}
