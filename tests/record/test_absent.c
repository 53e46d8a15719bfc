/* Values that a scan lacks or doubts: from the benchmark to its rows and findings. */
#include "harness/verdict/odd.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static struct value_log values;

static const struct bench_metric metrics_of_scan[] = {{"rate", "GB/s", "higher"}, {.name = NULL}};

enum { BY_GPU = 1, BY_SIZE, BY_I };
static const struct bench_dim dims_of_scan[] = {
    {""}, {"gpu", DIM_GPU}, {"size", DIM_BYTES}, {"i"}, {.name = NULL}};

static const struct bench scan = {
    .name = "scan", .metrics = metrics_of_scan, .dims = dims_of_scan, .scan = fixture_no_scan};

static const struct err broken = {.code = -EIO, .msg = "GPU 1 (0000:08:00.0): it broke"};

static struct bench_ctx new_log(void)
{
    values.n = values.nreasons = 0;
    return (struct bench_ctx){.values = &values};
}

/* A worker that emitted the values of the log. */
static void add_worker(struct observation *o)
{
    o->workers = realloc(o->workers, (o->nworkers + 1) * sizeof(*o->workers));
    assert_non_null(o->workers);
    struct worker_result *worker = &o->workers[o->nworkers++];
    *worker = (struct worker_result){.nvalues = values.n, .nreasons = values.nreasons};
    worker->values = calloc(values.n + 1, sizeof(*worker->values));
    worker->reasons = calloc(values.nreasons + 1, sizeof(*worker->reasons));
    assert_true(worker->values && worker->reasons);
    memcpy(worker->values, values.value, values.n * sizeof(*worker->values));
    memcpy(worker->reasons, values.reason, values.nreasons * sizeof(*worker->reasons));
}

/* A round with one such worker. */
static void add_round(struct arm *arm, unsigned round)
{
    arm->observations =
        realloc(arm->observations, (arm->nobservations + 1) * sizeof(*arm->observations));
    assert_non_null(arm->observations);
    struct observation *o = &arm->observations[arm->nobservations++];
    *o = (struct observation){.round = round};
    add_worker(o);
}

static const struct row *find(const struct rows *rows, const char *key)
{
    for (size_t i = 0; i < rows->n; i++)
        if (strcmp(row_key(rows->row[i].params), key) == 0)
            return &rows->row[i];
    fail_msg("no row of %s", key);
    return NULL;
}

/* Four GPUs: one good, one broken in the second of two rounds, one always missing, one missing in
 * the first round. */
static void emit_round(struct arm *arm, unsigned round)
{
    const struct err missing = {.code = -ENOTSUP, .msg = "GPU 2 is too old"};
    struct bench_ctx ctx = new_log();
    bench_emit(&ctx, 0, 10 + round, DIMS({BY_GPU, 0}));
    if (round == 0)
        bench_emit(&ctx, 0, 20, DIMS({BY_GPU, 1}));
    else
        (void)bench_emit_absent(&ctx, 0, &broken, DIMS({BY_GPU, 1}));
    (void)bench_emit_absent(&ctx, 0, &missing, DIMS({BY_GPU, 2}));
    if (round == 0)
        (void)bench_emit_absent(&ctx, 0, &missing, DIMS({BY_GPU, 3}));
    else
        bench_emit(&ctx, 0, 30, DIMS({BY_GPU, 3}));
    add_round(arm, round);
}

TEST(absent_values_are_rows_with_their_reason)
{
    AUTO(findings) findings = {0};
    EMPTY_RESULT(result);
    size_t index = fixture_add_arm(&result, PLACE_NONE, 1, false);
    struct arm *arm = &result.arms[index];
    arm->bench = &scan;
    arm->params = NULL;
    emit_round(arm, 0);
    emit_round(arm, 1);
    ANALYSED(analysis, &result);
    assert_int_equal(analysis.rows.n, 4);
    const struct row *good = find(&analysis.rows, "gpu=0"), *once = find(&analysis.rows, "gpu=1"),
                     *never = find(&analysis.rows, "gpu=2"), *late = find(&analysis.rows, "gpu=3");
    assert_int_equal(good->status, STATUS_OK);
    assert_near(good->median, 10.5);
    assert_int_equal(once->status, STATUS_FAILED);
    assert_int_equal(once->rounds, 1);
    assert_near(once->median, 20);
    assert_string_equal(once->reason, broken.msg);
    assert_int_equal(never->status, STATUS_SKIPPED);
    assert_int_equal(never->rounds, 0);
    assert_true(isnan(never->median) && isnan(never->min) && isnan(never->ci_low));
    assert_string_equal(never->reason, "GPU 2 is too old");
    assert_int_equal(late->status, STATUS_OK);
    assert_int_equal(late->rounds, 1);
    assert_near(late->median, 30);
    statuses_find(&analysis, &findings);
    assert_int_equal(findings.n, 2);
    assert_string_equal(findings.all[0].subject, "scan");
    assert_string_equal(findings.all[0].id, "failed");
    assert_int_equal(findings.all[0].severity, FINDING_BAD);
    assert_string_equal(findings.all[0].sentence, "failed: GPU 1 (0000:08:00.0): it broke");
    assert_int_equal(findings.all[1].severity, FINDING_NOTE);
}

static const struct bench_metric metrics_of_each[] = {{"sum", "", "higher", .over = OVER_SUM},
                                                      {"most", "", "lower", .over = OVER_MOST},
                                                      {"mean", "", "none", .over = OVER_MEAN},
                                                      {.name = NULL}};
static const struct bench each = {
    .name = "each", .metrics = metrics_of_each, .dims = dims_of_scan, .scan = fixture_no_scan};

/* In the second round one of three workers emits nothing: then the others do not stand for all. */
TEST(absent_of_one_worker_is_absent_of_all)
{
    static const double own[] = {2, 6, 4}, expected[] = {12, 6, 4};
    EMPTY_RESULT(result);
    size_t index = fixture_add_arm(&result, PLACE_NONE, 3, false);
    struct arm *arm = &result.arms[index];
    arm->bench = &each;
    arm->params = NULL;
    for (unsigned round = 0; round < 2; round++)
        for (unsigned w = 0; w < 3; w++) {
            struct bench_ctx ctx = new_log();
            for (unsigned metric = 0; metric < 3 && (round == 0 || w != 1); metric++)
                bench_emit(&ctx, metric, own[w], NO_DIMS);
            if (w == 0)
                add_round(arm, round);
            else
                add_worker(&arm->observations[round]);
        }
    ANALYSED(analysis, &result);
    for (unsigned metric = 0; metric < 3; metric++) {
        const struct row *row = NULL;
        for (size_t i = 0; i < analysis.rows.n; i++)
            if (!strcmp(analysis.rows.row[i].metric, metrics_of_each[metric].name))
                row = &analysis.rows.row[i];
        assert_non_null(row);
        assert_int_equal(row->rounds, 1);
        assert_near(row->median, expected[metric]);
    }
}

/* In both rounds one of two values comes from caches; the second round as a whole was disturbed. */
static void make_doubtful(struct result *result, bool disturbed)
{
    static const char why[] = "arrays of 1 MiB below twice the cache";
    fixture_result_init(result);
    size_t index = fixture_add_arm(result, PLACE_NONE, 1, false);
    struct arm *arm = &result->arms[index];
    arm->bench = &scan;
    arm->params = NULL;
    for (unsigned round = 0; round < 2; round++) {
        struct bench_ctx ctx = new_log();
        bench_emit_doubt(&ctx, 0, 10 + round, why, DIMS({BY_SIZE, 1}));
        bench_emit_doubt(&ctx, 0, 5, "", DIMS({BY_SIZE, 9}));
        add_round(arm, round);
    }
    if (!disturbed)
        return;
    arm->observations[1].status = STATUS_NOISY;
    strcpy(arm->observations[1].reason, "steal 12%");
}

static void check_doubtful(bool disturbed, const char *cached, const char *other, size_t nfindings)
{
    ENDED_BY(fixture_result_free) struct result result;
    AUTO(findings) findings = {0};
    char buf[256];
    make_doubtful(&result, disturbed);
    ANALYSED(analysis, &result);
    assert_int_equal(analysis.rows.n, 2);
    const struct row *small = find(&analysis.rows, "size=1"), *big = find(&analysis.rows, "size=9");
    assert_int_equal(small->status, STATUS_NOISY);
    assert_near(small->median, 10.5);
    assert_string_equal(small->reason, cached);
    assert_int_equal(big->status, disturbed ? STATUS_NOISY : STATUS_OK);
    assert_string_equal(big->reason, other);
    assert_string_equal(row_doubt(small, &analysis.rounds.arms[0]),
                        "arrays of 1 MiB below twice the cache");
    assert_string_equal(row_doubt(big, &analysis.rounds.arms[0]), "");
    (void)values_format_reason(&result, &analysis.rounds, 0, &analysis.values.value[1], buf,
                               sizeof(buf));
    assert_string_equal(buf, disturbed ? "arrays of 1 MiB below twice the cache; steal 12%"
                                       : "arrays of 1 MiB below twice the cache");
    assert_int_equal(analysis.values.value[1].status, STATUS_NOISY);
    statuses_find(&analysis, &findings);
    assert_int_equal(findings.n, nfindings);
    const struct finding *last = &findings.all[nfindings - 1];
    assert_int_equal(last->severity, FINDING_DOUBT);
    assert_string_equal(last->sentence, "noisy: arrays of 1 MiB below twice the cache");
}

TEST(absent_doubtful_values_are_noisy_rows)
{
    check_doubtful(false, "arrays of 1 MiB below twice the cache", "", 1);
    check_doubtful(true, "arrays of 1 MiB below twice the cache; 1 of 2 rounds: steal 12%",
                   "1 of 2 rounds: steal 12%", 2);
}

/* A team without background load has its own table, where bounds are marked as such. */
TEST(absent_doubt_of_a_team_without_load_is_told)
{
    struct bench team = scan;
    team.gang = true;
    EMPTY_RESULT(result);
    size_t index = fixture_add_arm(&result, PLACE_NONE, 1, true);
    struct arm *arm = &result.arms[index];
    arm->bench = &team;
    arm->params = NULL;
    struct bench_ctx ctx = new_log();
    bench_emit_doubt(&ctx, 0, 5, "at least", DIMS({BY_SIZE, 1}));
    add_round(arm, 0);
    ANALYSED(analysis, &result);
    const struct row *row = find(&analysis.rows, "size=1");
    assert_string_equal(row_doubt(row, &analysis.rounds.arms[0]), "at least");
}

/* Two arms have values with a common reason; the first arm also has a value with its own reason. */
TEST(absent_values_of_several_arms_share_a_finding)
{
    AUTO(analysis) analysis = {0};
    AUTO(findings) findings = {0};
    struct err err;
    const struct err missing = {.code = -ENOTSUP, .msg = "GPU 2 is too old"};
    EMPTY_RESULT(result);
    for (unsigned a = 0; a < 2; a++) {
        size_t index = fixture_add_arm(&result, a ? PLACE_SIZED : PLACE_NONE, 1, false);
        struct bench_ctx ctx = new_log();
        result.arms[index].bench = &scan;
        result.arms[index].params = NULL;
        bench_emit(&ctx, 0, 10, DIMS({BY_GPU, 0}));
        for (int i = 0; i < 3; i++)
            (void)bench_emit_absent(&ctx, 0, &missing, DIMS({BY_GPU, 2}, {BY_I, i}));
        if (a == 0)
            (void)bench_emit_absent(&ctx, 0, &broken, DIMS({BY_GPU, 1}));
        add_round(&result.arms[index], 0);
    }
    assert_int_equal(analysis_make(&result, &analysis, &err), 0);
    statuses_find(&analysis, &findings);
    assert_int_equal(findings.n, 2);
    assert_string_equal(findings.all[0].subject, "scan, none; sized");
    assert_string_equal(findings.all[0].sentence, "skipped: GPU 2 is too old");
    assert_string_equal(findings.all[1].subject, "scan, none");
}

/* More values than the log has room for reasons; all of them share two reasons. */
TEST(absent_values_share_reasons)
{
    struct bench_ctx ctx = new_log();
    const struct err other = {.code = -EIO, .msg = "another"};
    for (int i = 0; i < 2 * VALUE_REASONS_MAX; i++)
        (void)bench_emit_absent(&ctx, 0, i % 2 ? &broken : &other, DIMS({BY_I, i}));
    assert_int_equal(values.nreasons, 2);
    assert_int_equal(values.value[4].reason, 1);
    assert_int_equal(values.value[5].reason, 2);
}

TEST(absent_values_without_room_have_a_reason)
{
    struct bench_ctx ctx = new_log();
    for (int i = 0; i < VALUE_REASONS_MAX + 10; i++) {
        struct err why = {.code = -EIO};
        put_text(why.msg, "reason %d", i);
        (void)bench_emit_absent(&ctx, 0, &why, DIMS({BY_I, i}));
    }
    assert_int_equal(values.nreasons, VALUE_REASONS_MAX);
    assert_int_equal(values.value[VALUE_REASONS_MAX + 9].reason, VALUE_REASONS_MAX);
}
