#include "harness/doctor/doctor_json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/lib/text.h"
#include "harness/record/json_machine.h"
#include "harness/record/json_value.h"
#include "version.h"

static json_t *processes_to_json(const struct view *view)
{
    json_t *array = json_array();
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        struct bitset cpus = {0};
        if (!process->watched)
            continue;
        view_add_cpus(view, process, &cpus);
        json_value_append(
            &array,
            json_value_object("pid:i parent:i name:t threads:z cpu_s:r wait_s:r cpus:c",
                              (int)process->pid, (int)process->parent, process->name,
                              process->ntasks, view_oncpu_s(process), view_wait_s(process), &cpus));
    }
    return array;
}

static double above_0(double value)
{
    return value > 0 ? value : (double)NAN;
}

static json_t *found_to_json(const struct diagnosis *diagnosis)
{
    struct findings findings = {0};
    diagnosis_findings(diagnosis, &findings);
    json_t *array = findings_to_json(&findings);
    for (size_t i = 0; i < diagnosis->n; i++) {
        const struct found *found = &diagnosis->all[i];
        (void)json_value_add(json_array_get(array, i),
                             "check:i cost:r gain:r gain_most:r gain_at_least:b pids:o",
                             found->check->number, found->cost, above_0(found->gain.times),
                             above_0(found->gain.most), found->gain.at_least != NULL,
                             JSON_ARRAY(pid, found->pids, found->npids, json_integer(*pid)));
    }
    findings_free(&findings);
    return array;
}

json_t *doctor_to_json(const struct view *view, const struct diagnosis *diagnosis,
                       const char *unread)
{
    return json_value_object(
        "schema:i contend:t watched_s:r own_cpu_share:r unread:T processes:o findings:o", 1,
        CONTEND_VERSION, view->wall_s, view->own_s / view->wall_s, unread, processes_to_json(view),
        found_to_json(diagnosis));
}

int doctor_plan_read(const char *file, struct view_plan *plan, struct err *err)
{
    json_error_t where = {.line = 0};
    json_t *json = json_load_file(file, JSON_REJECT_DUPLICATES, &where);
    const json_t *workers = json_object_get(json, "workers");
    const size_t n = json_array_size(workers);
    int rc = 0;
    *plan = (struct view_plan){.file = file, .workers = calloc(n + 1, sizeof(*plan->workers))};
    for (unsigned w = 0; plan->workers && w < n && !rc; w++) {
        struct plan_worker worker = {0};
        rc = plan_worker_from_json(json_array_get(workers, w), &worker, err);
        if (!rc && !worker.background)
            plan->workers[plan->n++] = (struct view_plan_worker){.number = w,
                                                                 .threads = worker.threads,
                                                                 .cpus = worker.cpus,
                                                                 .nodes = worker.mem_nodes};
    }
    if (!rc && !plan->n)
        rc = err_set(err, -EINVAL,
                     "%.150s is no plan of one placement, as 'contend place -P NAME --json' writes "
                     "it%s%.150s",
                     file, json ? "" : ": ", json ? "" : text_one_line(where.text));
    json_decref(json);
    return rc;
}

json_t *trial_to_json(const struct trial *trial)
{
    const struct evidence *gain = &trial->gain;
    const struct gain_pairs *pairs = &trial->pairs;
    const struct bystanders *bystanders = &trial->bystanders;
    json_t *blocks = json_array(), *others = json_array();
    for (size_t i = 0; i < pairs->n; i++)
        json_value_append(&blocks,
                          json_value_object("before:r after:r", pairs->before[i], pairs->after[i]));
    for (size_t i = 0; i < bystanders->n; i++)
        json_value_append(&others,
                          json_value_object("pid:i name:t uid:i cpus_before:r cpus_after:r",
                                            bystanders->all[i].pid, bystanders->all[i].name,
                                            bystanders->all[i].uid,
                                            bystanders_cpus(bystanders, i, false),
                                            bystanders_cpus(bystanders, i, true)));
    return json_value_object("tried:T command:T verdict:t gain:r low:r high:r before:r after:r "
                             "unit:T kept:b pairs:o others:o",
                             trial->what, trial->redo, trial->what[0] ? gain_name(gain) : NULL,
                             gain->ratio, gain->low, gain->high, gain->base, gain->other,
                             trial->unit, trial->kept, blocks, others);
}

static json_t *worker_to_json(const struct live *live, const struct live_worker *worker)
{
    json_t *used = json_object();
    for (size_t c = 0; c < live->ncpus; c++)
        if (worker->used[c] > 0)
            (void)json_object_set_new(used, str_fmt("%u", live->os_cpu[c]),
                                      json_value_real(worker->used[c]));
    return json_value_object("pid:i name:t processes:i threads:i oncpu:r queue:r blocked:r "
                             "because:T migrations:r throttled:r gpu_busy:r cpus:c used:o",
                             (int)worker->pid, worker->name, worker->nprocesses, worker->nthreads,
                             worker->oncpu, worker->queue, worker->blocked, worker->wait_cause,
                             worker->migrations, worker->throttled, worker->gpu_busy, &worker->cpus,
                             used);
}

json_t *live_to_json(const struct live *live)
{
    return json_value_object(
        "schema:i contend:t interval_s:r cpus:z busy:r steal:r load:r pressure:r own_cpu_share:r "
        "workers:o",
        1, CONTEND_VERSION, live->wall_s, live->ncpus, live->busy, live->steal, live->load,
        live->pressure, live->own,
        JSON_ARRAY(worker, live->workers, live->nworkers, worker_to_json(live, worker)));
}
