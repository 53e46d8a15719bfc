/* Loaders of all kinds on the modelled GPU, and what happens when loaders or their parents die. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "bench/loader/python.h"
#include "bench/registry.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/sys/task.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

static struct bench_machine machine;
static struct bench_machine one_cpu;

#define SMALL "rows=64", "cols=40", "python_rows=8"

static unsigned below_us(struct tree_process found[TREE_PROCESSES])
{
    return tree_list(getpid(), found, TREE_PROCESSES);
}

static void assert_nobody_is_left(void)
{
    static struct tree_process found[TREE_PROCESSES];
    assert_int_equal(below_us(found), 0);
}

static unsigned open_descriptors(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* On a very busy machine, loaders may miss their slice: then it gets longer. */
static void run(struct scan *scan, const struct bench_machine *on, const char *const *pairs)
{
    for (double time_s = 0.1;; time_s *= 3) {
        scan_run(scan, &bench_loader, on, pairs, time_s);
        if (!scan_has_reason("were not at work within") || time_s > 5)
            return;
        scan_end(scan);
    }
}

/* Every batch at the end of a point was compared with its expected content. */
static void assert_fed(const struct scan *scan, const char *kind, unsigned loaders)
{
    char key[80];
    put_text(key, "%s;loaders=%u", kind, loaders);
    double starvation = scan_value(scan, "starvation", key);
    const char *why = scan_reason(scan, "starvation", key);
    if (why)
        fail_msg("%s: %s", key, why);
    assert_true(starvation >= 0 && starvation <= 1 + 1e-9);
    assert_true(scan_value(scan, "batches", key) >= 0);
    assert_true(scan_value(scan, "first_batch", key) > 0);
}

TEST(loader_of_each_kind)
{
    struct scan scan;
    struct python python;
    unsigned descriptors = open_descriptors();
    bool has_python = !python_find("python3", &python, NULL);
    run(&scan, &one_cpu, (const char *const[]){SMALL, "gpu_ms=1", NULL});
    for (unsigned loaders = 1; loaders <= 2; loaders++) {
        assert_fed(&scan, "lang=c;by=process", loaders);
        assert_fed(&scan, "lang=c;by=thread", loaders);
        if (has_python) {
            assert_fed(&scan, "lang=python;by=process", loaders);
            assert_fed(&scan, "lang=python;by=thread", loaders);
        }
    }
    assert_false(scan_value(&scan, "scaling", "lang=c;by=process") < 1);
    assert_false(scan_value(&scan, "more_loaders", "lang=c;by=thread") < 0);
    assert_true(fabs(scan_value(&scan, "gpu_batch", "") - 1) < 1e-6);
    scan_end(&scan);
    assert_int_equal(open_descriptors(), descriptors);
    assert_nobody_is_left();
}

/*
 * The model takes a batch every 20 ms, after the two batches that it may get before. Some rows take
 * less than 20 ms to prepare, so the device never waits.
 */
TEST(loader_feeds_a_slow_device)
{
    double least = 1;
    for (int tries = 0; tries < PATIENCE && least > 0.2; tries++) {
        ENDED_BY(scan_end) struct scan scan;
        run(&scan, &one_cpu,
            (const char *const[]){"rows=8", "cols=8", "window=4", "gpu_ms=20", "mode=process",
                                  "loaders=1", NULL});
        const char *key = "lang=c;by=process;loaders=1";
        double batches = scan_value(&scan, "batches", key);
        double starvation = scan_value(&scan, "starvation", key);
        assert_true(isnan(batches) || (batches >= 0 && batches < 50 + 3 / 0.166));
        least = fmin(least, starvation);
    }
    assert_true(least <= 0.2);
}

/* A model that takes no time waits for batches nearly always. */
TEST(loader_starves_a_fast_device)
{
    bool seen = false;
    for (int tries = 0; tries < PATIENCE && !seen; tries++) {
        ENDED_BY(scan_end) struct scan scan;
        run(&scan, &one_cpu,
            (const char *const[]){"rows=512", "cols=256", "gpu_ms=0.001", "mode=process", NULL});
        const char *why = scan_reason(&scan, "loaders_needed", "lang=c;by=process");
        seen = scan_value(&scan, "starvation", "lang=c;by=process;loaders=1") > 0.3 && why &&
               strcmp(why, "processes in C: up to 2 do not feed the GPU") == 0;
    }
    assert_true(seen);
}

TEST(loader_with_other_parameters)
{
    static const char *const modes[] = {"mode=process", "mode=thread"};
    static const char *const keys[] = {"lang=c;by=process", "lang=c;by=thread"};
    for (int i = 0; i < 2; i++) {
        struct scan scan;
        run(&scan, &one_cpu,
            (const char *const[]){SMALL, modes[i], "loaders=3", "prefetch=1", "pinned=0", NULL});
        assert_fed(&scan, keys[i], 3);
        assert_int_equal(scan_count(&scan, "scaling"), 0);
        scan_end(&scan);
        run(&scan, &one_cpu,
            (const char *const[]){SMALL, modes[i], "loaders=2", "persistent=0", "epoch=3",
                                  "gpu_ms=0.1", NULL});
        assert_fed(&scan, keys[i], 2);
        scan_end(&scan);
        run(&scan, &one_cpu,
            (const char *const[]){SMALL, modes[i], "loaders=2", "prefetch=7", "persistent=0",
                                  "epoch=1", NULL});
        assert_fed(&scan, keys[i], 2);
        scan_end(&scan);
    }
    assert_nobody_is_left();
}

/* Batches that loaders read from files are compared like all batches. */
TEST(loader_reads_files)
{
    static const char *const sources[] = {"source=file", "source=tmpfs"};
    static const char *const keys[] = {"lang=c;by=process", "lang=c;by=thread"};
    for (int i = 0; i < 2; i++) {
        struct scan scan;
        run(&scan, &one_cpu, (const char *const[]){SMALL, sources[i], "loaders=2", NULL});
        for (int k = 0; k < 2; k++) {
            char key[64];
            const char *refused = scan_reason(&scan, "starvation", keys[k]);
            put_text(key, "%s;loaders=2", keys[k]);
            if (refused &&
                strstr(refused, "in memory (")) /* the directory of the tests, or /dev/shm */
                continue;
            if (refused)
                fail_msg("%s: %s", sources[i], refused);
            assert_fed(&scan, keys[k], 2);
            assert_false(scan_value(&scan, "read_rate", key) <= 0);
        }
        assert_string_equal(scan_reason(&scan, "starvation", "lang=python;by=process"),
                            "source, prep: processes in Python have their raw data in memory "
                            "alone, and preprocess it");
        scan_end(&scan);
    }
    assert_nobody_is_left();
}

TEST(loader_where_no_file_can_be)
{
    ENDED_BY(scan_end) struct scan scan;
    char *before = getcwd(NULL, 0);
    assert_int_equal(chdir("/proc"), 0);
    int rc = scan_try(&scan, &bench_loader, &one_cpu,
                      (const char *const[]){SMALL, "source=file", "mode=thread", NULL}, 0.1);
    assert_int_equal(chdir(before), 0);
    free(before);
    assert_int_equal(rc, 0);
    assert_has(scan_reason(&scan, "starvation", "lang=c;by=thread"),
               "no file can be made in /proc");
    assert_int_equal(scan_count(&scan, "batches") + scan_count(&scan, "read_rate"), 0);
}

/* A thread that looks for loaders, or for the process that starts them, and calls `found` on it. */
struct hunter {
    pthread_t thread;
    void (*found)(struct hunter *hunter, pid_t pid);
    bool of_process_pool; /* finds the pool itself, once it has loaders */
    _Atomic bool over;
    unsigned hits;
    struct bitset cpus; /* of the loader seen last */
};

/* Interpreters that only answer questions are children as well; a pool has this name. */
static bool is_process_pool(pid_t pid)
{
    char name[PROC_TEXT_MAX];
    return PROC_TEXT("", name, "/proc/%d/comm", (int)pid) && strcmp(name, "contend-loaders") == 0;
}

static void *hunt(void *arg)
{
    static struct tree_process found[TREE_PROCESSES];
    struct hunter *hunter = arg;
    while (!atomic_load(&hunter->over)) {
        unsigned n = below_us(found);
        for (unsigned i = 0; i < n; i++) {
            pid_t pid = hunter->of_process_pool ? found[i].parent : found[i].pid;
            if (pid <= 1 || found[i].ended || found[i].parent == getpid() ||
                !is_process_pool(found[i].parent) || !tree_is_same(&found[i]))
                continue;
            hunter->found(hunter, pid);
            hunter->hits++;
        }
        (void)usleep(1000);
    }
    return NULL;
}

static void start_hunt(struct hunter *hunter)
{
    assert_int_equal(pthread_create(&hunter->thread, NULL, hunt, hunter), 0);
}

static void end_hunt(struct hunter *hunter)
{
    atomic_store(&hunter->over, true);
    assert_int_equal(pthread_join(hunter->thread, NULL), 0);
    assert_true(hunter->hits > 0);
}

static void end_it(struct hunter *hunter, pid_t pid)
{
    (void)hunter;
    (void)kill(pid, SIGKILL);
}

/* Whenever a loader dies, its point has a reason in place of a value, and nothing hangs. */
TEST(loader_that_is_killed)
{
    struct scan scan;
    struct hunter hunter = {.found = end_it};
    start_hunt(&hunter);
    int rc = scan_try(&scan, &bench_loader, &one_cpu,
                      (const char *const[]){SMALL, "mode=process", "loaders=2", NULL}, 0.1);
    end_hunt(&hunter);
    assert_int_equal(rc, 0);
    const char *why = scan_reason(&scan, "starvation", "lang=c;by=process;loaders=2");
    assert_non_null(why);
    assert_string_equal(why, "a loader was ended by signal 9");
    assert_int_equal(scan_count(&scan, "batches"), 0);
    scan_end(&scan);
    assert_nobody_is_left();
}

TEST(loaders_whose_parent_is_killed)
{
    ENDED_BY(scan_end) struct scan scan;
    struct hunter hunter = {.found = end_it, .of_process_pool = true};
    start_hunt(&hunter);
    int rc = scan_try(&scan, &bench_loader, &one_cpu,
                      (const char *const[]){SMALL, "mode=process", NULL}, 0.1);
    end_hunt(&hunter);
    assert_int_equal(rc, 0);
    unsigned lost = 0;
    for (unsigned loaders = 1; loaders <= 2; loaders++) {
        char key[64];
        put_text(key, "lang=c;by=process;loaders=%u", loaders);
        const char *why = scan_reason(&scan, "starvation", key);
        lost += why && strcmp(why, "the process that starts loaders is gone") == 0;
    }
    assert_true(lost > 0);
}

static void note_cpus(struct hunter *hunter, pid_t pid)
{
    struct bitset cpus;
    if (!affinity_get(pid, &cpus))
        hunter->cpus = cpus;
}

/* Loaders run on CPUs other than the worker's, though the process that starts them does not. */
TEST(loaders_elsewhere)
{
    struct scan scan;
    struct bitset rest = {0};
    struct hunter hunter = {.found = note_cpus};
    if (machine.ncpus < 2)
        skip();
    assert_int_equal(affinity_get(getppid(), &rest), 0);
    bitset_clear(&rest, one_cpu.cpus[0].os_cpu);
    start_hunt(&hunter);
    run(&scan, &one_cpu,
        (const char *const[]){SMALL, "mode=process", "loaders=1", "where=rest", NULL});
    end_hunt(&hunter);
    assert_fed(&scan, "lang=c;by=process", 1);
    assert_true(bitset_equal(&hunter.cpus, &rest));
    scan_end(&scan);
    assert_int_equal(scan_try(&scan, &bench_loader, &machine,
                              (const char *const[]){SMALL, "mode=thread", "where=rest", NULL}, 0.1),
                     -ENOTSUP);
    assert_has(scan.err.msg, "where=rest: the workers have all CPUs");
    scan_end(&scan);
}

static void assert_cpus(const char *mode, const char *mask, bool of_process_pool,
                        const struct bitset *expected)
{
    struct scan scan;
    struct hunter hunter = {.found = note_cpus, .of_process_pool = of_process_pool};
    start_hunt(&hunter);
    run(&scan, &machine, (const char *const[]){SMALL, mode, "loaders=1", mask, NULL});
    end_hunt(&hunter);
    scan_end(&scan);
    assert_true(bitset_equal(&hunter.cpus, expected));
}

/* One core of several: set by the loaders themselves, or inherited. */
TEST(loaders_narrowed)
{
    ENDED_BY(scan_end) struct scan scan;
    struct bitset all, first = {0}, after;
    struct python python;
    if (machine.ncpus < 2)
        skip();
    bitset_set(&first, machine.cpus[0].os_cpu);
    assert_int_equal(affinity_get(0, &all), 0);
    assert_cpus("mode=process", "mask=first-core", false, &first);
    assert_cpus("mode=process", "mask=first-core", true, &all);
    assert_cpus("mode=process", "mask=parent", false, &first);
    assert_cpus("mode=process", "mask=parent", true, &first);
    if (!python_find("python3", &python, NULL))
        assert_cpus("mode=python-process", "mask=first-core", false, &first);
    assert_int_equal(affinity_get(0, &after), 0);
    assert_true(bitset_equal(&after, &all));
    assert_int_equal(scan_try(&scan, &bench_loader, &one_cpu,
                              (const char *const[]){SMALL, "mode=process", "mask=parent", NULL},
                              0.1),
                     -ENOTSUP);
    assert_string_equal(scan.err.msg, "mask=parent: worker 0 has one core alone");
}

/* Runs with a PATH whose python3 is the script `text`; NULL: no python3. */
static void with_python(const char *text, const char *const *pairs, struct scan *scan)
{
    char path[600], *before = strdup(getenv("PATH"));
    put_text(path, "%s/bin/python3", fixture_dir);
    fixture_put("/bin/none", "");
    if (text) {
        fixture_put("/bin/python3", text);
        assert_int_equal(chmod(path, 0755), 0);
    }
    *strrchr(path, '/') = '\0';
    assert_int_equal(setenv("PATH", path, 1), 0);
    int rc = scan_try(scan, &bench_loader, &one_cpu, pairs, 0.1);
    assert_int_equal(setenv("PATH", before, 1), 0);
    free(before);
    if (rc)
        fail_msg("%s", scan->err.msg);
}

TEST_IN_DIR(loader_without_python)
{
    ENDED_BY(scan_end) struct scan scan;
    with_python(NULL, (const char *const[]){SMALL, NULL}, &scan);
    assert_fed(&scan, "lang=c;by=process", 1);
    assert_string_equal(scan_reason(&scan, "starvation", "lang=python;by=process"),
                        "no python3 in PATH");
    assert_string_equal(scan_reason(&scan, "starvation", "lang=python;by=thread"),
                        "no python3 in PATH");
    assert_string_equal(scan_reason(&scan, "starvation", "lang=pytorch;by=process"),
                        "no python3 in PATH");
    assert_has(scan_reason(&scan, "starvation", "lang=python;by=free"), "no Python without");
    assert_int_equal(scan_count(&scan, "batches"), 4);
}

TEST_IN_DIR(loader_with_a_broken_python)
{
    struct scan scan;
    with_python("#!/bin/sh\nexit 1\n", (const char *const[]){SMALL, "mode=python-thread", NULL},
                &scan);
    assert_has(scan_reason(&scan, "starvation", "lang=python;by=thread"), "python3 does not run");
    assert_int_equal(scan_count(&scan, "batches"), 0);
    scan_end(&scan);
}

/* This python3 answers questions, and ends when it is to load. */
TEST_IN_DIR(loader_with_a_python_that_ends)
{
    struct scan scan;
    with_python("#!/bin/sh\ncase \"$*\" in *importlib.util*) echo \"$0\"; echo 1; echo 0;; "
                "*) exit 5;; esac\n",
                (const char *const[]){SMALL, "mode=python-process", "loaders=2", NULL}, &scan);
    assert_string_equal(scan_reason(&scan, "starvation", "lang=python;by=process;loaders=2"),
                        "a loader ended by itself, with code 5");
    scan_end(&scan);
    assert_nobody_is_left();
}

/* This python3 claims to have no lock, but cannot run without one. */
TEST_IN_DIR(loader_with_a_python_that_has_a_lock)
{
    char text[700];
    struct scan scan;
    struct python python;
    if (python_find("python3", &python, NULL) || !python.has_lock)
        skip();
    put_text(text,
             "#!/bin/sh\ncase \"$*\" in *importlib.util*) echo \"$0\"; echo 0; echo 0;; "
             "*) exec %s \"$@\";; esac\n",
             python.path);
    with_python(text, (const char *const[]){SMALL, "mode=python-free", "loaders=1", NULL}, &scan);
    const char *why = scan_reason(&scan, "starvation", "lang=python;by=free;loaders=1");
    assert_non_null(why);
    assert_has(why, "lock after all");
    scan_end(&scan);
}

/* By how much the device's work plus its waiting differ from the slice, as a share. */
static double unaccounted(const char *mode, const char *key)
{
    struct scan scan;
    run(&scan, &one_cpu,
        (const char *const[]){"rows=512", "cols=160", "python_rows=512", "gpu_ms=4", "prefetch=8",
                              "loaders=1", mode, NULL});
    double busy = scan_value(&scan, "batches", key) * scan_value(&scan, "gpu_batch", "") * 1e-3;
    double beside = fabs(busy + scan_value(&scan, "starvation", key) - 1);
    scan_end(&scan);
    return beside;
}

/*
 * The device's work and its waiting for loaders make up the whole slice. On a busy machine the
 * device sometimes waits for its own thread as well.
 */
static void assert_accounted(const char *mode, const char *key)
{
    double least = 1;
    for (int tries = 0; tries < PATIENCE && !(least <= 0.05); tries++)
        least = fmin(least, unaccounted(mode, key));
    if (!(least <= 0.05))
        fail_msg("%s: %g of the slice is neither", key, least);
}

TEST(loader_accounts_for_the_slice)
{
    assert_accounted("mode=process", "lang=c;by=process;loaders=1");
    assert_accounted("mode=thread", "lang=c;by=thread;loaders=1");
}

/* Through a fake PyTorch, started once for all points. */
TEST(loader_of_pytorch)
{
    char path[600];
    const char *root = getenv("CONTEND_SOURCE_DIR");
    struct python python;
    if (!root || python_find("python3", &python, NULL))
        skip();
    put_text(path, "%s/tests/lib/fake_torch", root);
    assert_int_equal(setenv("PYTHONPATH", path, 1), 0);
    assert_int_equal(setenv("PYTHONDONTWRITEBYTECODE", "1", 1), 0);
    struct scan scan;
    run(&scan, &one_cpu, (const char *const[]){SMALL, "mode=pytorch", NULL});
    assert_fed(&scan, "lang=pytorch;by=process", 1);
    assert_fed(&scan, "lang=pytorch;by=process", 2);
    scan_end(&scan);
    run(&scan, &one_cpu,
        (const char *const[]){SMALL, "mode=pytorch", "loaders=2", "persistent=0", "epoch=2", NULL});
    assert_fed(&scan, "lang=pytorch;by=process", 2);
    scan_end(&scan);
    assert_accounted("mode=pytorch", "lang=pytorch;by=process;loaders=1");
    struct hunter hunter = {.found = end_it};
    start_hunt(&hunter);
    int rc = scan_try(&scan, &bench_loader, &one_cpu,
                      (const char *const[]){SMALL, "mode=pytorch", NULL}, 0.1);
    end_hunt(&hunter);
    assert_int_equal(rc, 0);
    assert_non_null(scan_reason(&scan, "starvation", "lang=pytorch;by=process;loaders=1"));
    scan_end(&scan);
    assert_int_equal(unsetenv("PYTHONPATH"), 0);
    assert_nobody_is_left();
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    one_cpu = machine;
    one_cpu.ncpus = 1;
    return 0;
}
