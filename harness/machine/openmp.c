#include "harness/machine/openmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { THREADS_MOST = 4096 }; /* as of --threads */

static bool is_set(const char *value)
{
    return value && *value;
}

bool openmp_binds(char *(*get)(const char *name))
{
    const char *bind = get("OMP_PROC_BIND");
    if (is_set(bind))
        return strcasecmp(bind, "false") != 0;
    return is_set(get("OMP_PLACES"));
}

static bool binds(const char *value, char *(*get)(const char *name), unsigned threads)
{
    (void)value;
    (void)threads;
    return openmp_binds(get);
}

static bool is_true(const char *value, char *(*get)(const char *name), unsigned threads)
{
    (void)get;
    (void)threads;
    return strcasecmp(value, "true") == 0;
}

static bool is_fewer(const char *value, char *(*get)(const char *name), unsigned threads)
{
    (void)get;
    return strtoul(value, NULL, 10) < threads;
}

static bool always(const char *value, char *(*get)(const char *name), unsigned threads)
{
    (void)value;
    (void)get;
    (void)threads;
    return true;
}

static const struct setting {
    const char *name;
    bool (*acts)(const char *value, char *(*get)(const char *name), unsigned threads);
    const char *effect; /* NULL = uses[] */
} settings[] = {
    {"OMP_PROC_BIND", binds,
     "libgomp binds each thread of a worker to a part of the worker's CPUs, also where its "
     "placement leaves the threads free"},
    {"OMP_PLACES", binds,
     "libgomp binds each thread of a worker to one of these places, as far as they are among the "
     "worker's CPUs"},
    {OPENMP_NOT_FOR_WORKERS, always,
     "not for workers, which libgomp would take out of the CPUs of their placement, as it does "
     "with those of taskset"},
    {"OMP_THREAD_LIMIT", is_fewer, "libgomp makes no larger teams, whatever a placement plans"},
    {"OMP_DYNAMIC", is_true,
     "libgomp makes smaller teams than a placement plans while the machine is busy"},
    {"OMP_NUM_THREADS", always, NULL},
    {"OMP_WAIT_POLICY", always,
     "it says whether threads spin or sleep at barriers, and with it what oversubscription costs"},
    {"GOMP_SPINCOUNT", always,
     "it says how long threads spin at barriers, and with it what oversubscription costs"},
};

static const char *const uses[] = {
    [OPENMP_FOR_NONE] =
        "not for workers, which get the threads of their placement; --threads sets them",
    [OPENMP_FOR_DEFAULT] =
        "placements that size no threads, such as none, keep it; the others set it, and so does "
        "--threads",
    [OPENMP_FOR_ALL] = "variants without threads or a placement of their own keep it",
};

unsigned openmp_threads(char *(*get)(const char *name))
{
    const char *value = get("OMP_NUM_THREADS");
    unsigned long threads = value && *value >= '0' && *value <= '9' ? strtoul(value, NULL, 10) : 0;
    return threads <= THREADS_MOST ? (unsigned)threads : 0;
}

void openmp_report(char *(*get)(const char *name), unsigned threads, enum openmp_use use,
                   struct openmp_notes *notes)
{
    notes->n = 0;
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        const char *value = get(settings[i].name);
        if (!is_set(value) || !settings[i].acts(value, get, threads))
            continue;
        (void)snprintf(notes->text[notes->n++], OPENMP_NOTE_MAX, "%s=%.60s is set: %s",
                       settings[i].name, value,
                       settings[i].effect ? settings[i].effect : uses[use]);
    }
}
