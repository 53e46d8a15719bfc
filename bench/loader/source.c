#include "bench/loader/source.h"

#include <errno.h>

#include "bench/common/memory.h"

const char *const source_names[] = {"memory", "file", "tmpfs", NULL};

static int check_place(const struct place *place, enum source source, double bytes, struct err *err)
{
    if (place->memory != (source == SOURCE_TMPFS))
        return err_set(err, -ENOTSUP,
                       place->memory
                           ? "source=file: %s is in memory (%s): run in a directory on a disk"
                           : "source=tmpfs: %s is not in memory (%s)",
                       place->directory, place->file_system);
    return place->memory ? memory_check_fits((uint64_t)bytes, "the raw data", err) : 0;
}

int source_open(struct batch_file *file, enum source source, const struct batches *batches,
                unsigned workers, struct err *err)
{
    struct place place;
    int rc = place_open_directory(&place, source == SOURCE_FILE ? "." : "/dev/shm", err);
    if (!rc)
        rc = check_place(&place, source, batch_file_bytes(batches->cells) * workers, err);
    if (!rc)
        rc = batch_file_make(file, &place, batches, workers, err);
    return rc ? (err->code = -ENOTSUP) : 0;
}

double source_evict(const struct batch_file *file, enum source source)
{
    if (source != SOURCE_FILE)
        return 0;
    (void)data_evict(&file->data, NULL);
    return data_cached(&file->data);
}
