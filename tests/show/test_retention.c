/* Rows of retention: each value under load relative to the idle team's value in the same round. */
#include "harness/plan/options.h"
#include "harness/record/row.h"
#include "harness/show/figures/figures.h"
#include "harness/show/result.h"
#include "harness/verdict/verdict.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_out.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

enum { ROUNDS = 3, RANKS = 2 };

static const struct bench_metric team_metrics[] = {
    {"wait", "us", "lower", .retention = true}, {"rate", "GB/s", "higher"}, {.name = NULL}};

static const struct bench_figure team_figures[] = {
    {.name = "retention",
     .kind = FIGURE_LINES,
     .metric = "retention",
     .title = "what is kept",
     .x = {"size (bytes, log scale)", 1, .log = true, .bytes = true},
     .y = {"share of the idle speed (ratio, log scale)", .log = true}},
    {.name = NULL},
};

static const struct bench team = {
    .name = "team",
    .metrics = team_metrics,
    .dims = (const struct bench_dim[]){{""}, {"size", DIM_BYTES}, {.name = NULL}},
    .figures = team_figures,
    .scan = fixture_no_scan,
    .gang = true,
};
static const struct bench load = {.name = "load", .ops_unit = "items"};

/* The team's values in one round, at size 8 and at size 64. */
static void add_round(struct arm *arm, unsigned round, double small, double large)
{
    arm->observations =
        realloc(arm->observations, (arm->nobservations + 1) * sizeof(*arm->observations));
    assert_non_null(arm->observations);
    struct observation *o = &arm->observations[arm->nobservations++];
    *o = (struct observation){.round = round, .nworkers = RANKS};
    o->workers = calloc(RANKS, sizeof(*o->workers));
    struct value *values = calloc(3, sizeof(*values));
    assert_true(o->workers && values);
    values[0] = (struct value){.value = small, .metric = 0, .dims = DIMS({1, 8})};
    values[1] = (struct value){.value = large, .metric = 0, .dims = DIMS({1, 64})};
    values[2] = (struct value){.value = 64 / large, .metric = 1, .dims = DIMS({1, 64})};
    o->workers[0].values = values;
    o->workers[0].nvalues = 3;
}

static struct arm *add_arm(struct result *result, enum placement placement, bool alone)
{
    size_t index = fixture_add_arm(result, placement, RANKS, alone);
    struct arm *arm = &result->arms[index];
    arm->bench = &team;
    arm->params = NULL;
    arm->workers = RANKS;
    arm->plan.nworkers = 2 * RANKS;
    return arm;
}

static const struct row *find(const struct verdict *verdict, const char *placement,
                              const char *metric, const char *key, const char *background)
{
    const struct rows *rows = &verdict->analysis.rows;
    for (size_t i = 0; i < rows->n; i++)
        if (!strcmp(rows->row[i].placement, placement) && !strcmp(rows->row[i].metric, metric) &&
            strstr(rows->row[i].params, key) && strstr(rows->row[i].params, background))
            return &rows->row[i];
    return NULL;
}

static void make(struct result *result, struct verdict *verdict)
{
    /* The machine is half as fast in round 1 for both arms: the ratio must not change. */
    const double idle[ROUNDS] = {20, 40, 20}, loaded[ROUNDS] = {100, 200, 80};
    fixture_result_init(result);
    result->background = &load;
    struct arm *none = add_arm(result, PLACE_NONE, false);
    for (unsigned r = 0; r < ROUNDS; r++)
        add_round(none, r, loaded[r], 2 * loaded[r]);
    struct arm *alone = add_arm(result, PLACE_NONE, true);
    for (unsigned r = 0; r < ROUNDS; r++)
        add_round(alone, r, idle[r], idle[r]);
    struct err err = {0};
    if (verdict_make(result, NULL, verdict, &err))
        fail_msg("%s", err.msg);
}

TEST(retention_is_paired_by_round)
{
    ENDED_BY(fixture_result_free) struct result result;
    AUTO(verdict) verdict;
    make(&result, &verdict);
    const struct row *small = find(&verdict, "none", "retention", ";size=8", "background=load:2");
    const struct row *large = find(&verdict, "none", "retention", ";size=64", "background=load:2");
    assert_non_null(small);
    assert_non_null(large);
    assert_near(small->median, 0.2);
    assert_near(small->min, 0.2);
    assert_near(small->max, 0.25);
    assert_near(large->median, 0.1);
    assert_int_equal(small->rounds, ROUNDS);
    assert_string_equal(small->unit, "ratio");
    assert_string_equal(small->better, "higher");
}

TEST(retention_is_of_the_kept_metric_under_load_only)
{
    ENDED_BY(fixture_result_free) struct result result;
    AUTO(verdict) verdict;
    make(&result, &verdict);
    size_t n = 0;
    for (size_t i = 0; i < verdict.analysis.rows.n; i++)
        n += !strcmp(verdict.analysis.rows.row[i].metric, "retention");
    assert_int_equal(n, 2);
    assert_null(find(&verdict, "none", "retention", ";size=8", "background=none"));
    const struct row *idle = find(&verdict, "none", "wait", ";size=8", "background=none");
    assert_non_null(idle);
    assert_near(idle->median, 20);
    assert_int_equal(idle->workers, RANKS);
}

TEST(retention_skips_rounds_without_their_idle_half)
{
    ENDED_BY(fixture_result_free) struct result result;
    AUTO(verdict) verdict;
    make(&result, &verdict);
    verdict_free(&verdict);
    result.arms[1].observations[1].status = STATUS_FAILED;
    assert_int_equal(verdict_make(&result, NULL, &verdict, NULL), 0);
    const struct row *small = find(&verdict, "none", "retention", ";size=8", "background=load:2");
    assert_non_null(small);
    assert_int_equal(small->rounds, ROUNDS - 1);
    assert_near(small->min, 0.2);
    assert_near(small->max, 0.25);
}

TEST(retention_is_as_noisy_as_its_idle_half)
{
    ENDED_BY(fixture_result_free) struct result result;
    AUTO(verdict) verdict;
    make(&result, &verdict);
    verdict_free(&verdict);
    struct observation *disturbed = &result.arms[1].observations[1];
    disturbed->status = STATUS_NOISY;
    put_text(disturbed->reason, "others were here");
    assert_int_equal(verdict_make(&result, NULL, &verdict, NULL), 0);
    const struct row *kept = find(&verdict, "none", "retention", ";size=8", "background=load:2");
    const struct row *loaded = find(&verdict, "none", "wait", ";size=8", "background=load:2");
    assert_true(kept && loaded);
    assert_int_equal(kept->status, STATUS_NOISY);
    assert_has(kept->reason, "its baseline: ");
    assert_has(kept->reason, "others were here");
    assert_int_equal(loaded->status, STATUS_OK);
}

/* Makes the verdict and prints table and findings; the caller frees the text. */
static char *print_table(const struct result *result, struct verdict *verdict)
{
    char *text = NULL;
    assert_int_equal(verdict_make(result, NULL, verdict, NULL), 0);
    FILE *out = unit_print_into(&text);
    AUTO(doc) doc = {0};
    retention_add_to_doc(&verdict->analysis, &doc);
    doc_findings(&doc, &verdict->findings, DOC_LEADING);
    doc_print(&doc, out, false, true);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* The placement that binds to nodes retains 2% more than the one that needs a list of CPUs. */
TEST(retention_recommends_the_simplest_that_keeps_as_much)
{
    static const enum placement placements[] = {PLACE_NONE, PLACE_NUMA, PLACE_PARTITION};
    static const double loaded[] = {100, 20.5, 20.9};
    AUTO(verdict) verdict;
    EMPTY_RESULT(result);
    result.background = &load;
    struct arm *arm = add_arm(&result, PLACE_NONE, true);
    for (unsigned r = 0; r < ROUNDS; r++)
        add_round(arm, r, 20, 150);
    for (size_t i = 0; i < 3; i++) {
        arm = add_arm(&result, placements[i], false);
        for (unsigned r = 0; r < ROUNDS; r++)
            add_round(arm, r, loaded[i], 151);
    }
    FREED char *text = print_table(&result, &verdict);
    assert_has(text, "place --workers 2 --placement partition ");
    assert_lacks(text, "--placement numa");
}

TEST(retention_table_says_what_is_kept)
{
    AUTO(verdict) verdict;
    EMPTY_RESULT(result);
    result.background = &load;
    struct arm *arm = add_arm(&result, PLACE_NONE, false);
    for (unsigned r = 0; r < ROUNDS; r++)
        add_round(arm, r, 100, 200);
    arm = add_arm(&result, PLACE_NONE, true);
    for (unsigned r = 0; r < ROUNDS; r++)
        add_round(arm, r, 20, 150);
    arm = add_arm(&result, PLACE_PARTITION, false);
    for (unsigned r = 0; r < ROUNDS; r++)
        add_round(arm, r, 20.5, 160);
    result.plan = (struct plan_options){.reserve = 4, .cpus = "3,0-1", .mem = 2};
    FREED char *text = print_table(&result, &verdict);
    assert_string_equal(
        text, "team, without load: wait, us\n"
              "size   idle   none   kept  partition   kept\n"
              "8 B    20.0    100    20%       20.5    98%\n"
              "64 B    150    200    75%        160    94%\n"
              "\n"
              "Under 2 background workers (load) team keeps 20% to 75% of its idle speed with\n"
              "placement none, 94% to 98% with partition.\n"
              "to apply it: contend place --workers 2 --placement partition --background-workers 2 "
              "--reserve 4 --cpus 0-1,3 --mem bind\n");
}

/* The least retained values are 50% and 67%, but the rounds of one arm include the other's. */
TEST(retention_advises_what_is_clear)
{
    const double none[ROUNDS] = {40, 20, 60}, partition[ROUNDS] = {30, 35, 28};
    const enum status statuses[] = {STATUS_OK, STATUS_HUNG};
    for (size_t s = 0; s < 2; s++) {
        AUTO(verdict) verdict;
        EMPTY_RESULT(result);
        result.background = &load;
        for (int p = 0; p < 2; p++) {
            struct arm *arm = add_arm(&result, p ? PLACE_PARTITION : PLACE_NONE, false);
            for (unsigned r = 0; r < ROUNDS; r++)
                add_round(arm, r, s ? (p ? 22 : 90) : (p ? partition : none)[r], 150);
            if (p) /* a failed round does not affect the other rounds */
                arm->observations[0].status = statuses[s];
        }
        struct arm *idle = add_arm(&result, PLACE_NONE, true);
        for (unsigned r = 0; r < ROUNDS; r++)
            add_round(idle, r, 20, 150);
        FREED char *text = print_table(&result, &verdict);
        assert_has(text, "with\nplacement none.");
        assert_lacks(text, "to apply it");
    }
}

TEST_IN_DIR(retention_is_drawn_by_size)
{
    ENDED_BY(fixture_result_free) struct result result;
    AUTO(verdict) verdict;
    struct err err = {0};
    if (!fixture_has_gnuplot())
        skip();
    make(&result, &verdict);
    figures_remove(fixture_dir_fd); /* as a run does if an earlier run left figures */
    if (figures_draw(&verdict.analysis, "test machine", true, fixture_dir_fd, NULL, &err))
        fail_msg("%s", err.msg);
    fixture_assert_drawn("retention", 1500);
    fixture_assert_svg_has("retention", "share of the idle speed (ratio, log scale)");
    fixture_assert_svg_has("retention", ">none<");
}
