#include "harness/engine/arms/parcel.h"

#include <stdlib.h>
#include <string.h>

void parcel_put(struct parcel *parcel, const void *from, size_t bytes)
{
    if (parcel->at && bytes) {
        memcpy(parcel->at, from, bytes);
        parcel->at += bytes;
    }
    parcel->bytes += bytes;
}

void parcel_put_workers(struct parcel *parcel, const struct observation *from)
{
    parcel_put(parcel, from->gpus, from->ngpus * sizeof(*from->gpus));
    for (unsigned i = 0; i < from->nworkers; i++) {
        const struct worker_result *worker = &from->workers[i];
        parcel_put(parcel, worker, sizeof(*worker));
        parcel_put(parcel, worker->samples, worker->nsamples * sizeof(*worker->samples));
        parcel_put(parcel, worker->values, worker->nvalues * sizeof(*worker->values));
        parcel_put(parcel, worker->reasons, worker->nreasons * sizeof(*worker->reasons));
        parcel_put(parcel, worker->cpu_samples,
                   worker->ncpu_samples * sizeof(*worker->cpu_samples));
    }
}

bool parcel_take(struct parcel *parcel, void *to, size_t bytes)
{
    if ((size_t)(parcel->end - parcel->at) < bytes)
        return false;
    memcpy(to, parcel->at, bytes);
    parcel->at += bytes;
    return true;
}

bool parcel_take_array(struct parcel *parcel, void **out, size_t n, size_t size)
{
    *out = NULL;
    if (!n)
        return true;
    if (n > (size_t)(parcel->end - parcel->at) / size)
        return false;
    *out = malloc(n * size);
    return *out && parcel_take(parcel, *out, n * size);
}

bool parcel_take_worker(struct parcel *parcel, struct worker_result *worker)
{
    if (!parcel_take(parcel, worker, sizeof(*worker)))
        return false;
    void *samples, *values = NULL, *reasons = NULL, *cpu_samples = NULL;
    bool good =
        parcel_take_array(parcel, &samples, worker->nsamples, sizeof(*worker->samples)) &&
        parcel_take_array(parcel, &values, worker->nvalues, sizeof(*worker->values)) &&
        parcel_take_array(parcel, &reasons, worker->nreasons, sizeof(*worker->reasons)) &&
        parcel_take_array(parcel, &cpu_samples, worker->ncpu_samples, sizeof(*worker->cpu_samples));
    worker->samples = samples;
    worker->values = values;
    worker->reasons = reasons;
    worker->cpu_samples = cpu_samples;
    worker->staged = NULL;
    worker->nstaged = 0;
    return good;
}
