#include "harness/doctor/live.h"

#include "harness/lib/str.h"
#include "harness/record/json_value.h"
#include "version.h"

static json_t *used_to_json(const struct live *live, const struct live_worker *worker)
{
    json_t *object = json_object();
    const char *cpu;
    for (size_t c = 0; object && c < live->ncpus; c++) {
        cpu = str_fmt("%u", live->os_cpu[c]);
        if (worker->used[c] > 0)
            (void)json_object_set_new(object, cpu, json_value_real(worker->used[c]));
    }
    return object;
}

static json_t *worker_to_json(const struct live *live, const struct live_worker *worker)
{
    return json_pack(
        "{s:i, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "pid",
        (int)worker->pid, "name", json_value_text(worker->name), "processes",
        (int)worker->nprocesses, "threads", (int)worker->nthreads, "oncpu",
        json_value_real(worker->oncpu), "queue", json_value_real(worker->queue), "blocked",
        json_value_real(worker->blocked), "because", json_value_text_or_null(worker->wait_cause),
        "migrations", json_value_real(worker->migrations), "throttled",
        json_value_real(worker->throttled), "gpu_busy", json_value_real(worker->gpu_busy), "cpus",
        bitset_format(&worker->cpus), "used", used_to_json(live, worker));
}

json_t *live_to_json(const struct live *live)
{
    json_t *workers = json_array();
    for (size_t i = 0; workers && i < live->nworkers; i++)
        (void)json_array_append_new(workers, worker_to_json(live, &live->workers[i]));
    return json_pack("{s:i, s:s, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", 1, "contend",
                     CONTEND_VERSION, "interval_s", json_value_real(live->wall_s), "cpus",
                     (int)live->ncpus, "busy", json_value_real(live->busy), "steal",
                     json_value_real(live->steal), "load", json_value_real(live->load), "pressure",
                     json_value_real(live->pressure), "own_cpu_share", json_value_real(live->own),
                     "workers", workers);
}
