/* harness/validate/fleet_read.h: results of machines, read from a directory. */
#include "harness/validate/fleet_read.h"

#include "harness/record/row.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

static char reported[4096];

static void report(const char *line)
{
    put_text(reported, "%s", line);
}

static const struct bench_metric metrics[] = {
    {.name = "rate", .unit = "GB/s", .better = "higher", .gating = true},
    {.name = "other", .unit = "s", .better = "higher"},
    {.name = NULL}};
static const struct bench b = {.name = "b", .metrics = metrics};
static const struct bench *const benches[] = {&b, NULL};

#define RECORD(name)                                                                               \
    "{\"schema_version\": 2, \"status\": \"complete\", \"started\": \"2026-11-22T10:00:00Z\",\n"   \
    "\"environment\": {\"hostname\": \"" name "\"},\n"                                             \
    "\"topology\": {\"cpu_model\": \"Xeon\", \"packages\": 2, \"cpus\": {\"count\": 64},\n"        \
    "\"gpus\": [{\"name\": \"H200\"}, {\"name\": \"H200\"}]}, \"arms\": [{\"x\": [1, 2]}]}\n"
#define ROW(metric, role, unit, median)                                                            \
    "id,s,none,2," role ",b,x=1;slots=2,cuda," metric "," unit ",higher,3,3," median ",,,,,,,ok,"  \
    "\n"
#define HEADER ROW_COLUMNS "\n"

static int read_all(struct fleet *fleet, struct fleet_found *found)
{
    *fleet = (struct fleet){.benches = benches};
    *found = (struct fleet_found){0};
    reported[0] = '\0';
    int rc = fleet_read(fixture_dir, report, fleet, found, NULL);
    return rc ? rc : fleet_arrange(fleet, NULL);
}

TEST_IN_DIR(what_counts_is_read)
{
    AUTO(fleet) fleet;
    struct fleet_found found;
    fixture_put("/n1/deep/run/run.json", RECORD("n1"));
    fixture_put(
        "/n1/deep/run/rows.csv",
        HEADER ROW("rate", "foreground", "GB/s", "12.5") ROW("other", "foreground", "s", "1")
            ROW("rate", "baseline", "GB/s",
                "7") "id,s,none,2,foreground,b,x=1;slots=2;variant=a,cuda,rate,GB/s,higher,3,3,"
                     "9,,,,,,,ok,\n");
    fixture_put("/n2/run.json", RECORD("n2"));
    fixture_put("/n2/rows.csv",
                HEADER ROW("rate", "foreground", "GB/s",
                           "13") "id,s,none,2,foreground,b,x=1;slots=2,cuda,status,,none,0,0,,,,,,"
                                 ",,failed,\"no, memory\"\n");
    fixture_put("/.hidden/run.json", RECORD("n3"));
    fixture_put("/1/2/3/4/5/run.json", RECORD("n4"));
    assert_int_equal(read_all(&fleet, &found), 0);
    assert_int_equal(found.results, 2);
    assert_int_equal(found.damaged, 0);
    assert_int_equal(fleet.names.n, 2);
    assert_int_equal(fleet.keys.n, 1);
    assert_int_equal(fleet.ncells, 2);
    assert_true(fleet.cells[0].value > 12.4 && fleet.cells[0].value < 12.6);
    assert_string_equal(intern_text(&fleet.kinds, fleet.machines[0].kind),
                        "2 x Xeon, 64 CPUs, 2 x H200");
    assert_string_equal(fleet_missing_reason_of(&fleet, 1, intern_text(&fleet.keys, 0)),
                        "b: failed: no, memory");
    assert_string_equal(fleet_missing_reason_of(&fleet, 0, intern_text(&fleet.keys, 0)), "");
    assert_int_equal(fleet.machines[1].newest, 20261122100000);
}

/* A figure has no value if other rounds of it failed: the speed of a wrong result does not
 * count. */
TEST_IN_DIR(a_row_that_failed_is_no_figure)
{
    AUTO(fleet) fleet;
    struct fleet_found found;
    fixture_put("/n1/run.json", RECORD("n1"));
    fixture_put("/n1/rows.csv",
                HEADER "id,s,none,2,foreground,b,x=1;slots=2,cuda,rate,GB/s,higher,2,2,13,,,,,,,"
                       "failed,1 of 3 rounds: a wrong result\n");
    assert_int_equal(read_all(&fleet, &found), 0);
    assert_int_equal(found.results, 1);
    assert_int_equal(fleet.ncells, 0);
    assert_string_equal(
        fleet_missing_reason_of(&fleet, 0, "s\037none\0372\037\037b\037\037\037rate"),
        "b: failed: 1 of 3 rounds: a wrong result");
}

/* The reason for a missing figure comes from its own arm, not from a skip of another arm. */
TEST_IN_DIR(troubles_are_of_their_arms)
{
#define TROUBLE(placement, bench, status, reason)                                                  \
    "id,s," placement ",2,foreground," bench ",x=1;slots=2,cuda,status,,none,0,0,,,,,,,," status   \
    "," reason "\n"
    struct fleet fleet;
    struct fleet_found found;
    fixture_put("/n1/run.json", RECORD("n1"));
    fixture_put("/n1/rows.csv",
                HEADER TROUBLE("cores", "b", "skipped", "no SMT")
                    TROUBLE("none", "b", "skipped", "too slow") TROUBLE("none", "c", "failed", "no")
                        TROUBLE("none", "b", "failed", "no memory")
                            TROUBLE("none", "b", "failed", "later"));
    assert_int_equal(read_all(&fleet, &found), 0);
    assert_int_equal(found.damaged, 0);
    static const struct {
        const char *key, *why;
    } all[] = {{"s\037none\0372\037\037b\037\037\037rate", "b: failed: no memory"},
               {"s\037none\0374\037\037c\037\037\037rate", "c: failed: no"},
               {"s\037cores\0372\037\037b\037\037\037rate", "b: skipped: no SMT"},
               {"s\037cores\0372\037\037c\037\037\037rate", ""},
               {"t\037none\0372\037\037b\037\037\037rate", ""}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        assert_string_equal(fleet_missing_reason_of(&fleet, 0, all[i].key), all[i].why);
    fleet_free(&fleet);
#undef TROUBLE
}

/* A directory that is given twice, or inside another given one, counts once. */
TEST_IN_DIR(a_run_counts_once)
{
    static const char record[] =
        "{\"schema_version\": 2, \"run_id\": \"r1\", \"started\": \"2026-11-22T10:00:00Z\",\n"
        "\"environment\": {\"hostname\": \"n1\"}, \"topology\": {}}\n";
    AUTO(fleet) fleet;
    struct fleet_found found;
    fixture_put("/n1/run.json", record);
    fixture_put("/n1/rows.csv", HEADER ROW("rate", "foreground", "GB/s", "12.5"));
    fixture_put("/copy/run.json", record);
    fixture_put("/copy/rows.csv", HEADER ROW("rate", "foreground", "GB/s", "12.5"));
    fleet = (struct fleet){.benches = benches};
    found = (struct fleet_found){0};
    assert_int_equal(fleet_read(fixture_dir, report, &fleet, &found, NULL), 0);
    assert_int_equal(fleet_read(fixture_dir, report, &fleet, &found, NULL), 0);
    assert_int_equal(fleet_arrange(&fleet, NULL), 0);
    assert_int_equal(found.results, 1);
    assert_int_equal(found.again, 3);
    assert_int_equal(fleet.nvalues, 1);
}

/* Expects that a result with these texts is unusable, and reported so. */
static void refuse(const char *record, const char *rows, const char *expected)
{
    AUTO(fleet) fleet;
    struct fleet_found found;
    char line[4096];
    fixture_put("/n1/run.json", record);
    fixture_put("/n1/rows.csv", rows);
    assert_int_equal(read_all(&fleet, &found), 0);
    assert_int_equal(found.results, 0);
    assert_int_equal(found.damaged, 1);
    put_text(line, "'%s/n1': %s", fixture_dir, expected);
    assert_string_equal(reported, line);
}

TEST_IN_DIR(damage_is_told_by_file_and_line)
{
    refuse(RECORD("n"), HEADER ROW("rate", "foreground", "GB/s", "nan"),
           "rows.csv, line 2: median 'nan' is no number");
    refuse(RECORD("n"),
           HEADER ROW("rate", "foreground", "GB/s", "1") ROW("rate", "foreground", "GB/s", "1"),
           "rows.csv, line 3: a second row of the same figure");
    refuse("{\"schema_version\": 1}", HEADER,
           "run.json: schema_version is 1, and this version reads 2");
    refuse("{\"schema_version\": 2, \"environment\": {\"hostname\": \"n\"}, \"started\": \"20",
           HEADER, "run.json: it has no started, or is cut off");
}

TEST_IN_DIR(no_result_is_an_error)
{
    AUTO(fleet) fleet;
    struct fleet_found found;
    assert_int_equal(read_all(&fleet, &found), -ENOENT);
}

/* A validate.json that is truncated within a name gets one line. */
TEST(a_cut_validation_is_told_in_a_line)
{
    AUTO(fleet) fleet = {0};
    struct err err = {0};
    const char text[] = "{\"schema\": 1, \"ho\n";
    assert_int_equal(fleet_add_validation_text(text, strlen(text), &fleet, &err), -EINVAL);
    assert_has(err.msg, "validate.json, line 1: ");
    assert_null(strchr(err.msg, '\n'));
}

TEST_IN_DIR(names_of_machines_command_no_terminal)
{
    AUTO(fleet) fleet;
    struct fleet_found found;
    const char validation[] =
        "{\"schema\": 1, \"host\": \"n2\\u001b[2J\", \"utc\": \"2026-11-22T10:00:00Z\", "
        "\"verdict\": "
        "\"PASS\", \"machine\": {\"parts\": {\"cpu_model\": \"a\\u0007b\"}}, \"measured\": []}";
    fixture_put("/n1/run.json", RECORD("n1\\u001b[2J"));
    fixture_put("/n1/rows.csv", HEADER ROW("rate", "foreground", "GB/s", "12.5"));
    assert_int_equal(read_all(&fleet, &found), 0);
    assert_string_equal(intern_text(&fleet.names, 0), "n1 [2J");
    assert_int_equal(fleet_add_validation_text(validation, strlen(validation), &fleet, NULL), 0);
    assert_string_equal(intern_text(&fleet.names, 1), "n2 [2J");
    assert_string_equal(intern_text(&fleet.kinds, 1), "1 x a b, 0 CPUs");
}

#define VALIDATION(day, verdict, text)                                                             \
    "{\"schema\": 1, \"host\": \"n1\", \"utc\": \"2026-11-" day                                    \
    "T10:00:00Z\", \"verdict\": \"" verdict "\", \"text\": \"" text                                \
    "\", \"machine\": {\"parts\": {}}, \"measured\": []}"

/* The latest validation counts, in any order of reading. */
TEST(a_validation_says_whether_its_machine_passed)
{
    static const char *const texts[] = {
        VALIDATION("22", "FAIL", "FAIL: 1 rule (ecc)"),
        VALIDATION("23", "PASS", "PASS: 12 rules"),
        VALIDATION("21", "FAIL", "FAIL: 2 rules (a, b)"),
        VALIDATION("24", "SKIP", "SKIP: nothing was judged, 2 skipped"),
        VALIDATION("25", "ERROR", ""),
        VALIDATION("26", "SKIP", "SKIP: nothing was judged, 2 skipped"),
        VALIDATION("27", "SKIP",
                   "SKIP: no GPU was judged\", \"counts\": {\"PASS\": 9}, \"x\": \"")};
    static const char *const verdicts[] = {
        "FAIL: 1 rule (ecc)",     "", "", "", "did not pass", "did not pass",
        "SKIP: no GPU was judged"};
    AUTO(fleet) fleet = {0};
    struct err err = {0};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (fleet_add_validation_text(texts[i], strlen(texts[i]), &fleet, &err))
            fail_msg("%s", err.msg);
        assert_string_equal(fleet.machines[0].verdict, verdicts[i]);
        assert_int_equal(fleet.machines[0].inconclusive, i == 6);
    }
    assert_int_equal(fleet.names.n, 1);
}
