#include "harness/doctor/doctor_json.h"

#include "harness/lib/str.h"
#include "harness/record/json_value.h"
#include "version.h"

static json_t *processes_to_json(const struct view *view)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        struct bitset cpus = {0};
        if (!process->watched)
            continue;
        view_add_cpus(view, process, &cpus);
        (void)json_array_append_new(
            array, json_pack("{s:i, s:i, s:o, s:I, s:o, s:o, s:s}", "pid", (int)process->pid,
                             "parent", (int)process->parent, "name", json_value_text(process->name),
                             "threads", (json_int_t)process->ntasks, "cpu_s",
                             json_value_real(view_oncpu_s(process)), "wait_s",
                             json_value_real(view_wait_s(process)), "cpus", bitset_format(&cpus)));
    }
    return array;
}

static json_t *found_to_json(const struct diagnosis *diagnosis)
{
    struct findings findings = {0};
    struct err err;
    json_t *array = NULL;
    if (!diagnosis_findings(diagnosis, &findings, &err))
        array = findings_to_json(&findings);
    for (size_t i = 0; array && i < diagnosis->n; i++) {
        const struct found *found = &diagnosis->all[i];
        json_t *object = json_array_get(array, i), *pids = json_array();
        for (unsigned p = 0; pids && p < found->npids; p++)
            (void)json_array_append_new(pids, json_integer(found->pids[p]));
        (void)json_object_set_new(object, "check", json_integer(found->check->number));
        (void)json_object_set_new(object, "cost", json_value_real(found->cost));
        (void)json_object_set_new(object, "gain",
                                  found->gain.times > 0 ? json_value_real(found->gain.times)
                                                        : json_null());
        (void)json_object_set_new(object, "gain_most",
                                  found->gain.most > 0 ? json_value_real(found->gain.most)
                                                       : json_null());
        (void)json_object_set_new(object, "gain_at_least",
                                  json_boolean(found->gain.at_least != NULL));
        (void)json_object_set_new(object, "pids", pids);
    }
    findings_free(&findings);
    return array;
}

json_t *doctor_to_json(const struct view *view, const struct diagnosis *diagnosis,
                       const char *unread)
{
    return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o}", "schema", 1, "contend", CONTEND_VERSION,
                     "watched_s", json_value_real(view->wall_s), "own_cpu_share",
                     json_value_real(view->own_s / view->wall_s), "unread",
                     json_value_text_or_null(unread), "processes", processes_to_json(view),
                     "findings", found_to_json(diagnosis));
}

static json_t *pairs_to_json(const struct gain_pairs *pairs)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < pairs->n; i++)
        (void)json_array_append_new(array, json_pack("{s:o, s:o}", "before",
                                                     json_value_real(pairs->before[i]), "after",
                                                     json_value_real(pairs->after[i])));
    return array;
}

static json_t *bystanders_to_json(const struct bystanders *bystanders)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < bystanders->n; i++) {
        const struct bystander *one = &bystanders->all[i];
        (void)json_array_append_new(
            array, json_pack("{s:i, s:o, s:I, s:o, s:o}", "pid", one->pid, "name",
                             json_value_text(one->name), "uid", (json_int_t)one->uid, "cpus_before",
                             json_value_real(bystanders_cpus(bystanders, i, false)), "cpus_after",
                             json_value_real(bystanders_cpus(bystanders, i, true))));
    }
    return array;
}

json_t *trial_to_json(const struct trial *trial)
{
    const struct evidence *gain = &trial->gain;
    bool tried = trial->what[0];
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "tried",
                     json_value_text_or_null(trial->what), "command",
                     json_value_text_or_null(trial->redo), "verdict",
                     json_value_text(tried ? gain_name(gain) : NULL), "gain",
                     json_value_real(gain->ratio), "low", json_value_real(gain->low), "high",
                     json_value_real(gain->high), "before", json_value_real(gain->base), "after",
                     json_value_real(gain->other), "unit", json_value_text_or_null(trial->unit),
                     "kept", (int)trial->kept, "pairs", pairs_to_json(&trial->pairs), "others",
                     bystanders_to_json(&trial->bystanders));
}

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
