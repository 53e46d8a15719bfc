#include "harness/store/files/run_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/files/file.h"
#include "harness/store/forms/judged.h"
#include "harness/store/json/comparison.h"
#include "harness/store/json/environment.h"
#include "harness/store/json/findings.h"
#include "harness/store/json/machine.h"
#include "harness/store/json/plan.h"
#include "harness/store/json/recommended.h"
#include "harness/store/json/value.h"

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
    for (unsigned os_node = 0; object && os_node < BENCH_NODES; os_node++) {
        char key[16];
        text_set(key, "%u", os_node);
        if (worker->pages_on_node[os_node])
            (void)json_object_set_new(object, key,
                                      json_integer((json_int_t)worker->pages_on_node[os_node]));
    }
    if (object && worker->pages_elsewhere)
        (void)json_object_set_new(object, "elsewhere",
                                  json_integer((json_int_t)worker->pages_elsewhere));
    return object;
}

static json_t *from_bitset(const struct bitset *set)
{
    char *list = malloc(BITSET_LIST_MAX);
    json_t *value = list ? json_string(bitset_format(set, list, BITSET_LIST_MAX)) : NULL;
    free(list);
    return value;
}

static json_t *from_worker(const struct worker_result *worker, unsigned index)
{
    double seconds = worker->end_ns > worker->go_ns
                         ? (double)(worker->end_ns - worker->go_ns) * 1e-9
                         : (double)NAN;
    json_t *object = json_pack(
        "{s:i, s:b, s:s, s:o, s:o, s:o, s:s, s:I, s:b, s:o, s:o, s:o}", "worker", (int)index,
        "background", worker->background, "status", status_name(worker->status), "reason",
        json_value_text(worker->err.msg), "cpus_actual", from_bitset(&worker->cpus_actual),
        "mem_nodes_actual", from_bitset(&worker->mem_nodes_actual), "mem_policy_actual",
        mem_policy_name(worker->mem_policy_actual), "samples", (json_int_t)worker->nsamples,
        "censored", worker->censored, "measured_s", json_value_real(seconds), "witness",
        from_usage(&worker->usage), "pages_on_node", from_pages(worker));
    if (object && worker->least_team)
        (void)json_object_set_new(object, "least_team", json_integer(worker->least_team));
    if (object && !bitset_empty(&worker->cpus_threads))
        (void)json_object_set_new(object, "cpus_threads", from_bitset(&worker->cpus_threads));
    if (object && worker->library[0])
        (void)json_object_set_new(object, "library", json_string(worker->library));
    if (object && worker->host[0])
        (void)json_object_set_new(object, "host", json_string(worker->host));
    return object;
}

static json_t *from_known(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *from_gpu(const struct gpu_change *gpu)
{
    json_t *object =
        json_pack("{s:s, s:o, s:i, s:o, s:o, s:o, s:o}", "pci_bdf", gpu->pci_bdf,
                  "throttled_by_heat", json_value_real(gpu->heat), "xid", gpu->xid,
                  "pcie_generation", from_known(gpu->pcie_generation), "pcie_generation_link",
                  from_known(gpu->pcie_generation_most), "pcie_width", from_known(gpu->pcie_width),
                  "pcie_width_max", from_known(gpu->pcie_width_most));
    for (int i = 0; object && i < GPU_COUNTERS; i++)
        (void)json_object_set_new(object, gpu_counter_names[i], from_known(gpu->gained[i]));
    if (object && gpu->host[0])
        (void)json_object_set_new(object, "host", json_string(gpu->host));
    return object;
}

static json_t *from_gpus(const struct observation *observation)
{
    json_t *gpus = json_array();
    for (unsigned i = 0; gpus && i < observation->ngpus; i++)
        (void)json_array_append_new(gpus, from_gpu(&observation->gpus[i]));
    return gpus;
}

static json_t *from_observation(const struct observation *observation)
{
    json_t *workers = json_array();
    for (unsigned i = 0; workers && i < observation->nworkers; i++)
        if (json_array_append_new(workers, from_worker(&observation->workers[i], i))) {
            json_decref(workers);
            return NULL;
        }
    json_t *object = json_pack(
        "{s:i, s:i, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "round",
        (int)observation->round, "order", (int)observation->order, "slot", (int)observation->slot,
        "status", status_name(observation->status), "reason", json_value_text(observation->reason),
        "steal", json_value_real(observation->steal), "foreign_cpu",
        json_value_real(observation->foreign_cpu), "psi_cpu_some",
        json_value_real(observation->psi_cpu_some), "gpu_clock_mhz",
        json_value_real(observation->gpu_clock_mhz), "gpu_temperature_c",
        json_value_real(observation->gpu_temp_c), "gpu_throttle_reasons",
        (json_int_t)observation->gpu_throttle_reasons, "workers", workers);
    if (object && observation->ngpus)
        (void)json_object_set_new(object, "gpus", from_gpus(observation));
    return object;
}

/* How the arm ended, and how many lines of rows.csv and rounds.csv are its own, in their order. */
static json_t *from_analysis(const struct analysis *analysis, size_t arm)
{
    const struct arm_rounds *rounds = &analysis->rounds.arms[arm];
    const size_t *first = analysis->values.first;
    size_t rows = 0;
    for (size_t i = 0; i < analysis->rows.n; i++)
        rows += analysis->rows.row[i].arm == &analysis->result->arms[arm];
    return json_pack("{s:s, s:o, s:I, s:I, s:I}", "status", status_name(rounds->status), "reason",
                     json_value_text(rounds->reason), "source", (json_int_t)rounds->source, "rows",
                     (json_int_t)rows, "round_values", (json_int_t)(first[arm + 1] - first[arm]));
}

static json_t *from_arm(const struct run_record *record, size_t index)
{
    const struct topo *topo = record->topo;
    const struct arm *arm = &record->result->arms[index];
    char params[BENCH_PARAMS_MAX];
    json_t *observations = json_array();
    for (size_t i = 0; observations && i < arm->nobservations; i++)
        if (json_array_append_new(observations, from_observation(&arm->observations[i]))) {
            json_decref(observations);
            return NULL;
        }
    json_t *summary =
        record->verdict ? from_analysis(&record->verdict->analysis, index) : json_null();
    json_t *object =
        json_pack("{s:s, s:o, s:s, s:s, s:i, s:i, s:b, s:b, s:o, s:o, s:o, s:o}", "bench",
                  arm->bench->name, "params", run_json_options(arm->bench->opts, arm->params),
                  "params_text", opts_format(arm->bench->opts, arm->params, params, sizeof(params)),
                  "placement", placement_infos[arm->placement].name, "workers", (int)arm->workers,
                  "slots", (int)arm->slots, "alone", arm->alone, "canary", arm->canary, "same_as",
                  arm->same_as < 0 ? json_null() : json_integer(arm->same_as), "summary", summary,
                  "plan", plan_to_json(topo, &arm->plan, arm->observations, arm->nobservations),
                  "observations", observations);
    if (object && arm->variant)
        (void)json_object_set_new(object, "variant", json_string(arm->variant->name));
    return object;
}

static json_t *from_arms(const struct run_record *record)
{
    json_t *arms = json_array();
    for (size_t i = 0; arms && record->result && record->topo && i < record->result->narms; i++)
        if (json_array_append_new(arms, from_arm(record, i))) {
            json_decref(arms);
            return NULL;
        }
    return arms;
}

static json_t *from_texts(const char *const *texts, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < n; i++)
        if (json_array_append_new(array, json_value_text(texts[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
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
        return from_texts(((const struct opt_texts *)field)->text,
                          ((const struct opt_texts *)field)->n);
    }
    return NULL;
}

json_t *run_json_options(const struct opt *opts, const void *base)
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

/* UTC, ISO 8601; null for 0. */
static json_t *from_time(time_t at)
{
    char text[32];
    struct tm utc;
    if (!at || !gmtime_r(&at, &utc) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc))
        return json_null();
    return json_string(text);
}

/* What one needs to know of a benchmark that another version may not have: by name. */
static json_t *from_benches(const struct result *result)
{
    json_t *benches = json_object();
    for (size_t i = 0; benches && i < result->narms; i++) {
        const struct bench *bench = result->arms[i].bench;
        json_t *about = json_pack("{s:o, s:b, s:b}", "ops_unit", json_value_text(bench->ops_unit),
                                  "scan", bench->scan != NULL, "together", bench->together);
        if (bench->rate_unit)
            (void)json_object_set_new(about, "rate_unit", json_value_text(bench->rate_unit));
        (void)json_object_set_new(benches, bench->name, about);
    }
    return benches;
}

/* The part of the document that says what was measured. */
static json_t *from_result(const struct run_record *record)
{
    const struct result *result = record->result;
    if (!result)
        return json_object();
    return json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:i, s:i, s:I, s:I}", "run_id",
                     json_value_text(result->run_id), "scenario", json_value_text(result->scenario),
                     "device", device_name(result->device), "background",
                     json_value_text(result->background ? result->background->name : NULL),
                     "plan_options", json_value_text_or_null(result->plan_options), "benchmarks",
                     from_benches(result), "rounds_planned", (int)result->rounds_planned,
                     "rounds_done", (int)result->rounds_done, "samples_bytes",
                     (json_int_t)record->samples_bytes, "seed", (json_int_t)result->seed);
}

static json_t *from_machine(const struct run_record *record)
{
    struct machine_parts parts;
    if (!record->env || !record->topo)
        return json_null();
    machine_parts_of(record->env, record->topo, &parts);
    return machine_to_json(&parts);
}

static json_t *run_json_record(const struct run_record *record)
{
    json_t *document = json_pack(
        "{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema_version", RUN_SCHEMA_VERSION,
        "status", record->status, "version", json_value_text(record->version), "commit",
        json_value_text_or_null(record->commit), "started", from_time(record->started), "ended",
        from_time(record->ended), "command",
        from_texts((const char *const *)record->argv, (size_t)record->argc), "options",
        run_json_options(record->run_opts, record->run_options), "environment",
        record->env ? env_to_json(record->env) : json_null(), "topology",
        record->topo ? topo_to_json(record->topo) : json_null());
    json_t *measured = from_result(record);
    int failed = json_object_update(document, measured);
    json_decref(measured);
    if (record->result && record->result->purpose)
        failed |= json_object_set_new(document, "purpose",
                                      json_string(purpose_name(record->result->purpose)));
    failed |= json_object_set_new(document, "machine", from_machine(record));
    failed |= json_object_set_new(document, "arms", from_arms(record));
    const struct verdict *verdict = record->verdict;
    failed |= json_object_set_new(
        document, "symmetry", symmetry_to_json(verdict ? &verdict->symmetry : NULL, record->topo));
    failed |= json_object_set_new(document, "findings",
                                  findings_to_json(verdict ? &verdict->findings : NULL));
    failed |= json_object_set_new(
        document, "recommended",
        verdict ? recommended_to_json(&verdict->analysis, &verdict->findings) : json_null());
    if (record->result && record->result->variants) {
        failed |=
            json_object_set_new(document, "variants", variants_to_json(record->result->variants));
        failed |= json_object_set_new(document, "comparisons",
                                      verdict ? comparisons_to_json(&verdict->comparisons)
                                              : json_array());
    }
    failed |= json_object_set_new(document, "notes",
                                  from_texts(record->notes, count_texts(record->notes)));
    if (!failed)
        return document;
    json_decref(document);
    return NULL;
}

int run_json_write(int dir_fd, const char *name, const struct run_record *record, struct err *err)
{
    json_t *document = run_json_record(record);
    char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
    json_decref(document);
    if (!text)
        return err_set(err, -ENOMEM, "no memory for run.json");
    size_t size = strlen(text);
    text[size++] = '\n'; /* in place of the 0 */
    int rc = file_write(dir_fd, name, text, size);
    free(text);
    return rc ? err_sys(err, rc, "cannot write run.json") : 0;
}
