/* What the reader sees of this machine's processes. */
#include "harness/doctor/reader/reader_parts.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

static pid_t start(void (*act)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(180);
        for (;;)
            act();
    }
    return child;
}

static void compute(void)
{
    static volatile unsigned long sink;
    sink++;
}

static void sleep_on(void)
{
    (void)pause();
}

static void end(pid_t child)
{
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

/* A thread computes until the next byte arrives; then another thread replaces it. Each reports its
 * tid. */
struct relay {
    int orders, tids;
};
static _Atomic bool stops;

static void *compute_and_format(void *arg)
{
    const struct relay *relay = arg;
    pid_t tid = gettid();
    ssize_t written = write(relay->tids, &tid, sizeof(tid));
    while (written == sizeof(tid) && !atomic_load(&stops))
        compute();
    return NULL;
}

static void run_relay(struct relay *relay)
{
    char order;
    (void)alarm(180);
    do {
        pthread_t thread;
        atomic_store(&stops, false);
        if (pthread_create(&thread, NULL, compute_and_format, relay))
            _exit(1);
        ssize_t n = read(relay->orders, &order, 1);
        atomic_store(&stops, true);
        (void)pthread_join(thread, NULL);
        if (n != 1)
            _exit(0);
    } while (true);
}

static bool is_listed(const struct reader *reader, pid_t pid, pid_t tid)
{
    const struct view_process *process = view_find(&reader->view, pid);
    for (size_t t = 0; process && t < process->ntasks; t++)
        if (process->tasks[t].tid == tid)
            return true;
    return false;
}

static void tick_until_listed(struct reader *reader, pid_t pid, pid_t tid)
{
    for (int tries = 0; tries < 600 && !is_listed(reader, pid, tid); tries++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        assert_int_equal(reader_tick(reader, READER_WHOLE, NULL), 0);
    }
    assert_true(is_listed(reader, pid, tid));
}

/* As many threads as before, but another one: no thread is listed in place of one that ended. */
TEST(reader_threads_that_take_turns)
{
    ENDED_BY(reader_close) struct reader reader;
    int orders[2], tids[2];
    pid_t tid, last = 0;
    assert_int_equal(pipe(orders), 0);
    assert_int_equal(pipe(tids), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(orders[1]);
        run_relay(&(struct relay){orders[0], tids[1]});
    }
    assert_int_equal(read(tids[0], &tid, sizeof(tid)), sizeof(tid));
    assert_int_equal(reader_open("", &reader, NULL), 0);
    assert_int_equal(reader_watch_pids(&reader, &child, 1, NULL), 0);
    assert_int_equal(reader_mark(&reader, NULL), 0);
    for (int turn = 0; turn < 3; turn++) {
        tick_until_listed(&reader, child, tid);
        assert_false(is_listed(&reader, child, last));
        last = tid;
        assert_int_equal(write(orders[1], "x", 1), 1);
        assert_int_equal(read(tids[0], &tid, sizeof(tid)), sizeof(tid));
    }
    end(child);
    for (int i = 0; i < 2; i++) {
        (void)close(orders[i]);
        (void)close(tids[i]);
    }
}

/* Masks of other processes are read if they ran; those that slept are not queried. */
TEST(reader_masks_of_others_that_ran)
{
    ENDED_BY(reader_close) struct reader reader;
    const struct view_process *one;
    int tries = 0;
    pid_t busy = start(compute), asleep = start(sleep_on);
    assert_int_equal(reader_open("", &reader, NULL), 0);
    assert_int_equal(reader_mark(&reader, NULL), 0);
    do {
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        assert_int_equal(reader_tick(&reader, READER_WHOLE, NULL), 0);
        one = view_find(&reader.view, busy);
        assert_non_null(one);
        assert_false(one->watched);
    } while (one->mask < 0 && tries++ < 600);
    assert_true(one->mask >= 0);
    one = view_find(&reader.view, asleep);
    assert_non_null(one);
    assert_int_equal(one->mask, -1);
    end(busy);
    end(asleep);
}

/* Only detailed tasks are sampled: one that got hardly any CPU time must be, if it wanted more. */
TEST_IN_DIR(a_thread_that_waits_is_read_in_detail)
{
    static const struct {
        const char *schedstat; /* time on a CPU, time waiting */
        bool is_detailed;
    } cases[] = {{"10000000 9000000000 7", true},
                 {"900000000 0 7", true},
                 {"10000000 0 7", false},
                 {"0 0 0", false}};
    fixture_put("/task/100/stat", "100 (a) R 1 7 7 0 -1 0 0 0 0 0 11 12 0 0 20 0 1 0 99 0 0 0 0 0 "
                                  "0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct reader reader = {.view = {.wall_s = 10, .has_schedstat = true}};
        struct view_process process = {.pid = 100, .source = {.dir_fd = fixture_dir_fd}};
        fixture_put("/task/100/schedstat", cases[i].schedstat);
        assert_true(reader_list_tasks(&process));
        reader_read_tasks(&reader, &process, false);
        assert_int_equal(process.tasks[0].is_detailed, cases[i].is_detailed);
        reader_close_tasks(&process);
    }
}

/* A pool's threads come before those that call it; the ends have some of both. No such thread
 * exists, so none is sampled, but the tries show. */
TEST(samples_are_taken_at_both_ends)
{
    enum { TASKS = 20, EACH = 8 };
    struct view_task tasks[TASKS] = {0};
    struct view_process process = {.watched = true, .ntasks = TASKS, .tasks = tasks};
    struct reader reader = {.view = {.nprocesses = 1, .processes = &process}};
    for (int i = 0; i < TASKS; i++)
        tasks[i] = (struct view_task){.tid = INT_MAX - i, .is_detailed = true};
    reader_begin_samples(&reader);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(tasks[i].source.sample_fd, i < EACH || i >= TASKS - EACH ? -1 : 0);
}

/* Expects, for each CPU, its busy and idle time in s, as in "0 0.2+0.1, 2 0+0". */
static void expect_cpus(const struct view *view, const char *expected)
{
    char said[200] = "";
    for (size_t i = 0; i < view->ncpus; i++) {
        const struct view_cpu *cpu = &view->cpus[i];
        const double busy_s = cpu->user_s + cpu->nice_s + cpu->system_s + cpu->irq_s + cpu->steal_s;
        size_t used = strlen(said);
        (void)snprintf(said + used, sizeof(said) - used, "%s%u %.3g+%.3g", i ? ", " : "",
                       cpu->os_cpu, busy_s, cpu->idle_s);
        assert_true(bitset_test(&view->online, cpu->os_cpu));
    }
    assert_string_equal(said, expected);
    assert_int_equal(bitset_count(&view->online), view->ncpus);
}

/* CPUs that disappear, appear, come back, or change their number give no wrong times. */
TEST_IN_DIR(reader_cpus_that_change)
{
    static const struct {
        const char *stat, *cpus;
    } looks[] = {
        {"cpu0 100 0 0 500 0 0 0 0\ncpu1 7 0 0 90 0 0 0 0\ncpu2 5 0 0 50 0 0 0 0\n",
         "0 0+0, 1 0+0, 2 0+0"},
        /* CPU 1 goes offline, lxcfs shows another CPU as CPU 2, and CPU 4 comes online. */
        {"cpu0 120 0 0 510 0 0 0 0\ncpu2 90000 0 0 990000 0 0 0 0\ncpu4 800 0 0 1 0 0 0 0\n",
         "0 0.2+0.1, 2 0+0, 4 0+0"},
        /* CPU 0 is another CPU with smaller counters; CPU 1 comes back with fewer idle ticks. */
        {"cpu0 9 0 0 9 0 0 0 0\ncpu1 8 0 0 10 0 0 0 0\ncpu2 90010 0 0 990000 0 0 0 0\n"
         "cpu4 800 0 0 2 0 0 0 0\n",
         "0 0+0, 1 0+0, 2 0.1+0, 4 0+0.01"},
        /* All continue unchanged; an I/O-wait tick that the kernel takes back counts as nothing. */
        {"cpu0 19 0 0 10 0 0 0 0\ncpu1 9 0 0 9 0 0 0 0\ncpu2 90010 0 0 990020 0 0 0 0\n"
         "cpu4 801 0 0 2 0 0 0 0\n",
         "0 0.1+0.01, 1 0.01+0, 2 0+0.2, 4 0.01+0"},
    };
    ENDED_BY(reader_close) struct reader reader;
    fixture_put("/proc/7/stat", "7 (x) S 1 7 7 0 -1 0 0 0 0 0 11 12 0 0 20 0 1 0 99 0 0 0 0 0 0 0 "
                                "0 0 0 0 0 0 0 0 17 0 0 0 0");
    fixture_put("/proc/stat", looks[0].stat);
    assert_int_equal(reader_open(fixture_dir, &reader, NULL), 0);
    assert_int_equal(reader_mark(&reader, NULL), 0);
    for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
        fixture_put("/proc/stat", looks[i].stat);
        assert_int_equal(reader_tick(&reader, READER_WHOLE, NULL), 0);
        expect_cpus(&reader.view, looks[i].cpus);
        reader_roll(&reader);
    }
}

/* An ELF file of two sections: that of Go's version, and the names. */
static void put_program(const char *section, const char *version)
{
    enum { INFO_AT = 64, NAMES_AT = 256, SECTIONS_AT = 320 };
    char file[SECTIONS_AT + 2 * sizeof(Elf64_Shdr)] = "";
    const Elf64_Ehdr head = {.e_ident = ELFMAG "\2",
                             .e_shoff = SECTIONS_AT,
                             .e_shentsize = sizeof(Elf64_Shdr),
                             .e_shnum = 2,
                             .e_shstrndx = 1};
    const Elf64_Shdr sections[] = {{.sh_offset = INFO_AT, .sh_size = 128},
                                   {.sh_offset = NAMES_AT, .sh_size = 32}};
    memcpy(file, &head, sizeof(head));
    memcpy(file + SECTIONS_AT, sections, sizeof(sections));
    (void)snprintf(file + NAMES_AT, 32, "%s", section);
    (void)snprintf(file + INFO_AT, 16, "\xff Go buildinf:\x8");
    file[INFO_AT + 15] = version ? 2 : 0; /* before 1.18: pointers */
    (void)snprintf(file + INFO_AT + 32, 64, "%c%s", (int)(version ? strlen(version) : 0),
                   version ? version : "");
    int fd = openat(fixture_dir_fd, "exe", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, file, sizeof(file)), sizeof(file));
    (void)close(fd);
}

TEST_IN_DIR(programs_of_go_tell_their_version)
{
    static const struct {
        const char *section, *version;
        unsigned minor;
    } cases[] = {{".go.buildinfo", "go1.19.8", 19},
                 {".go.buildinfo", "go1.25", 25},
                 {".go.buildinfo", "devel +a1b2", 1},
                 {".go.buildinfo", NULL, 1},
                 {".text", "go1.25", 0}};
    assert_int_equal(reader_go_minor(fixture_dir_fd), 0); /* no such file */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put_program(cases[i].section, cases[i].version);
        assert_int_equal(reader_go_minor(fixture_dir_fd), cases[i].minor);
    }
    fixture_put("/exe", "#!/bin/sh");
    assert_int_equal(reader_go_minor(fixture_dir_fd), 0);
}

/* The interpreter's data: a library's after the program's, with the zeroed part behind it. */
TEST_IN_DIR(memory_of_an_interpreter_is_found)
{
    static const struct {
        const char *maps;
        uint64_t start, end;
    } cases[] = {
        {"400000-401000 r--p 0 08:01 7 /usr/bin/python3.11\n"
         "401000-402000 rw-p 0 08:01 7 /usr/bin/python3.11\n402000-405000 rw-p 0 00:00 0\n"
         "405000-409000 rw-p 0 00:00 0 [heap]\n7f00-7f10 r-xp 0 08:01 8 /lib/libc.so.6\n",
         0x400000, 0x405000},
        {"400000-401000 r--p 0 08:01 7 /usr/bin/python3.11\n401000-402000 rw-p 0 00:00 0 [heap]\n"
         "7f0000-7f1000 rw-p 0 08:01 9 /opt/lib/libpython3.12.so.1.0\n",
         0x7f0000, 0x7f1000},
        {"400000-401000 r--p 0 08:01 7 /usr/bin/cat\n401000-402000 rw-p 0 00:00 0\n", 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct reader reader = {.proc_fd = -1};
        struct view_process process = {.pid = 100, .source = {.dir_fd = fixture_dir_fd}};
        fixture_put("/maps", cases[i].maps);
        assert_int_equal(reader_read_about(&reader, &process, NULL), 0);
        assert_true(process.about->python_start == cases[i].start);
        assert_true(process.about->python_end == cases[i].end);
        free(process.about);
        free(reader.text);
    }
}
