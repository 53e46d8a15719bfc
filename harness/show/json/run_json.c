#include "harness/show/json/run_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"
#include "harness/record/json_machine.h"
#include "harness/record/json_value.h"
#include "harness/show/json/forms.h"
#include "harness/show/json/result_json.h"
#include "harness/verdict/odd.h"

static json_t *run_json_options(const struct opt *opts, const void *base);

/* Always an object with all keys: a reader need not test for each of them. */
static json_t *from_usage(const struct usage *usage)
{
    json_t *object = json_object();
    for (const struct usage_field *field = usage_fields; object && field->name; field++)
        (void)json_object_set_new(object, field->name, json_value_real(usage_get(usage, field)));
    if (object)
        (void)json_object_set_new(object, "team_threads", json_integer(usage->team_threads));
    return object;
}

/* {"0": 4096, "1": 12, "elsewhere": 3}: only the nodes that hold pages. */
static json_t *from_pages(const struct worker_result *worker)
{
    json_t *object = json_object();
    for (unsigned os_node = 0; os_node < BENCH_NODES; os_node++) {
        const char *key = str_fmt("%u", os_node);
        if (worker->pages_on_node[os_node])
            (void)json_object_set_new(object, key,
                                      json_integer((json_int_t)worker->pages_on_node[os_node]));
    }
    if (worker->pages_elsewhere)
        (void)json_value_add(object, "elsewhere:I", (int64_t)worker->pages_elsewhere);
    return object;
}

static json_t *from_worker(size_t i, const struct worker_result *worker)
{
    double seconds = worker->end_ns > worker->go_ns
                         ? (double)(worker->end_ns - worker->go_ns) * 1e-9
                         : (double)NAN;
    json_t *object = json_value_object(
        "worker:z background:b status:t reason:t cpus_actual:c mem_nodes_actual:c "
        "mem_policy_actual:t samples:z censored:b measured_s:r witness:o pages_on_node:o",
        i, worker->background, status_name(worker->status), worker->err.msg, &worker->cpus_actual,
        &worker->mem_nodes_actual, mem_policy_name(worker->mem_policy_actual),
        (size_t)worker->nsamples, worker->censored, seconds, from_usage(&worker->usage),
        from_pages(worker));
    if (worker->least_team)
        (void)json_value_add(object, "least_team:i", worker->least_team);
    if (!bitset_empty(&worker->cpus_threads))
        (void)json_value_add(object, "cpus_threads:c", &worker->cpus_threads);
    if (worker->library[0])
        (void)json_value_add(object, "library:t", worker->library);
    if (worker->host[0])
        (void)json_value_add(object, "host:t", worker->host);
    return object;
}

static json_t *from_gpu(const struct gpu_change *gpu)
{
    json_t *object = json_value_object(
        "pci_bdf:t throttled_by_heat:r xid:i pcie_generation:n pcie_generation_link:n pcie_width:n "
        "pcie_width_max:n",
        gpu->pci_bdf, gpu->thermal_share, gpu->xid, gpu->pcie_generation, gpu->pcie_generation_most,
        gpu->pcie_width, gpu->pcie_width_most);
    for (int k = 0; k < GPU_COUNTERS; k++)
        (void)json_object_set_new(object, gpu_counter_names[k],
                                  gpu->gained[k] < 0 ? json_null() : json_integer(gpu->gained[k]));
    if (gpu->host[0])
        (void)json_value_add(object, "host:t", gpu->host);
    return object;
}

static json_t *from_observation(const struct observation *observation)
{
    json_t *object = json_value_object(
        "round:i order:i slot:i status:t reason:t steal:r foreign_cpu:r psi_cpu_some:r "
        "gpu_clock_mhz:r gpu_temperature_c:r gpu_throttle_reasons:I workers:o",
        observation->round, observation->order, observation->slot, status_name(observation->status),
        observation->reason, observation->steal, observation->foreign_cpu,
        observation->psi_cpu_some, observation->gpu_clock_mhz, observation->gpu_temp_c,
        (int64_t)observation->gpu_throttle_reasons,
        JSON_ARRAY(worker, observation->workers, observation->nworkers,
                   from_worker((size_t)(worker - observation->workers), worker)));
    if (observation->ngpus)
        (void)json_value_add(object, "gpus:o",
                             JSON_ARRAY(gpu, observation->gpus, observation->ngpus, from_gpu(gpu)));
    return object;
}

/* How the arm ended, and how many lines it has in rows.csv and rounds.csv, which list arms in the
 * same order. */
static json_t *from_analysis(const struct analysis *analysis, const struct arm *of)
{
    const size_t arm = (size_t)(of - analysis->result->arms);
    const struct arm_rounds *rounds = &analysis->rounds.arms[arm];
    const size_t *first = analysis->values.first;
    size_t rows = 0;
    for (size_t i = 0; i < analysis->rows.n; i++)
        rows += analysis->rows.row[i].arm == of;
    return json_value_object("status:t reason:t source:z rows:z round_values:z",
                             status_name(rounds->status), rounds->reason, rounds->source, rows,
                             first[arm + 1] - first[arm]);
}

static json_t *from_arm(const struct run_record *record, const struct arm *arm)
{
    json_t *object = json_value_object(
        "bench:t params:o params_text:t placement:t workers:i slots:i alone:b canary:b same_as:n "
        "summary:o plan:o observations:o",
        arm->bench->name, run_json_options(arm->bench->opts, arm->params),
        opts_format(arm->bench->opts, arm->params), placement_infos[arm->placement].name,
        arm->workers, arm->planned_workers, arm->is_baseline, arm->is_control, arm->same_as,
        record->verdict ? from_analysis(&record->verdict->analysis, arm) : json_null(),
        plan_to_json(record->topo, &arm->plan, arm->observations, arm->nobservations),
        JSON_ARRAY(observation, arm->observations, arm->nobservations,
                   from_observation(observation)));
    if (arm->variant)
        (void)json_value_add(object, "variant:t", arm->variant->name);
    if (result_has_doses(record->result) && !arm->is_baseline && !arm->is_control)
        (void)json_value_add(object, "dose:t", dose_format(&arm->dose));
    return object;
}

static json_t *from_option(const struct opt *opt, const void *base)
{
    const void *field = (const char *)base + opt->offset;
    switch (opt->kind) {
    case OPT_INT:
        return json_integer(*(const int64_t *)field);
    case OPT_SIZE:
        return json_integer((json_int_t) * (const uint64_t *)field);
    case OPT_DOUBLE:
    case OPT_SECONDS:
        return json_value_real(*(const double *)field);
    case OPT_FLAG:
        return json_boolean(*(const bool *)field);
    case OPT_CHOICE:
        return json_string(opt->choices[*(const int *)field]);
    case OPT_TEXT:
        return json_value_text(*(const char *const *)field);
    case OPT_TEXTS:
        return JSON_ARRAY(text, ((const struct opt_texts *)field)->text,
                          ((const struct opt_texts *)field)->n, json_value_text(*text));
    }
    return NULL;
}

/*
 * {"rows": 4096, "pinned": true, "wait": "spin"}: option values with their JSON types; empty for a
 * NULL table. NULL: no memory.
 */
static json_t *run_json_options(const struct opt *opts, const void *base)
{
    json_t *object = json_object();
    for (const struct opt *opt = opts; object && opt && opt->name; opt++)
        if (json_object_set_new(object, opt->name, from_option(opt, base))) {
            json_decref(object);
            return NULL;
        }
    return object;
}

static size_t count_texts(const char *const *texts)
{
    size_t n = 0;
    while (texts && texts[n])
        n++;
    return n;
}

/* UTC, "2026-01-31T12:00:00Z"; null for 0. */
static json_t *run_json_time(time_t at)
{
    return json_value_text_or_null(text_utc(at));
}

/* Facts of each benchmark, by name, for versions that do not have the benchmark. */
static json_t *from_benches(const struct result *result)
{
    json_t *benches = json_object();
    for (size_t i = 0; benches && i < result->narms; i++) {
        const struct bench *bench = result->arms[i].bench;
        json_t *about = json_value_object("ops_unit:t scan:b together:b", bench->ops_unit,
                                          bench->scan != NULL, bench->gang);
        if (bench->rate_unit)
            (void)json_value_add(about, "rate_unit:t", bench->rate_unit);
        (void)json_object_set_new(benches, bench->name, about);
    }
    return benches;
}

/* Adds what was measured. */
static int add_result(json_t *document, const struct run_record *record)
{
    const struct result *result = record->result;
    char options[PLAN_OPTIONS_MAX];
    int failed = 0;
    if (result)
        failed |= json_value_add(document,
                                 "run_id:t scenario:t device:t background:t plan_options:T "
                                 "benchmarks:o rounds_planned:i "
                                 "rounds_done:i samples_bytes:I seed:I",
                                 result->run_id, result->scenario, device_name(result->device),
                                 result->background ? result->background->name : NULL,
                                 plan_options_format(&result->plan, options, sizeof(options)),
                                 from_benches(result), result->rounds_planned, result->rounds_done,
                                 (int64_t)record->samples_bytes, (int64_t)result->seed);
    if (result)
        failed |= json_value_add(document, "others:o",
                                 JSON_ARRAY(other, result->others, result->nothers,
                                            json_value_object("pid:I command:t share:r", other->pid,
                                                              other->command, other->share)));
    if (result && result->until_clear)
        failed |= json_value_add(document, "until_clear:b", true);
    if (result && result->purpose)
        failed |= json_value_add(document, "purpose:t", purpose_name(result->purpose));
    return failed;
}

static json_t *from_machine(const struct run_record *record)
{
    struct machine_parts parts;
    if (!record->env || !record->topo)
        return json_null();
    machine_parts_of(record->env, record->topo, &parts);
    return machine_to_json(&parts);
}

json_t *run_json_make(const struct run_record *record)
{
    const struct verdict *verdict = record->verdict;
    const struct result *result = record->result;
    json_t *document = json_value_object(
        "schema_version:i status:t version:t commit:T started:o ended:o command:o options:o "
        "environment:o topology:o",
        RUN_SCHEMA_VERSION, record->status, record->version, record->commit,
        run_json_time(record->started), run_json_time(record->ended),
        JSON_ARRAY(word, record->argv, (size_t)record->argc, json_value_text(*word)),
        run_json_options(record->run_opts, record->run_options),
        record->env ? env_to_json(record->env) : json_null(),
        record->topo ? topo_to_json(record->topo) : json_null());
    int failed = add_result(document, record);
    failed |= json_value_add(
        document, "machine:o arms:o symmetry:o findings:o recommended:o", from_machine(record),
        JSON_ARRAY(arm, result->arms, result && record->topo ? result->narms : 0,
                   from_arm(record, arm)),
        symmetry_to_json(verdict ? &verdict->symmetry : NULL, record->topo),
        findings_to_json(verdict ? &verdict->findings : NULL),
        verdict ? recommended_to_json(&verdict->analysis, &verdict->findings) : json_null());
    if (result && result->variants)
        failed |=
            json_value_add(document, "variants:o comparisons:o", variants_to_json(result->variants),
                           verdict ? comparisons_to_json(&verdict->comparisons) : json_array());
    failed |= json_value_add(
        document, "notes:o",
        JSON_ARRAY(note, record->notes, count_texts(record->notes), json_value_text(*note)));
    if (!failed)
        return document;
    json_decref(document);
    return NULL;
}

int run_json_write(int dir_fd, const char *name, const struct run_record *record, json_t **written,
                   struct err *err)
{
    json_t *document = run_json_make(record);
    char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
    if (written) {
        json_decref(*written);
        *written = document;
    } else
        json_decref(document);
    if (!text)
        return err_set(err, -ENOMEM, "no memory for run.json");
    size_t size = strlen(text);
    text[size++] = '\n'; /* in place of the 0 */
    int rc = file_write(dir_fd, name, text, size);
    free(text);
    return rc ? err_sys(err, rc, "cannot write run.json") : 0;
}

enum { STEPS = 0, HOLD_NS = 20000000 };

struct trace {
    FILE *out;
    bool any; /* an event was written */
    bool failed;
    const struct arm *arm;
    uint64_t origin_ns;
    unsigned pid;
};

/* Microseconds since the origin. */
static double at_us(const struct trace *trace, uint64_t ns)
{
    return ((double)ns - (double)trace->origin_ns) * 1e-3;
}

static void begin_event(struct trace *trace, char phase, unsigned tid)
{
    (void)fprintf(trace->out, "%s{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u", trace->any ? ",\n" : "",
                  phase, trace->pid, tid);
    trace->any = true;
}

static void add_span(struct trace *trace, unsigned tid, const char *category, double us,
                     double took_us)
{
    begin_event(trace, 'X', tid);
    (void)fprintf(trace->out, ",\"cat\":\"%s\",\"ts\":%.3f,\"dur\":%.3f", category, us, took_us);
}

/* Names of benchmarks, placements and stages are letters, so none needs an escape. */
static void name_event(struct trace *trace, unsigned tid, const char *kind, const char *name,
                       int number)
{
    begin_event(trace, 'M', tid);
    (void)fprintf(trace->out, ",\"name\":\"%s\",\"args\":{\"name\":\"%s", kind, name);
    if (number >= 0)
        (void)fprintf(trace->out, " %d", number);
    (void)fputs("\"}}", trace->out);
}

static void add_arm(struct trace *trace, const struct result *result,
                    const struct observation *observation)
{
    uint64_t end_ns = observation->start_ns;
    for (unsigned w = 0; w < observation->nworkers; w++)
        end_ns = observation->workers[w].end_ns > end_ns ? observation->workers[w].end_ns : end_ns;
    trace->pid = 0;
    name_event(trace, 0, "process_name", "contend", -1);
    add_span(trace, 0, "arm", at_us(trace, observation->start_ns),
             (double)(end_ns - observation->start_ns) * 1e-3);
    (void)fprintf(trace->out, ",\"name\":\"%s: %s\",\"args\":{\"device\":\"%s\",\"workers\":%u}}",
                  trace->arm->bench->name, statuses_name_arm(result, trace->arm),
                  device_name(arm_device(result, trace->arm)), trace->arm->workers);
}

/* Draws the stages in sequence, and cuts a stage that rounding would let exceed the step. */
static void add_stages(struct trace *trace, const struct sample *sample,
                       const struct stage_step *staged)
{
    double us = at_us(trace, sample->start_ns), end_us = us + (double)sample->elapsed_ns * 1e-3;
    const struct bench_stage *stages = trace->arm->bench->stages;
    for (unsigned s = 0; stages[s].name; s++) {
        double took_us = (double)staged->ns[s] * 1e-3;
        took_us = us + took_us < end_us ? took_us : end_us - us;
        if (!(took_us > 0))
            continue;
        add_span(trace, STEPS, "stage", us, took_us);
        (void)fprintf(trace->out, ",\"name\":\"%s\"}", stages[s].name);
        us += took_us;
    }
}

static void add_steps(struct trace *trace, const struct worker_result *worker)
{
    for (size_t i = 0; i < worker->nsamples; i++) {
        const struct sample *sample = &worker->samples[i];
        bool cut = worker->censored && i + 1 == worker->nsamples;
        add_span(trace, STEPS, "step", at_us(trace, sample->start_ns),
                 (double)sample->elapsed_ns * 1e-3);
        (void)fprintf(trace->out,
                      ",\"name\":\"step%s\",\"args\":{\"iterations\":%" PRIu64
                      ",\"device_us\":%.3f}}",
                      cut ? ", cut off" : "", sample->iters, (double)sample->device_ns * 1e-3);
        if (i < worker->nstaged && trace->arm->bench->stages)
            add_stages(trace, sample, &worker->staged[i]);
    }
}

/* Index of the thread's next sample within HOLD_NS, in samples sorted by time; `i` = none. */
static size_t next_of(const struct worker_result *worker, size_t i, size_t n)
{
    for (size_t k = i + 1;
         k < n && worker->cpu_samples[k].at_ns - worker->cpu_samples[i].at_ns < HOLD_NS; k++)
        if (worker->cpu_samples[k].thread == worker->cpu_samples[i].thread)
            return k;
    return i;
}

/* Consecutive samples of a thread on the same CPU become one span. */
static void add_cpus(struct trace *trace, const struct worker_result *worker)
{
    size_t n = worker->ncpu_samples < TRACE_VISITS ? worker->ncpu_samples : TRACE_VISITS;
    bool *done = calloc(n + 1, sizeof(*done));
    trace->failed = trace->failed || !done;
    if (!done)
        return;
    for (size_t i = 0; i < n; i++) {
        const struct cpu_sample_point *first = &worker->cpu_samples[i];
        uint64_t end_ns = first->at_ns + HOLD_NS;
        if (done[i])
            continue;
        for (size_t at = i, next = next_of(worker, at, n); next != at;
             at = next, next = next_of(worker, at, n)) {
            const struct cpu_sample_point *seen = &worker->cpu_samples[next];
            bool stays = seen->os_cpu == first->os_cpu;
            end_ns = seen->at_ns + (stays ? HOLD_NS : 0);
            if (!stays)
                break;
            done[next] = true;
        }
        end_ns = end_ns < worker->end_ns || first->at_ns > worker->end_ns ? end_ns : worker->end_ns;
        add_span(trace, 1 + first->thread, "cpu", at_us(trace, first->at_ns),
                 (double)(end_ns - first->at_ns) * 1e-3);
        (void)fprintf(trace->out, ",\"name\":\"CPU %u\"}", first->os_cpu);
    }
    free(done);
}

static void add_names(struct trace *trace, const struct worker_result *worker, unsigned number)
{
    unsigned threads = 0;
    for (size_t i = 0; i < worker->ncpu_samples; i++)
        threads =
            worker->cpu_samples[i].thread >= threads ? worker->cpu_samples[i].thread + 1 : threads;
    name_event(trace, STEPS, "process_name", worker->background ? "background worker" : "worker",
               (int)number);
    name_event(trace, STEPS, "thread_name", "steps", -1);
    for (unsigned t = 0; t < threads; t++)
        name_event(trace, 1 + t, "thread_name", "CPUs of thread", (int)t);
}

char *trace_events(const struct result *result, const struct arm *arm,
                   const struct observation *observation, uint64_t origin_ns)
{
    char *text = NULL;
    size_t size;
    struct trace trace = {.out = open_memstream(&text, &size), .arm = arm, .origin_ns = origin_ns};
    unsigned behind = 0;
    if (!trace.out)
        return NULL;
    add_arm(&trace, result, observation);
    for (unsigned w = 0; w < observation->nworkers; w++) {
        const struct worker_result *worker = &observation->workers[w];
        unsigned number = worker->background ? behind++ : observation->slot + w;
        trace.pid = (worker->background ? TRACE_BACKGROUND : 1) + number;
        add_names(&trace, worker, number);
        add_steps(&trace, worker);
        add_cpus(&trace, worker);
    }
    if (!fclose(trace.out) && !trace.failed)
        return text;
    free(text);
    return NULL;
}
