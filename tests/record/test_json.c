/* harness/show/json/run_json.c: run.json, read back, describes the run, with any text in it. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "harness/record/json_value.h"
#include "harness/show/json/run_json.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_plots.h"
#include "tests/lib/unit.h"

static const enum placement placements[] = {PLACE_NONE, PLACE_PARTITION, PLACE_PCORES};
static const struct fixture_machine machine = {
    .cpus = 2,
    .workers = {2},
    .rounds = 2,
    .placements = placements,
    .nplacements = 3,
    .alone_s = 0.1,
    .collapse = 50,
    .cut_off = true,
    .no_schedstat = true,
    .device = DEVICE_SIM,
    .skip_reason = "this machine has one kind of core",
};

static struct topo_cpu cpus[] = {
    {.os_cpu = 0, .core = 0, .allowed = true},
    {.os_cpu = 1, .core = 1, .allowed = true},
};
static struct topo_node nodes[] = {{.os_node = 0, .allowed = true}};
static const struct topo topo = {
    .origin = "this machine",
    .cpu_model = "a CPU",
    .is_this_machine = true,
    .ncpus = 2,
    .ncores = 2,
    .nllcs = 1,
    .npackages = 1,
    .nnodes = 1,
    .nkinds = 1,
    .cpus = cpus,
    .nodes = nodes,
};

struct options {
    int64_t rounds;
    uint64_t size;
    double budget_s;
    bool quiet;
    int profile;
    const char *host;
};
static const char *const profiles[] = {"quick", "standard", NULL};
static const struct opt options_table[] = {
    OPT_INT("rounds", options, rounds, NULL, 0, 0, NULL, NULL),
    OPT_SIZE("size", options, size, NULL, 0, 0, NULL, NULL),
    OPT_SECONDS("budget", options, budget_s, NULL, 0, 0, NULL, NULL),
    OPT_FLAG("quiet", options, quiet, NULL, NULL),
    OPT_CHOICE("profile", options, profile, NULL, profiles, NULL, NULL),
    OPT_TEXT("host-label", options, host, NULL, NULL, NULL),
    {.name = NULL},
};

static json_t *read_back(void)
{
    char path[64];
    json_error_t error;
    put_text(path, "%s/run.json", fixture_dir);
    json_t *document = json_load_file(path, 0, &error);
    if (!document)
        fail_msg("run.json: %s at line %d", error.text, error.line);
    return document;
}

/* The value at "a.b.0.c"; fails the test if there is none. */
static json_t *at(json_t *value, const char *path)
{
    char key[64];
    for (const char *from = path; *from;) {
        size_t length = strcspn(from, ".");
        assert_true(length < sizeof(key));
        memcpy(key, from, length);
        key[length] = '\0';
        value = json_is_array(value) ? json_array_get(value, strtoul(key, NULL, 10))
                                     : json_object_get(value, key);
        if (!value)
            fail_msg("run.json has no %s", path);
        from += length + (from[length] == '.');
    }
    return value;
}

static const char *text_at(json_t *document, const char *path)
{
    return json_string_value(at(document, path));
}

static json_int_t number_at(json_t *document, const char *path)
{
    assert_true(json_is_integer(at(document, path)));
    return json_integer_value(at(document, path));
}

static void assert_real(json_t *document, const char *path, double expected)
{
    assert_true(json_is_real(at(document, path)));
    assert_true(fabs(json_real_value(at(document, path)) - expected) < 1e-12 * fabs(expected));
}

static void write_run(const struct result *result, const char *status)
{
    char *argv[] = {(char[]){"contend"}, (char[]){"run"}, (char[]){"bad \xff byte"}, NULL};
    static const char *const notes[] = {"perf_event is not allowed here", NULL};
    struct options options = {3, 4096, 0.5, true, 1, NULL};
    struct environment env = {.hostname = "node\xfe", .boost = NAN};
    struct run_record record = {
        .status = status,
        .version = "1.2.3",
        .commit = "c0ffee0123",
        .argc = 3,
        .argv = argv,
        .started = 1735732800,
        .ended = strcmp(status, "complete") == 0 ? 1735732860 : 0,
        .env = &env,
        .topo = &topo,
        .result = result,
        .run_opts = options_table,
        .run_options = &options,
        .notes = notes,
    };
    struct err err = {0};
    int rc = run_json_write(fixture_dir_fd, "run.json", &record, NULL, &err);
    if (rc)
        fail_msg("%s", err.msg);
}

TEST_IN_DIR(json_says_what_was_run)
{
    ENDED_BY(fixture_plots_free) struct result result;
    fixture_plots_make(&machine, &result);
    write_run(&result, "complete");
    json_auto_t *run = read_back();
    assert_int_equal(number_at(run, "schema_version"), 2);
    assert_string_equal(text_at(run, "status"), "complete");
    assert_string_equal(text_at(run, "version"), "1.2.3");
    assert_string_equal(text_at(run, "commit"), "c0ffee0123");
    assert_string_equal(text_at(run, "run_id"), result.run_id);
    assert_string_equal(text_at(run, "started"), "2025-01-01T12:00:00Z");
    assert_string_equal(text_at(run, "ended"), "2025-01-01T12:01:00Z");
    assert_string_equal(text_at(run, "command.1"), "run");
    assert_string_equal(text_at(run, "command.2"), "bad ? byte");
    assert_string_equal(text_at(run, "environment.hostname"), "node?");
    assert_string_equal(text_at(run, "scenario"), "pipeline");
    assert_string_equal(text_at(run, "device"), "sim");
    assert_string_equal(text_at(run, "arms.0.bench"), "pipeline");
    assert_int_equal(number_at(run, "arms.0.params.rows"), 16384);
    assert_int_equal(number_at(run, "rounds_done"), 2);
    assert_int_equal(number_at(run, "seed"), 42);
    assert_string_equal(text_at(run, "notes.0"), "perf_event is not allowed here");
    assert_true(json_is_object(at(run, "topology")));
}

TEST_IN_DIR(json_options_keep_their_types)
{
    ENDED_BY(fixture_plots_free) struct result result;
    fixture_plots_make(&machine, &result);
    write_run(&result, "complete");
    json_auto_t *run = read_back();
    assert_int_equal(number_at(run, "options.rounds"), 3);
    assert_int_equal(number_at(run, "options.size"), 4096);
    assert_real(run, "options.budget", 0.5);
    assert_true(json_is_true(at(run, "options.quiet")));
    assert_string_equal(text_at(run, "options.profile"), "standard");
    assert_true(json_is_null(at(run, "options.host-label")));
}

TEST_IN_DIR(json_arms_carry_plan_observations_and_witnesses)
{
    ENDED_BY(fixture_plots_free) struct result result;
    fixture_plots_make(&machine, &result);
    struct worker_result *worker = &result.arms[0].observations[0].workers[1];
    worker->pages_on_node[3] = 17;
    worker->pages_elsewhere = 2;
    write_run(&result, "complete");
    json_auto_t *run = read_back();
    assert_int_equal(json_array_size(at(run, "arms")), result.narms);
    assert_string_equal(text_at(run, "arms.0.placement"), "none");
    assert_string_equal(text_at(run, "arms.0.plan.status"), "ok");
    assert_true(json_is_false(at(run, "arms.0.alone")));
    assert_true(json_is_null(at(run, "arms.0.same_as")));
    assert_true(json_is_true(at(run, "arms.1.alone")));
    assert_int_equal(number_at(run, "arms.1.workers"), 1);
    assert_int_equal(number_at(run, "arms.1.slots"), 2);
    assert_string_equal(text_at(run, "arms.4.plan.status"), "skipped");
    assert_string_equal(text_at(run, "arms.4.plan.reason"), machine.skip_reason);
    assert_int_equal(json_array_size(at(run, "arms.4.observations")), 0);
    assert_int_equal(json_array_size(at(run, "arms.0.observations")), 2);
    assert_int_equal(number_at(run, "arms.0.observations.1.round"), 1);
    assert_int_equal(json_array_size(at(run, "arms.0.observations.0.workers")), 2);
    json_t *second = at(run, "arms.0.observations.0.workers.1");
    assert_string_equal(text_at(second, "cpus_actual"), "0-1");
    assert_string_equal(text_at(second, "status"), status_name(worker->status));
    assert_true(json_is_boolean(at(second, "censored")));
    assert_real(second, "witness.oncpu_s", worker->usage.oncpu_s);
    assert_true(json_is_null(at(second, "witness.runqueue_s")));
    assert_int_equal(number_at(second, "witness.team_threads"), 2);
    assert_int_equal(number_at(second, "pages_on_node.3"), 17);
    assert_int_equal(number_at(second, "pages_on_node.elsewhere"), 2);
    assert_int_equal(json_object_size(at(second, "pages_on_node")), 2);
}

TEST_IN_DIR(json_before_the_end_is_interrupted)
{
    write_run(NULL, "interrupted");
    json_auto_t *run = read_back();
    assert_string_equal(text_at(run, "status"), "interrupted");
    assert_true(json_is_null(at(run, "ended")));
    assert_int_equal(json_array_size(at(run, "arms")), 0);
}

/* The disk is full: here a limit on file sizes. */
TEST_IN_DIR(json_that_cannot_be_written_leaves_no_part)
{
    ENDED_BY(fixture_plots_free) struct result result;
    struct rlimit saved, tiny;
    struct err err = {0};
    fixture_plots_make(&machine, &result);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &saved), 0);
    tiny = saved;
    tiny.rlim_cur = 100;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0);
    struct run_record record = {.status = "complete", .topo = &topo, .result = &result};
    int rc = run_json_write(fixture_dir_fd, "run.json", &record, NULL, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &saved), 0);
    assert_int_equal(rc, -EFBIG);
    assert_string_equal(err.msg, "cannot write run.json: File too large");
    assert_int_equal(faccessat(fixture_dir_fd, "run.json", F_OK, 0), -1);
}

TEST(json_text_replaces_what_is_not_utf8)
{
    static const char *const texts[][2] = {
        {"plain", "plain"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"cut \xe2\x82", "cut ??"},
        {"\xc0\xaf overlong", "?? overlong"},
        {"\xed\xa0\x80 surrogate", "??? surrogate"},
        {"\xf5\x80\x80\x80", "????"},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        json_auto_t *value = json_value_text(texts[i][0]);
        assert_string_equal(json_string_value(value), texts[i][1]);
    }
    assert_true(json_is_null(json_value_text(NULL)));
    assert_true(json_is_null(json_value_text_or_null("")));
    assert_true(json_is_null(json_value_real((double)NAN)));
    assert_true(json_is_null(json_value_real((double)INFINITY)));
}
