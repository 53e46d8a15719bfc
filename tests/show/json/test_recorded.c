/* A result that is read back prints what the run printed; a damaged result gives at worst an
 * error. */
#include "harness/show/json/recorded.h"

#include "harness/cmd/common/page.h"
#include "harness/lib/sys/file.h"
#include "harness/record/csv.h"
#include "harness/show/json/run_json.h"
#include "harness/show/result.h"
#include "harness/verdict/verdict.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/fixture_scans.h"
#include "tests/lib/trials.h"
#include "tests/lib/unit.h"

static const char *const names[] = {"run.json", "rounds.csv", "rows.csv"};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

static const struct bench *const no_benches[] = {NULL};
static const struct topo topo; /* the fixtures' plans hold no pointers into it */

static const struct environment env = {.arch = "x86_64",
                                       .cpu_model = "a CPU",
                                       .machine_product = "Server",
                                       .bios = "1.2",
                                       .machine_uuid = "4c4c4544"};

static void write_all(const struct result *result, const struct verdict *verdict)
{
    struct err err = {0};
    const struct run_record record = {
        .status = "complete", .env = &env, .topo = &topo, .result = result, .verdict = verdict};
    if (csv_write(fixture_dir_fd, &verdict->analysis, &err) ||
        run_json_write(fixture_dir_fd, "run.json", &record, NULL, &err))
        fail_msg("%s", err.msg);
}

/* What the run itself would print; the caller frees it. */
static char *format(const struct verdict *verdict)
{
    char *text = NULL;
    FILE *out = unit_print_into(&text);
    AUTO(doc) doc = {0};
    doc_findings(&doc, &verdict->findings, DOC_LEADING);
    run_add_to_doc(&verdict->analysis, &doc);
    doc_findings(&doc, &verdict->findings, DOC_REST);
    doc_print(&doc, out, false, true);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void assert_said_again(const struct result *result, const struct bench *const *benches)
{
    AUTO(verdict) verdict;
    AUTO(recorded) recorded;
    struct err err = {0};
    FREED char *again;
    size_t size;
    assert_int_equal(verdict_make(result, NULL, &verdict, &err), 0);
    write_all(result, &verdict);
    if (recorded_read(fixture_dir_fd, benches, &recorded, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(summary_format(&recorded, &again, &size, &err), 0);
    FREED char *said = format(&verdict);
    assert_string_equal(again, said);
    FREED char *rows = fixture_read("rows.csv", NULL);
    assert_int_equal(csv_write(fixture_dir_fd, &recorded.analysis, &err), 0);
    FREED char *rows_again = fixture_read("rows.csv", NULL);
    assert_string_equal(rows_again, rows);
    assert_int_equal(recorded.analysis.values.n, verdict.analysis.values.n);
    for (size_t i = 0; i < verdict.analysis.values.n; i++) {
        const struct round_value *a = &verdict.analysis.values.value[i];
        const struct round_value *b = &recorded.analysis.values.value[i];
        assert_string_equal(a->metric, b->metric);
        assert_int_equal(dims_compare(&a->dims, &b->dims), 0);
        assert_int_equal(a->round, b->round);
        assert_int_equal(a->status, b->status);
        /* Equal to the last bit, or both NaN. */
        assert_true(a->value == b->value || (a->value != a->value && b->value != b->value));
    }
}

TEST_IN_DIR(recorded_run_is_said_again)
{
    const struct bench *const benches[] = {&fixture_bench, NULL};
    DEMO_RESULT(result);
    result.arms[0].observations[1].status = STATUS_NOISY;
    (void)snprintf(result.arms[0].observations[1].reason, 100, "a \"quoted\", \n\033[31m reason");
    assert_said_again(&result, benches);
    assert_said_again(&result, no_benches);
}

/* Rows, headings and warnings of a dose, and a dose that no program can hold. */
TEST_IN_DIR(recorded_dose_is_said_again)
{
    AUTO(verdict) verdict;
    AUTO(recorded) recorded;
    struct err err = {0};
    DEMO_RESULT(result);
    for (size_t i = 0; i < result.narms; i++)
        if (!result.arms[i].is_baseline && result.arms[i].plan.status == PLAN_OK)
            fixture_add_dose(&result, i, (struct dose){DOSE_CPU, 0.2}, 0.31);
        else if (!result.arms[i].is_baseline)
            result.arms[i].dose = (struct dose){DOSE_CPU, 0.2};
    assert_said_again(&result, no_benches);
    assert_int_equal(recorded_read(fixture_dir_fd, no_benches, &recorded, &err), 0);
    for (size_t i = 0; i < result.narms; i++) {
        assert_true(dose_is_same(&recorded.result.arms[i].dose, &result.arms[i].dose));
        assert_int_equal(recorded.result.arms[i].plan.has_dose, result.arms[i].plan.has_dose);
    }
    recorded_free(&recorded);
    result.arms[2].dose.level = 0.99;
    assert_int_equal(verdict_make(&result, NULL, &verdict, &err), 0);
    write_all(&result, &verdict);
    assert_int_equal(recorded_read(fixture_dir_fd, no_benches, &recorded, &err), -EINVAL);
    assert_has(err.msg, "a dose of cpu is from 0 to 0.8, not 0.99");
}

/* The plan says which workers share a GPU. */
TEST_IN_DIR(recorded_shared_gpus_are_said_again)
{
    DEMO_RESULT(result);
    result.device = DEVICE_CUDA;
    for (size_t i = 0; i < result.narms; i++)
        for (unsigned w = 0; w < result.arms[i].plan.nworkers; w++) {
            struct plan_worker *worker = &result.arms[i].plan.workers[w];
            worker->gpu = 3;
            put_text(worker->pci_bdf, "0000:00:06.0");
        }
    assert_said_again(&result, no_benches);
}

/* A number that no machine has is not a GPU. */
TEST_IN_DIR(recorded_impossible_gpu_is_none)
{
    AUTO(recorded) recorded;
    DEMO_RESULT(result);
    struct plan_worker *workers = result.arms[0].plan.workers;
    workers[0].gpu = workers[1].gpu = BITSET_BITS;
    workers[0].pci_bdf[0] = workers[1].pci_bdf[0] = '?';
    JUDGED(verdict, &result);
    write_all(&result, &verdict);
    assert_int_equal(recorded_read(fixture_dir_fd, no_benches, &recorded, NULL), 0);
    assert_int_equal(recorded.result.arms[0].plan.workers[0].gpu, -1);
}

TEST_IN_DIR(recorded_scans_are_said_again)
{
    const struct fixture_scan_machine *const machines[] = {&fixture_vm, &fixture_server,
                                                           &fixture_gpus};
    for (size_t i = 0; i < 3; i++) {
        ENDED_BY(fixture_result_free) struct result result;
        fixture_scans_make(machines[i], NULL, &result);
        const struct bench *benches[32] = {NULL};
        for (size_t a = 0; a < result.narms; a++)
            benches[a] = result.arms[a].bench;
        assert_said_again(&result, benches);
    }
}

/* All values of benchmarks that this program lacks are still in tables. */
TEST_IN_DIR(recorded_shows_values_of_unknown_benchmarks)
{
    ENDED_BY(fixture_result_free) struct result result;
    AUTO(recorded) recorded;
    FREED char *text;
    size_t size;
    fixture_scans_make(&fixture_vm, "mem_latency", &result);
    JUDGED(verdict, &result);
    write_all(&result, &verdict);
    assert_int_equal(recorded_read(fixture_dir_fd, no_benches, &recorded, NULL), 0);
    assert_int_equal(summary_format(&recorded, &text, &size, NULL), 0);
    assert_has(text, "latency");
    assert_has(text, "cache_size_reported");
}

static int read_code(struct err *err)
{
    AUTO(recorded) recorded;
    FREED char *text = NULL;
    size_t size;
    int rc = recorded_read(fixture_dir_fd, no_benches, &recorded, err);
    if (!rc) /* what was read can be printed */
        assert_int_equal(summary_format(&recorded, &text, &size, err), 0);
    for (size_t i = 0; !rc && i < size; i++)
        assert_true(text[i] == '\n' || (unsigned char)text[i] >= ' ');
    return rc;
}

static void put(const char *name, const char *text, size_t size)
{
    assert_int_equal(file_write(fixture_dir_fd, name, text, size), 0);
}

static void write_demo(void)
{
    DEMO_RESULT(result);
    JUDGED(verdict, &result);
    write_all(&result, &verdict);
}

/* The key as written. If an older version wrote none, it is made from the rest, with the present
 * kind of key. */
TEST_IN_DIR(recorded_knows_its_machine)
{
    struct machine_parts parts;
    struct machine_key want;
    AUTO(recorded) recorded;
    write_demo();
    machine_parts_of(&env, &topo, &parts);
    machine_key_make(&parts, &want);
    assert_int_equal(recorded_read(fixture_dir_fd, no_benches, &recorded, NULL), 0);
    assert_string_equal(recorded.machine.key, want.key);
    assert_string_equal(recorded.machine.kind, want.kind);
    assert_string_equal(recorded.machine.identity, "uuid");
    assert_int_equal(json_object_del(recorded.record, "machine"), 0);
    FREED char *older = json_dumps(recorded.record, 0);
    assert_non_null(older);
    put("run.json", older, strlen(older));
    recorded_free(&recorded);
    assert_int_equal(recorded_read(fixture_dir_fd, no_benches, &recorded, NULL), 0);
    assert_string_equal(recorded.machine.kind, want.kind);
    assert_string_not_equal(recorded.machine.key, want.key);
    assert_string_equal(recorded.machine.identity, "");
}

/* Each file truncated at many places, and with changed bytes: at worst an error. */
TEST_IN_DIR(recorded_damage_is_an_error_at_most)
{
    static const char bytes[] = {'"', ',', '\n', '9', '\033', '-', '\0'};
    write_demo();
    unsigned refused = 0, places = trials(100, 30);
    for (size_t i = 0; i < NAMES; i++) {
        FREED char *whole = fixture_read(names[i], NULL);
        size_t size = strlen(whole);
        for (size_t at = 0; at < size; at += 1 + size / places) {
            put(names[i], whole, at);
            refused += read_code(NULL) != 0;
            char kept = whole[at];
            for (size_t b = 0; b < sizeof(bytes); b++) {
                whole[at] = bytes[b];
                put(names[i], whole, size);
                (void)read_code(NULL);
            }
            whole[at] = kept;
        }
        put(names[i], whole, size);
        assert_int_equal(read_code(NULL), 0);
    }
    assert_true(refused > 2 * places); /* a truncation in any file is found */
}
