#include "bench/feed/batch_file.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>

#include "bench/io/reader.h"

enum { SOURCES = 4, BATCHES_LEAST = 12, BYTES_LEAST = 16 << 20 };

double batch_file_bytes(size_t cells)
{
    double batch_bytes = (double)cells * sizeof(float);
    return batch_bytes * ceil(fmax(BATCHES_LEAST, BYTES_LEAST / batch_bytes) / SOURCES) * SOURCES;
}

/* Fills the file with the raw batches, again and again. */
static void write_sources(const void *batches, void *buffer, size_t bytes, uint64_t offset)
{
    const struct batches *b = batches;
    size_t all = SOURCES * b->cells * sizeof(float), at = offset % all, n;
    for (char *to = buffer; bytes; bytes -= n, to += n, at = 0) {
        n = all - at < bytes ? all - at : bytes;
        memcpy(to, (const char *)b->sources + at, n);
    }
}

int batch_file_make(struct batch_file *file, const struct place *place,
                    const struct batches *batches, unsigned users, struct err *err)
{
    uint64_t bytes = (uint64_t)batch_file_bytes(batches->cells);
    *file = (struct batch_file){.batch_bytes = 0};
    int rc = place_fit(place, bytes, bytes, bytes, users, &bytes, err);
    if (!rc)
        rc = data_make_of(&file->data, place, bytes, write_sources, batches, err);
    if (!rc)
        file->batch_bytes = batches->cells * sizeof(float);
    return rc;
}

static uint64_t offset_of(const struct batch_file *file, uint64_t index)
{
    return index % (file->data.file_bytes / file->batch_bytes) * file->batch_bytes;
}

int batch_file_read(const struct batch_file *file, uint64_t index, float *target, struct err *err)
{
    return io_reader_read_whole(file->data.files[0].fd, (char *)target, file->batch_bytes,
                                (int64_t)offset_of(file, index), err);
}

void batch_file_drop(const struct batch_file *file, uint64_t index)
{
    (void)posix_fadvise(file->data.files[0].fd, (off_t)offset_of(file, index),
                        (off_t)file->batch_bytes, POSIX_FADV_DONTNEED);
}
