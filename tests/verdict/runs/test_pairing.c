/* Pairing rows of several runs: which rows belong together, and which may not. */
#include "harness/verdict/runs/pairing.h"
#include "tests/lib/unit.h"

enum { ROWS = 4 };

/* Two runs whose rows tests change before the pairing; begin() ends those before. */
static struct two {
    struct row rows[2][ROWS];
    struct analysis analyses[2];
    const struct analysis *runs[2];
    struct pairing_runs sides[PAIRING_SIDES];
    struct pairing pairing;
    struct err err;
} two;

static struct row make_row(const char *placement, const char *metric)
{
    struct row row = {.scenario = "pipeline",
                      .placement = placement,
                      .role = "foreground",
                      .bench = "pipeline",
                      .device = "cuda",
                      .workers = 2,
                      .planned_workers = 2,
                      .metric = metric,
                      .better = "lower",
                      .median = 1};
    put_text(row.unit, "s");
    put_text(row.params, "rows=64;slots=2");
    return row;
}

static void begin(void)
{
    pairing_free(&two.pairing);
    two = (struct two){0};
    for (int run = 0; run < 2; run++) {
        two.rows[run][0] = make_row("none", "step_time");
        two.rows[run][1] = make_row("none", "throughput");
        two.rows[run][2] = make_row("partition", "step_time");
        two.rows[run][3] = make_row("sized", "step_time");
        two.analyses[run].rows = (struct rows){.n = ROWS, .row = two.rows[run]};
        two.runs[run] = &two.analyses[run];
    }
    two.sides[PAIRING_BASE] = (struct pairing_runs){"base", 1, &two.runs[0]};
    two.sides[PAIRING_OTHER] = (struct pairing_runs){"new", 1, &two.runs[1]};
}

static int pair(void)
{
    return pairing_make(two.sides, &two.pairing, &two.err);
}

TEST(pairing_keeps_the_order_of_the_first_side)
{
    begin();
    struct row moved = two.rows[1][0];
    two.rows[1][0] = two.rows[1][3];
    two.rows[1][3] = moved;
    assert_int_equal(pair(), 0);
    assert_int_equal(two.pairing.n, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        const struct pair *one = &two.pairing.pairs[i];
        assert_ptr_equal(one->rows[PAIRING_BASE]->row, &two.rows[0][i]);
        assert_int_equal(one->n[PAIRING_OTHER], 1);
        assert_int_equal(one->n[PAIRING_HISTORY], 0);
        assert_string_equal(one->rows[PAIRING_OTHER]->row->placement, two.rows[0][i].placement);
    }
    assert_true(pair_is_of_same_arm(&two.pairing.pairs[0], &two.pairing.pairs[1]));
    assert_false(pair_is_of_same_arm(&two.pairing.pairs[0], &two.pairing.pairs[2]));
}

/* Columns that distinguish rows: with each of them the two sides have one more pair. */
TEST(pairing_tells_rows_apart_by_every_column)
{
    for (int column = 0; column < 8; column++) {
        begin();
        struct row *row = &two.rows[1][2];
        if (column == 0)
            row->device = "sim";
        else if (column == 1)
            row->scenario = "train";
        else if (column == 2)
            row->placement = "numa";
        else if (column == 3)
            row->role = "baseline";
        else if (column == 4)
            row->bench = "train";
        else if (column == 5)
            put_text(row->params, "rows=65;slots=2");
        else if (column == 6)
            row->workers = 1;
        else
            row->metric = "helper_cpu";
        assert_int_equal(pair(), 0);
        assert_int_equal(two.pairing.n, ROWS + 1);
        assert_int_equal(two.pairing.pairs[2].n[PAIRING_OTHER], 0);
        assert_int_equal(two.pairing.pairs[ROWS].n[PAIRING_BASE], 0);
    }
}

TEST(pairing_refuses_two_rows_of_the_same)
{
    begin();
    two.rows[1][3] = two.rows[1][2];
    assert_int_equal(pair(), -EINVAL);
    assert_has(two.err.msg, "duplicate rows");
}

TEST(pairing_refuses_other_units_and_directions)
{
    begin();
    put_text(two.rows[1][0].unit, "ms");
    assert_int_equal(pair(), -EINVAL);
    assert_has(two.err.msg, "not the same metric");
    begin();
    two.rows[1][0].better = "higher";
    assert_int_equal(pair(), -EINVAL);
}

TEST(pairing_finds_why_an_arm_has_no_rows)
{
    begin();
    two.rows[1][2].metric = VALUE_STATUS;
    two.rows[1][2].status = STATUS_FAILED;
    assert_int_equal(pair(), 0);
    const struct row *why;
    const struct pairing *pairing = &two.pairing;
    assert_int_equal(pairing_count_ended(pairing, &pairing->pairs[2], PAIRING_OTHER, 1, &why), 1);
    assert_ptr_equal(why, &two.rows[1][2]);
    assert_int_equal(pairing_count_ended(pairing, &pairing->pairs[0], PAIRING_OTHER, 1, &why), 0);
    assert_null(why);
}

/* Sets arm and parameters of all rows; other_last: of the last row of the other run, or NULL. */
static void set_params(const struct arm *arm, const char *base, const char *other,
                       const char *other_last)
{
    for (int run = 0; run < 2; run++)
        for (int row = 0; row < ROWS; row++) {
            const char *last = row == ROWS - 1 ? other_last : NULL;
            two.rows[run][row].arm = arm;
            put_text(two.rows[run][row].params, "%s", !run ? base : last ? last : other);
        }
}

/* Runs of a contend that lacks a parameter, and of one that has it. */
TEST(pairing_of_new_parameters)
{
    static const struct opt opts[] = {{.name = "rows", .kind = OPT_TEXT, .def = "64"},
                                      {.name = "grain", .kind = OPT_TEXT, .def = "0"},
                                      {.name = NULL}};
    static const struct {
        const char *base, *other, *other_last; /* of the last row; NULL = `other` */
        size_t pairs;
    } cases[] = {
        {"rows=64;slots=2", "rows=64;slots=2", NULL, ROWS},
        {"rows=64;slots=2", "rows=64;grain=0;slots=2", NULL, ROWS},
        {"grain=0;rows=64;slots=2;background=none", "rows=64;slots=2;background=none", NULL, ROWS},
        {"rows=64;slots=2", "rows=64;grain=5;slots=2", NULL, 2 * ROWS},
        {"rows=64;slots=2", "rows=64;grain=0;slots=2", "rows=64;grain=9;slots=2", ROWS + 1},
        {"rows=32;slots=2", "rows=64;grain=0;slots=2", NULL, 2 * ROWS},
        {"rows=64;grain=1;slots=2", "rows=64;grain=0;slots=2", NULL, 2 * ROWS},
        {"rows=64;slots=2;grain=4", "rows=64;grain=0;slots=2", NULL, 2 * ROWS},
        {"rows=64;gone=7;slots=2", "rows=64;slots=2", NULL, 2 * ROWS}, /* no default is known */
    };
    const struct bench bench = {.name = "pipeline", .opts = opts};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arm arm = {.bench = &bench};
        begin();
        set_params(&arm, cases[i].base, cases[i].other, cases[i].other_last);
        assert_int_equal(pair(), 0);
        if (two.pairing.n != cases[i].pairs)
            fail_msg("case %zu: %zu pairs", i, two.pairing.n);
    }
}

/* As histories over several versions name a series. */
TEST(params_without_defaults)
{
    static const struct opt opts[] = {{.name = "rows", .kind = OPT_TEXT, .def = "64"},
                                      {.name = "gone", .kind = OPT_TEXT},
                                      {.name = "size", .kind = OPT_SIZE, .max = 1e12, .def = "64M"},
                                      {.name = NULL}};
    static const char *const cases[][2] = {{"rows=64;slots=2", "slots=2"},
                                           {"rows=32;slots=2", "rows=32;slots=2"},
                                           {"slots=2;rows=64", "slots=2;rows=64"}, /* in a key */
                                           {"size=67108864;slots=2", "slots=2"},
                                           {"size=64;gone=;slots=2", "size=64;slots=2"},
                                           {"gone=1;rows=64;slots=2;x=1", "gone=1;slots=2;x=1"},
                                           {"", ""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(params_without_defaults(opts, cases[i][0]), cases[i][1]);
    assert_string_equal(params_without_defaults(NULL, "rows=64"), "rows=64");
}

/* Across placements, one of each side is paired; other rows of either side are left out. */
TEST(pairing_across_placements)
{
    static const struct bench bench = {.name = "pipeline"};
    static const struct arm arm = {.bench = &bench};
    begin();
    for (int run = 0; run < 2; run++)
        for (size_t i = 0; i < ROWS; i++)
            two.rows[run][i].arm = &arm;
    two.sides[PAIRING_BASE].placement = "partition";
    two.sides[PAIRING_OTHER].placement = "sized";
    assert_int_equal(pair(), 0);
    assert_int_equal(two.pairing.n, 1);
    const struct pair *only = &two.pairing.pairs[0];
    assert_ptr_equal(only->rows[PAIRING_BASE]->row, &two.rows[0][2]);
    assert_ptr_equal(only->rows[PAIRING_OTHER]->row, &two.rows[1][3]);
}

/* A control says how the machine changed, and keeps its own placement. */
TEST(pairing_across_placements_keeps_controls)
{
    static const struct bench bench = {.name = "pipeline"};
    static const struct arm control = {.bench = &bench, .is_control = true},
                            arm = {.bench = &bench};
    begin();
    for (int run = 0; run < 2; run++)
        for (size_t i = 0; i < ROWS; i++)
            two.rows[run][i].arm = i < 2 ? &control : &arm;
    two.sides[PAIRING_BASE].placement = "partition";
    two.sides[PAIRING_OTHER].placement = "sized";
    assert_int_equal(pair(), 0);
    assert_int_equal(two.pairing.n, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(two.pairing.pairs[i].n[PAIRING_BASE] && two.pairing.pairs[i].n[PAIRING_OTHER]);
}
