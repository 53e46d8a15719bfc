/*
 * harness/cmd/session/run_dir.c and harness/record/directory.c: however and wherever a run
 * ends, the directory has one complete result, of this run or of an earlier one. Files that no run
 * wrote stay untouched.
 */
#include "harness/cmd/session/run_dir.h"
#include "harness/show/figures/figures.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

enum { DIED = 9, ROUNDS = 3, LINES_A_ROUND = 4 };

/*
 * The functions below replace libc's. The process dies in the call_to_die_in-th of these calls:
 * before a name changes, or in the middle of a write.
 */
static int call_to_die_in; /* 0 = never */

static size_t bytes_written; /* by pwrite */

static int write_to_fail; /* the disk is full in the write_to_fail-th pwrite; 0 = never */

static bool dies_here(void)
{
    return call_to_die_in && !--call_to_die_in;
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    if (dies_here())
        _exit(DIED);
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

int unlinkat(int dir_fd, const char *name, int flags)
{
    if (dies_here())
        _exit(DIED);
    return (int)syscall(SYS_unlinkat, dir_fd, name, flags);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    bool dies = dies_here();
    if (write_to_fail && !--write_to_fail) {
        errno = ENOSPC;
        return -1;
    }
    ssize_t n = syscall(SYS_pwrite64, fd, bytes, dies ? size / 2 : size, offset);
    bytes_written += n > 0 ? (size_t)n : 0;
    if (dies)
        _exit(DIED);
    return n;
}

/* All tests run in a new directory, in which "d" is the result directory. */
static struct rlimit file_size;

static int set_up(void **state)
{
    (void)signal(SIGXFSZ, SIG_IGN);
    return fixture_make_dir(state) || chdir(fixture_dir) || getrlimit(RLIMIT_FSIZE, &file_size);
}

static int tear_down(void **state)
{
    (void)setrlimit(RLIMIT_FSIZE, &file_size);
    return chdir("/") || fixture_remove_dir(state);
}

/* A file's bytes as a string; the caller frees it. NULL if the file does not exist. */
static char *slurp(const char *path)
{
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    assert_int_equal(fstat(fd, &stat), 0);
    char *text = calloc(1, (size_t)stat.st_size + 1);
    assert_non_null(text);
    assert_int_equal(read(fd, text, (size_t)stat.st_size), stat.st_size);
    (void)close(fd);
    return text;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static bool is_there(const char *path)
{
    return !access(path, F_OK);
}

static void assert_text(const char *path, const char *want)
{
    FREED char *got = slurp(path);
    assert_non_null(got);
    assert_string_equal(got, want);
}

/* A run by hand, of two workers with two steps each. */
struct session {
    struct run_dir run_dir;
    struct result result;
    struct run_record record;
    size_t arm;
};

static char program[] = "contend", command[] = "run";
static char *argv[] = {program, command, NULL};

static int begin(struct session *s, const char *out, const char *run_id, struct err *err)
{
    *s = (struct session){0};
    fixture_result_init(&s->result);
    put_text(s->result.run_id, "%s", run_id);
    s->result.rounds_done = 0;
    s->arm = fixture_add_arm(&s->result, PLACE_NONE, 2, false);
    s->record = (struct run_record){.status = "interrupted",
                                    .argc = 2,
                                    .argv = argv,
                                    .started = 1735732800,
                                    .result = &s->result};
    const struct run_dir_request request = {
        .out = out, .host = "h", .scenario = "fixture", .remove_figures = figures_remove};
    return run_dir_open(&s->run_dir, &request, &s->record, err);
}

static int one_round(struct session *s, struct err *err)
{
    unsigned round = s->result.rounds_done++;
    (void)fixture_add_round(&s->result, s->arm, round, (double[]){10, 20}, 2);
    AUTO(verdict) verdict;
    int rc = verdict_make(&s->result, NULL, &verdict, err);
    s->record.verdict = &verdict;
    if (!rc)
        rc = run_dir_round(&s->run_dir, &s->record, round, err);
    s->record.verdict = NULL;
    return rc;
}

static int end(struct session *s, const char *status, struct err *err)
{
    AUTO(verdict) verdict;
    s->record.status = status;
    int rc = verdict_make(&s->result, NULL, &verdict, err);
    s->record.verdict = s->result.rounds_done ? &verdict : NULL;
    if (!rc)
        rc = run_dir_end(&s->run_dir, &s->record, err);
    s->record.verdict = NULL;
    return rc;
}

static void leave(struct session *s)
{
    run_dir_close(&s->run_dir);
    fixture_result_free(&s->result);
}

static int run_whole(const char *out, const char *run_id, struct err *err)
{
    struct session s;
    int rc = begin(&s, out, run_id, err);
    for (int i = 0; i < ROUNDS && !rc; i++)
        rc = one_round(&s, err);
    if (!rc)
        rc = end(&s, "complete", err);
    leave(&s);
    return rc;
}

static json_t *load(const char *path)
{
    return json_load_file(path, 0, NULL);
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/*
 * Expects whole lines, and only of rounds that run.json mentions. True if a part of the next round
 * follows them.
 */
static bool assert_samples(const json_t *run)
{
    FREED char *text = slurp("d/samples.csv");
    assert_non_null(text);
    json_int_t rounds = json_integer_value(json_object_get(run, "rounds_done"));
    size_t valid = (size_t)json_integer_value(json_object_get(run, "samples_bytes"));
    assert_in_range(valid, 1, strlen(text));
    assert_int_equal(text[valid - 1], '\n');
    json_int_t lines = 0;
    for (size_t i = 0; i < valid; i++)
        lines += text[i] == '\n';
    assert_int_equal(lines, 1 + rounds * LINES_A_ROUND);
    bool more = text[valid];
    return more;
}

/* Lines of throughput in rounds.csv: one a round. A killed run may have more than run.json. */
static json_int_t count_rounds(void)
{
    FREED char *text = slurp("d/rounds.csv");
    json_int_t n = 0;
    for (const char *at = text; at && (at = strstr(at, ",throughput,")); at++)
        n += strchr(at, '\n') != NULL;
    return n;
}

/* Only a run that has ended has rows.csv. */
static void assert_rows(const json_t *run)
{
    char first[64];
    FREED char *text = slurp("d/rows.csv");
    assert_true(count_rounds() >= json_integer_value(json_object_get(run, "rounds_done")));
    assert_int_equal(text != NULL, strcmp(text_of(run, "status"), "interrupted") != 0);
    if (!text)
        return;
    unsigned rounds;
    const char *row = strchr(text, '\n') + 1;
    assert_int_equal(sscanf(row,
                            "%63[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],"
                            "%*[^,],%*[^,],%u",
                            first, &rounds),
                     2);
    assert_string_equal(first, text_of(run, "run_id"));
    assert_int_equal(rounds, json_integer_value(json_object_get(run, "rounds_done")));
}

/* A directory with a complete result "old", a figure of it, and a file of the user's. */
static void make_old(void)
{
    assert_int_equal(run_whole("d", "old", NULL), 0);
    assert_int_equal(mkdir("d/plots", 0777), 0);
    put("d/plots/loss.svg", "old");
    put("d/notes.txt", "mine");
}

struct old_files {
    char *run, *rounds, *samples;
};

static struct old_files read_old(void)
{
    return (struct old_files){slurp("d/run.json"), slurp("d/rounds.csv"), slurp("d/samples.csv")};
}

static void free_old(struct old_files *old)
{
    free(old->run);
    free(old->rounds);
    free(old->samples);
}

static void assert_old(const struct old_files *old)
{
    assert_text("d/run.json", old->run);
    assert_text("d/rounds.csv", old->rounds);
    assert_text("d/samples.csv", old->samples);
    assert_text("d/notes.txt", "mine");
    assert_true(is_there("d/plots/loss.svg"));
}

/* True if the run ended before the call in which it was to die. */
static bool run_dies_in(int call)
{
    int status;
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        call_to_die_in = call;
        _exit(run_whole("d", "new", NULL) ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == DIED);
    return WEXITSTATUS(status) == 0;
}

static void recover(void)
{
    int fd = open("d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    directory_recover(fd, figures_remove);
    (void)close(fd);
    assert_false(is_there("d/.contend-run"));
}

TEST_WITHIN(output_killed_anywhere_leaves_one_whole_result, set_up, tear_down)
{
    int stayed = 0, replaced = 0, cut = 0, whole = 0;
    for (int call = 1;; call++) {
        make_old();
        struct old_files old = read_old();
        bool at_end = run_dies_in(call);
        json_auto_t *run = load("d/run.json");
        if (run && !strcmp(text_of(run, "run_id"), "old"))
            assert_text("d/samples.csv", old.samples);
        json_decref(run);
        recover();
        run = load("d/run.json");
        assert_non_null(run);
        if (!strcmp(text_of(run, "run_id"), "old")) {
            stayed++;
            assert_old(&old);
        } else {
            replaced++;
            assert_rows(run);
            cut += assert_samples(run);
            assert_text("d/notes.txt", "mine");
            assert_false(is_there("d/plots"));
            if (!strcmp(text_of(run, "status"), "complete"))
                whole++;
            assert_true(whole || !at_end);
        }
        free_old(&old);
        assert_int_equal(system("rm -rf d"), 0);
        if (at_end)
            break;
    }
    assert_true(stayed > 3);
    assert_true(replaced > 20);
    assert_true(cut > 1);
}

TEST_WITHIN(output_first_run_killed_anywhere_leaves_nothing_half, set_up, tear_down)
{
    for (int call = 1, at_end = 0; !at_end; call++) {
        at_end = run_dies_in(call);
        recover();
        json_auto_t *run = load("d/run.json");
        assert_int_equal(run != NULL, is_there("d/rounds.csv"));
        assert_int_equal(run != NULL, is_there("d/samples.csv"));
        if (run)
            assert_samples(run);
        assert_int_equal(system("rm -rf d"), 0);
    }
}

TEST_WITHIN(output_next_run_ends_what_was_begun, set_up, tear_down)
{
    struct session s;
    make_old();
    int call = 1;
    while (!run_dies_in(call) && !is_there("d/.contend-run/run.json"))
        call++;
    assert_true(is_there("d/.contend-run/run.json"));
    assert_int_equal(begin(&s, "d", "third", NULL), 0);
    json_auto_t *run = load("d/run.json");
    assert_string_equal(text_of(run, "run_id"), "new");
    assert_samples(run);
    leave(&s);
}

TEST_WITHIN(output_says_how_many_rounds_while_it_runs, set_up, tear_down)
{
    struct session s;
    assert_int_equal(begin(&s, "d", "new", NULL), 0);
    for (int rounds = 0; rounds <= ROUNDS; rounds++) {
        json_auto_t *run = load("d/run.json");
        assert_string_equal(text_of(run, "status"), "interrupted");
        assert_int_equal(json_integer_value(json_object_get(run, "rounds_done")), rounds);
        assert_samples(run);
        assert_int_equal(one_round(&s, NULL), 0);
    }
    leave(&s);
    assert_false(is_there("d/.contend-run"));
}

/* What a round costs does not grow with the rounds before it. */
TEST_WITHIN(output_appends_a_round_without_a_verdict, set_up, tear_down)
{
    enum { FIRST = 10, LATER = 60, N = 20 }; /* numbers of equal length */
    struct session s;
    size_t bytes[LATER + N + 1] = {0};
    assert_int_equal(begin(&s, "d", "new", NULL), 0);
    assert_int_equal(one_round(&s, NULL), 0);
    FREED char *run = slurp("d/run.json");
    for (unsigned round = 1; round < LATER + N; round++) {
        s.result.rounds_done++;
        (void)fixture_add_round(&s.result, s.arm, round, (double[]){10, 20}, 2);
        assert_int_equal(run_dir_round(&s.run_dir, &s.record, round, NULL), 0);
        bytes[round + 1] = bytes_written;
    }
    assert_int_equal(bytes[FIRST + N] - bytes[FIRST], bytes[LATER + N] - bytes[LATER]);
    assert_text("d/run.json", run);
    assert_int_equal(count_rounds(), LATER + N);
    leave(&s);
}

TEST_WITHIN(output_without_a_round_leaves_the_earlier_result, set_up, tear_down)
{
    struct session s;
    make_old();
    struct old_files old = read_old();
    assert_int_equal(begin(&s, "d", "new", NULL), 0);
    assert_true(s.run_dir.dir.holds_earlier);
    assert_old(&old);
    assert_int_equal(end(&s, "interrupted", NULL), 0);
    leave(&s);
    assert_old(&old);
    assert_false(is_there("d/.contend-run"));
    free_old(&old);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {bytes, file_size.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST_WITHIN(output_that_cannot_start_leaves_all_as_it_was, set_up, tear_down)
{
    struct session s;
    struct err err;
    make_old();
    struct old_files old = read_old();
    limit_files(300);
    assert_int_equal(begin(&s, "d", "new", &err), -EFBIG);
    assert_string_equal(err.msg, "output directory 'd': cannot write run.json: File too large");
    leave(&s);
    assert_old(&old);
    assert_false(is_there("d/.contend-run"));
    assert_int_equal(begin(&s, "e/", "new", &err), -EFBIG);
    leave(&s);
    assert_false(is_there("e"));
    free_old(&old);
}

TEST_WITHIN(output_full_disk_keeps_the_rounds_before, set_up, tear_down)
{
    struct session s;
    struct err err;
    struct stat samples;
    assert_int_equal(begin(&s, "d", "new", &err), 0);
    assert_int_equal(one_round(&s, &err), 0);
    struct old_files before = read_old();
    assert_int_equal(stat("d/samples.csv", &samples), 0);
    for (int i = 0; i < 2; i++) {
        /* The disk has no room for the samples, or no room for the files after them. */
        limit_files(i ? 2 * (rlim_t)samples.st_size : (rlim_t)samples.st_size + 10);
        assert_int_equal(one_round(&s, &err), -EFBIG);
        assert_has(err.msg, i ? "rounds.csv" : "samples.csv");
        s.result.rounds_done = 1;
        observation_free(&s.result.arms[0].observations[--s.result.arms[0].nobservations]);
        assert_text("d/run.json", before.run);
        assert_text("d/rounds.csv", before.rounds);
        assert_text("d/samples.csv", before.samples);
        limit_files(file_size.rlim_cur);
    }
    assert_int_equal(one_round(&s, &err), 0);
    assert_int_equal(end(&s, "failed", &err), 0);
    json_auto_t *run = load("d/run.json");
    assert_string_equal(text_of(run, "status"), "failed");
    assert_rows(run);
    assert_samples(run);
    free_old(&before);
    leave(&s);
}

/* Whichever write fails, the last output describes the rounds that exist. */
TEST_WITHIN(output_a_round_that_is_not_written_leaves_nothing, set_up, tear_down)
{
    for (int write = 1; write <= 3; write++) { /* samples, rounds, run.json */
        struct session s;
        assert_int_equal(begin(&s, "d", "new", NULL), 0);
        assert_int_equal(one_round(&s, NULL), 0);
        struct old_files before = read_old();
        write_to_fail = write;
        assert_int_equal(one_round(&s, NULL), -ENOSPC);
        assert_int_equal(write_to_fail, 0);
        s.result.rounds_done = 1;
        observation_free(&s.result.arms[0].observations[--s.result.arms[0].nobservations]);
        assert_int_equal(end(&s, "failed", NULL), 0);
        assert_int_equal(count_rounds(), 1);
        assert_text("d/samples.csv", before.samples);
        free_old(&before);
        leave(&s);
        assert_int_equal(system("rm -rf d"), 0);
    }
}

TEST_WITHIN(output_has_one_run_at_a_time, set_up, tear_down)
{
    struct session first, second;
    struct err err;
    char want[64];
    assert_int_equal(begin(&first, "d", "first", &err), 0);
    assert_int_equal(begin(&second, "d", "second", &err), -EBUSY);
    put_text(want, "'d' is in use by process %ld on ", (long)getpid());
    assert_has(err.msg, want);
    assert_has(err.msg, ": contend run");
    leave(&second);
    int fd = open("d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    directory_recover(fd, figures_remove);
    (void)close(fd);
    assert_true(is_there("d/.contend-run/lock"));
    assert_int_equal(one_round(&first, &err), 0);
    leave(&first);
    assert_int_equal(begin(&second, "d", "second", &err), 0);
    leave(&second);
}

TEST_WITHIN(output_default_names_never_meet, set_up, tear_down)
{
    struct session s[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(begin(&s[i], NULL, "new", NULL), 0);
    assert_string_equal(s[0].run_dir.dir.path, "results/h/20250101T120000Z-fixture");
    assert_string_equal(s[1].run_dir.dir.path, "results/h/20250101T120000Z-fixture-2");
    assert_string_equal(s[2].run_dir.dir.path, "results/h/20250101T120000Z-fixture-3");
    for (int i = 0; i < 3; i++)
        leave(&s[i]);
}

TEST_WITHIN(output_leaves_files_of_others_alone, set_up, tear_down)
{
    static const char *const files[] = {"rows.csv", "samples.csv", "run.json"};
    struct session s;
    struct err err;
    assert_int_equal(mkdir("d", 0777), 0);
    for (size_t i = 0; i < 3; i++) {
        char path[32];
        put_text(path, "d/%s", files[i]);
        put(path, "{\"status\": \"mine\"}");
        assert_int_equal(begin(&s, "d", "new", &err), -EEXIST);
        assert_has(err.msg, files[i]);
        leave(&s);
        assert_text(path, "{\"status\": \"mine\"}");
        assert_false(is_there("d/.contend-run"));
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink("/nonexistent", path), 0);
        assert_int_equal(begin(&s, "d", "new", &err), -EEXIST);
        leave(&s);
        assert_int_equal(unlink(path), 0);
    }
    /* Other files may exist; as no earlier run has drawn figures, also files in plots. */
    put("d/notes.txt", "mine");
    assert_int_equal(mkdir("d/plots", 0777), 0);
    put("d/plots/loss.svg", "mine");
    assert_int_equal(run_whole("d", "new", &err), 0);
    assert_text("d/notes.txt", "mine");
    assert_text("d/plots/loss.svg", "mine");
}

/* Ranks other than the first open no result directory. */
TEST_WITHIN(output_that_was_not_opened_closes_nothing, set_up, tear_down)
{
    struct run_dir run_dir = {0};
    int own = dup(STDIN_FILENO); /* certainly open */
    assert_int_equal(dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO), STDIN_FILENO);
    run_dir_close(&run_dir);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
    if (own >= 0)
        (void)dup2(own, STDIN_FILENO);
}
