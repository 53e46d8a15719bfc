/* Files that are not a result, or were truncated or edited: one line that says which file and
 * where. */
#include <fcntl.h>
#include <sys/stat.h>

#include "harness/lib/sys/file.h"
#include "harness/record/csv.h"
#include "harness/show/json/recorded.h"
#include "harness/show/json/run_json.h"
#include "harness/verdict/verdict.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static const struct bench *const no_benches[] = {NULL};
static const struct topo topo; /* the fixture's plans hold no pointers into it */

static void write_demo(void)
{
    AUTO(verdict) verdict;
    struct err err = {0};
    DEMO_RESULT(result);
    assert_int_equal(verdict_make(&result, NULL, &verdict, &err), 0);
    const struct run_record record = {.status = "complete",
                                      .ended = 1735732800,
                                      .topo = &topo,
                                      .result = &result,
                                      .verdict = &verdict};
    if (csv_write(fixture_dir_fd, &verdict.analysis, &err) ||
        run_json_write(fixture_dir_fd, "run.json", &record, NULL, &err))
        fail_msg("%s", err.msg);
}

static int set_up(void **state)
{
    if (fixture_make_dir(state))
        return -1;
    write_demo();
    return 0;
}

static void assert_read(int code, const char *pattern)
{
    AUTO(recorded) recorded;
    struct err err = {0};
    int rc = recorded_read(fixture_dir_fd, no_benches, &recorded, &err);
    if (rc != code || (rc && !strstr(err.msg, pattern)))
        fail_msg("%d '%s', expected %d '%s'", rc, err.msg, code, pattern);
}

/* Replaces the first `find` after the first `behind` by `put`. Returns the old text: free() it. */
static char *edit(const char *name, const char *behind, const char *find, const char *put)
{
    char *whole = NULL, *edited = NULL;
    size_t size, length;
    assert_int_equal(file_read(fixture_dir_fd, name, 1 << 30, &whole, &size), 0);
    char *at = strstr(whole, behind);
    at = at ? strstr(at, find) : NULL;
    if (!at)
        fail_msg("%s has no '%s' behind '%s'", name, find, behind);
    FILE *out = open_memstream(&edited, &length);
    assert_non_null(out);
    (void)fprintf(out, "%.*s%s%s", (int)(at - whole), whole, put, at + strlen(find));
    assert_int_equal(fclose(out), 0);
    assert_int_equal(file_write(fixture_dir_fd, name, edited, length), 0);
    free(edited);
    return whole;
}

static const char rounds[] = "rounds.csv", rows[] = "rows.csv", run[] = "run.json";
#define RUN "20240102T030405Z-fixture,"
#define LINE "fixture,none,1,baseline,fixture,rows=64;cols=8;slots=2,sim,"
#define THROUGHPUT LINE "throughput,items/s,higher,"

static const struct {
    const char *file, *behind, *find, *put, *said;
} edits[] = {
    /* Cells with invalid values. */
    {rounds, THROUGHPUT, "8333.3", "fast", "rounds.csv, line 2: value 'fast33333"},
    {rounds, THROUGHPUT, "8333.333333333334", "nan", "line 2: value 'nan' is no number"},
    {rounds, THROUGHPUT, "8333.333333333334", "0x10", "line 2: value '0x10' is no number"},
    {rounds, THROUGHPUT, "8333.333333333334", " 1", "line 2: value ' 1' is no number"},
    {rounds, THROUGHPUT, "8333.333333333334", "1e999", "line 2: value '1e999' is too large"},
    {rounds, THROUGHPUT, "higher,0,", "higher,-1,", "line 2: round '-1' is no whole number"},
    {rounds, THROUGHPUT, "higher", "faster", "line 2: better 'faster' is not"},
    {rounds, THROUGHPUT, ",ok,", ",fine,", "line 2: status 'fine' is none"},
    {rounds, RUN, "throughput", "", "line 2: no metric"},
    {rows, THROUGHPUT, "higher,3,3,", "higher,3,x,", "line 2: samples 'x' is no whole number"},
    /* Lines that are truncated, missing, extra or repeated. */
    {rounds, RUN, ",ok,\n", ",ok\n", "rounds.csv, line 2: not 15 cells"},
    {rounds, RUN, ",ok,\n", ",ok,\"never closed\n", "line 2: not 15 cells"},
    {rounds, "skipped", "cache\n", "cac", "rounds.csv, line 564: it is cut off"},
    {rounds, RUN, RUN THROUGHPUT "0,8333.333333333334,ok,\n",
     RUN THROUGHPUT "0,8333.333333333334,ok,\n" RUN THROUGHPUT "0,8333.333333333334,ok,\n",
     "rounds.csv: throughput has two values in round 0"},
    {rounds, THROUGHPUT "1", "items/s", "s",
     "rounds.csv: throughput is in items/s, higher is better, and in s, higher"},
    {rounds, RUN, "cpus_visited,count,none,0", "round_steps,steps,none,0",
     "rounds.csv: round_steps has two values in round 0"},
    /* Files, or lines, of different runs. */
    {rounds, RUN, RUN, "20240102T030405Z-other,",
     "line 2: of run '20240102T030405Z-other', run.json is of '20240102T030405Z-fixture'"},
    {rounds, RUN, ",none,1,", ",none,2,",
     "line 2: of a configuration that run.json lacks: fixture, none, rows=64"},
    /* Headers. */
    {rows, "run_id", "run_id", "id", "rows.csv, line 1: other columns"},
    {rows, "reason", "reason\n", "reason\r\n", "rows.csv, line 1: lines end in CR LF"},
    /* run.json. */
    {run, "{", "{", "", "run.json, line "},
    {run, "{", "\"arms\"", "\"seed\": 1, \"arms\"", "run.json, line "},
    {run, "{", "\"schema_version\": 2", "\"schema_version\": 3",
     "run.json is of another contend: its files are of schema 3, this version reads 2"},
    {run, "{", "\"schema_version\": 2", "\"schema_version\": -1",
     "run.json is not of a run of contend"},
    {run, "{", "\"rounds_done\": 3", "\"rounds_done\": 4",
     "run.json: rounds_done is no whole number from 1 to 3"},
    {run, "{", "\"rounds_planned\": 3", "\"rounds_planned\": 1000000000000000000",
     "rounds_planned is no whole number from 1 to"},
    {run, "{", "\"run_id\": \"2", "\"run_id\": \"3", "rounds.csv, line 2: of run '2"},
    {run, "{", "\"run_id\"", "\"id\"", "run.json is of a run that measured nothing"},
    {run, "{", "\"arms\"", "\"legs\"", "run.json is of a run that measured nothing"},
    {run, "\"arms\"", "\"workers\": 1", "\"workers\": 1000000000000000000",
     "run.json, arm 0 of arms: workers is no whole number from 1 to 65536"},
    {run, "\"arms\"", "\"placement\": \"none\"", "\"placement\": \"nowhere\"",
     "run.json, arm 0 of arms: "},
    {run, "\"arms\"", "\"cpus\": \"0", "\"cpus\": \"all 0", "run.json, arm 0 of arms: "},
    {run, "\"arms\"", "\"bench\"", "\"chair\"", "run.json, arm 0 of arms: no bench"},
};

TEST_WITHIN(recorded_names_what_was_edited, set_up, fixture_remove_dir)
{
    assert_read(0, "");
    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
        FREED char *whole = edit(edits[i].file, edits[i].behind, edits[i].find, edits[i].put);
        assert_read(-EINVAL, edits[i].said);
        assert_int_equal(file_write(fixture_dir_fd, edits[i].file, whole, strlen(whole)), 0);
    }
    assert_read(0, "");
}

static const struct {
    const char *file, *text;
    int code;
    const char *said;
} texts[] = {
    {run, "{\"schema_version\": 1, \"status\": \"complete\"}", -EINVAL, "are of schema 1, this"},
    {run, "{}", -EINVAL, "run.json is not of a run of contend"},
    {run, "[1, 2]", -EINVAL, "run.json is not of a run of contend"},
    {run, "", -EINVAL, "run.json, line 1: "},
    {run, "{\n\nnonsense", -EINVAL, "run.json, line 3: "},
    {rounds, "", -EINVAL, "rounds.csv is empty"},
    {rounds, "a,b\n", -EINVAL, "rounds.csv, line 1: other columns than this version writes"},
    {rows, "\n", -EINVAL, "rows.csv, line 1: other columns than this version writes"},
};

TEST_WITHIN(recorded_names_what_is_something_else, set_up, fixture_remove_dir)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        write_demo();
        assert_int_equal(
            file_write(fixture_dir_fd, texts[i].file, texts[i].text, strlen(texts[i].text)), 0);
        assert_read(texts[i].code, texts[i].said);
    }
}

TEST_WITHIN(recorded_refuses_a_byte_of_0, set_up, fixture_remove_dir)
{
    FREED char *text;
    size_t size;
    assert_int_equal(file_read(fixture_dir_fd, rows, 1 << 30, &text, &size), 0);
    *strchr(strchr(text, '\n') + 1, '\n') = '\0'; /* the end of line 2 */
    assert_int_equal(file_write(fixture_dir_fd, rows, text, size), 0);
    assert_read(-EINVAL, "rows.csv, line 2: a byte of value 0");
}

/* A run that was ended before its first round leaves a valid result. */
TEST_WITHIN(recorded_tells_a_run_without_a_round_from_damage, set_up, fixture_remove_dir)
{
    FREED char *before = edit(run, "{", "\"rounds_done\": 3", "\"rounds_done\": 0");
    assert_read(-ENODATA, "no round of it was finished");
}

/* Nested deeper than a recursion should follow. */
TEST_WITHIN(recorded_refuses_deep_json, set_up, fixture_remove_dir)
{
    enum { DEEP = 100000 };
    FREED char *text = malloc(DEEP + 1);
    assert_non_null(text);
    memset(text, '[', DEEP);
    assert_int_equal(file_write(fixture_dir_fd, run, text, DEEP), 0);
    assert_read(-EINVAL, "run.json, line 1: maximum parsing depth reached");
}

/* The reader neither waits for such files, nor follows them, nor reads them into memory. */
TEST_WITHIN(recorded_refuses_what_is_no_file, set_up, fixture_remove_dir)
{
    static const char *const names[] = {run, rounds, rows};
    for (size_t i = 0; i < 3; i++) {
        char said[100];
        put_text(said, "%s is no regular file", names[i]);
        assert_int_equal(unlinkat(fixture_dir_fd, names[i], 0), 0);
        assert_int_equal(mkfifoat(fixture_dir_fd, names[i], 0600), 0);
        assert_read(-EINVAL, said);
        assert_int_equal(unlinkat(fixture_dir_fd, names[i], 0), 0);
        assert_int_equal(symlinkat("/etc/passwd", fixture_dir_fd, names[i]), 0);
        assert_read(-EINVAL, said);
        assert_int_equal(unlinkat(fixture_dir_fd, names[i], 0), 0);
        assert_int_equal(mkdirat(fixture_dir_fd, names[i], 0700), 0);
        assert_read(-EINVAL, said);
        assert_int_equal(unlinkat(fixture_dir_fd, names[i], AT_REMOVEDIR), 0);
        put_text(said, i ? "%s is missing" : "cannot read %s: No such file", names[i]);
        assert_read(i == 0 ? -ENOENT : i == 1 ? -EINVAL : 0, said); /* killed runs lack rows.csv */
        write_demo();
    }
}

TEST_WITHIN(recorded_refuses_files_of_gibibytes, set_up, fixture_remove_dir)
{
    static const char *const names[] = {run, rounds, rows};
    for (size_t i = 0; i < 3; i++) {
        char said[100];
        put_text(said, "%s is larger than %d MiB", names[i], i == 1 ? 1024 : 256);
        int fd = file_open_empty(fixture_dir_fd, names[i]);
        assert_int_equal(ftruncate(fd, (off_t)4 << 30), 0); /* sparse */
        (void)close(fd);
        assert_read(-EFBIG, said);
        write_demo();
    }
}
