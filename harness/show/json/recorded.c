#include "harness/show/json/recorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/lib/array.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"
#include "harness/record/directory.h"
#include "harness/record/json_value.h"
#include "harness/show/json/recorded_parts.h"
#include "harness/show/json/result_json.h"
#include "harness/show/json/run_json.h"
#include "harness/verdict/recommend.h"

/* A run of hundreds of CPUs and rounds stays far below. In memory a file takes 4 to 20 times its
 * size. */
static const size_t run_mib_most = 256, rows_mib_most = 256, rounds_mib_most = 1024;

void *recorded_alloc(struct recorded *recorded, size_t n, size_t size)
{
    void **grown =
        array_grown(recorded->owned, recorded->nowned, &recorded->owned_capacity, sizeof(*grown));
    if (!grown)
        return NULL;
    recorded->owned = grown;
    grown[recorded->nowned] = calloc(n ? n : 1, size);
    return grown[recorded->nowned] ? grown[recorded->nowned++] : NULL;
}

static int read_file(int dir_fd, const char *name, size_t mib_most, char **text, size_t *size,
                     struct err *err)
{
    int rc = file_read(dir_fd, name, mib_most << 20, text, size);
    if (rc == -EINVAL)
        return err_set(err, rc, "%s is no regular file (a link is not followed)", name);
    if (rc == -EFBIG)
        return err_set(err, rc, "%s is larger than %zu MiB", name, mib_most);
    return rc ? err_sys(err, rc, "cannot read %s", name) : 0;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void take_key(const json_t *machine, struct machine_key *key)
{
    static const char *const identities[] = {"uuid", "gpus", "id"};
    const char *identity = text_of(machine, "identity");
    *key = (struct machine_key){.identity = ""};
    text_set(key->key, "%s", json_value_text_of(machine, "key"));
    text_set(key->kind, "%s", json_value_text_of(machine, "kind"));
    for (size_t i = 0; identity && i < sizeof(identities) / sizeof(identities[0]); i++)
        if (strcmp(identity, identities[i]) == 0)
            key->identity = identities[i];
}

/* Makes the key for records of earlier versions, which have no key but most of its parts. */
static void make_key(const json_t *env, const json_t *topo, struct machine_key *key)
{
    struct machine_parts parts = {
        .arch = text_of(env, "arch"),
        .vendor = text_of(env, "machine_vendor"),
        .product = text_of(env, "machine_product"),
        .cpu_model = text_of(env, "cpu_model"),
        .packages = json_value_count_of(topo, "packages"),
        .cores = json_value_count_of(topo, "cores"),
        .cpus = json_value_count_of(json_object_get(topo, "cpus"), "count"),
        .nodes = (unsigned)json_array_size(json_object_get(topo, "nodes")),
        .microcode = text_of(env, "microcode"),
    };
    size_t i;
    json_t *gpu;
    if (!parts.cpu_model)
        parts.cpu_model = text_of(topo, "cpu_model");
    json_array_foreach(json_object_get(topo, "gpus"), i, gpu)
    {
        if (parts.ngpus == MACHINE_GPUS_MAX)
            break;
        parts.gpus[parts.ngpus++] = (struct machine_gpu){.name = text_of(gpu, "name"),
                                                         .uuid = text_of(gpu, "uuid"),
                                                         .pci_bdf = text_of(gpu, "pci_bdf")};
    }
    machine_parts_sort(&parts);
    machine_key_make(&parts, key);
}

/* Takes the machine from run.json. */
static void take_machine(struct recorded *recorded)
{
    const json_t *machine = json_object_get(recorded->record, "machine");
    const json_t *topo = json_object_get(recorded->record, "topology");
    if (json_is_object(machine))
        take_key(machine, &recorded->machine);
    else if (json_is_object(topo))
        make_key(json_object_get(recorded->record, "environment"), topo, &recorded->machine);
    else
        recorded->machine = (struct machine_key){.identity = ""};
}

static void take_facts(struct recorded *recorded)
{
    (void)json_value_one_line(recorded->record); /* it is printed */
    recorded->version = text_of(recorded->record, "version");
    recorded->commit = text_of(recorded->record, "commit");
    recorded->started = text_of(recorded->record, "started");
    take_machine(recorded);
}

static int check_schema(const json_t *record, struct err *err)
{
    json_int_t schema = json_integer_value(json_object_get(record, "schema_version"));
    if (schema <= 0)
        return err_set(err, -EINVAL, "run.json is not of a run of contend");
    if (schema != RUN_SCHEMA_VERSION)
        return err_set(err, -EINVAL,
                       "run.json is of another contend: its files are of schema %lld, this version "
                       "reads %d",
                       schema, RUN_SCHEMA_VERSION);
    return 0;
}

static int take_record(const char *text, size_t size, struct recorded *recorded, struct err *err)
{
    json_error_t wrong;
    recorded->record = json_loadb(text, size, JSON_REJECT_DUPLICATES, &wrong);
    if (!recorded->record)
        return err_set(err, -EINVAL, "run.json, line %d: %.150s", wrong.line,
                       text_one_line(wrong.text));
    int rc = check_schema(recorded->record, err);
    if (rc)
        return rc;
    take_facts(recorded);
    return 0;
}

void recorded_of_run(json_t *record, const struct verdict *verdict, struct recorded *recorded)
{
    *recorded = (struct recorded){.is_live = true,
                                  .record = json_incref(record),
                                  .result = *verdict->analysis.result,
                                  .analysis = verdict->analysis,
                                  .findings = verdict->findings,
                                  .comparisons = verdict->comparisons};
    recorded->result.program = NULL; /* what is read back has no such members */
    recorded->result.variants = NULL;
    recorded->analysis.result = &recorded->result;
    take_facts(recorded);
}

/* Reads rounds.csv. Without it, run.json is damaged: -EINVAL, not -ENOENT. */
static int read_rounds(int dir_fd, struct recorded *recorded, struct err *err)
{
    int rc = read_file(dir_fd, CSV_ROUNDS_NAME, rounds_mib_most, &recorded->rounds_text,
                       &recorded->rounds_size, err);
    return rc != -ENOENT ? rc
                         : err_set(err, -EINVAL,
                                   CSV_ROUNDS_NAME " is missing; if " CSV_ROUNDS_NAME
                                                   ".xz is there: unxz -k " CSV_ROUNDS_NAME ".xz");
}

static void free_texts(struct recorded *recorded, char **record)
{
    free(*record);
    free(recorded->rows_text);
    free(recorded->rounds_text);
    *record = recorded->rows_text = recorded->rounds_text = NULL;
}

/* The files of one publish. *rounds: why rounds.csv could not be read. A killed run has no
 * rows.csv.
 */
static int read_texts(int dir_fd, struct recorded *recorded, char **record, size_t *size,
                      struct err *rounds, struct err *err)
{
    enum { TRIES = 100, PAUSE_US = 10000 };
    struct stat since = {0};
    int rc = 0;
    (void)directory_is_whole(dir_fd, &since);
    for (int i = 0; i < TRIES; i++) {
        free_texts(recorded, record);
        *rounds = (struct err){0};
        rc = read_file(dir_fd, "run.json", run_mib_most, record, size, err);
        if (!read_rounds(dir_fd, recorded, rounds) &&
            read_file(dir_fd, CSV_ROWS_NAME, rows_mib_most, &recorded->rows_text,
                      &recorded->rows_size, rounds) == -ENOENT)
            *rounds = (struct err){0};
        if (directory_is_whole(dir_fd, &since))
            break;
        (void)usleep(PAUSE_US);
    }
    return rc;
}

int recorded_read(int dir_fd, const struct bench *const *benches, struct recorded *recorded,
                  struct err *err)
{
    char *record = NULL;
    size_t size = 0;
    struct err rounds;
    *recorded = (struct recorded){0};
    int rc = read_texts(dir_fd, recorded, &record, &size, &rounds, err);
    if (!rc)
        rc = take_record(record, size, recorded, err);
    free(record);
    if (!rc)
        rc = recorded_arms(recorded, benches, err);
    if (!rc && rounds.code)
        rc = err_set(err, rounds.code, "%s", rounds.msg);
    if (!rc)
        rc = recorded_tables(recorded, err);
    if (!rc)
        recommend_all(&recorded->analysis);
    if (rc)
        return rc;
    findings_from_json(json_object_get(recorded->record, "findings"), &recorded->findings);
    rc = comparisons_from_json(json_object_get(recorded->record, "comparisons"),
                               &recorded->comparisons, err);
    return rc ? rc : findings_check(&recorded->findings, err);
}

void recorded_free(struct recorded *recorded)
{
    if (!recorded->is_live) {
        comparisons_free(&recorded->comparisons);
        findings_free(&recorded->findings);
        analysis_free(&recorded->analysis);
    }
    for (size_t i = 0; i < recorded->nowned; i++)
        free(recorded->owned[i]);
    free(recorded->owned);
    free(recorded->rows_text);
    free(recorded->rounds_text);
    json_decref(recorded->record);
    *recorded = (struct recorded){0};
}
