/* Processes and threads read from /proc: odd names, cut texts, and what ends meanwhile. */
#include "harness/lib/sys/task.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/lib/unit.h"

#define STAT_TAIL                                                                                  \
    " S 41 7 7 0 -1 0 5 6 7 8 100 200 300 400 20 0 9 0 99 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 " \
    "0"

TEST(task_names_may_have_brackets_and_blanks)
{
    static const struct {
        const char *text, *name;
    } cases[] = {{"7 (a b) R 1 2 3)" STAT_TAIL, "a b) R 1 2 3"},
                 {"7 ())" STAT_TAIL, ")"},
                 {"7 ()" STAT_TAIL, ""},
                 {"7 (\x1b[2J\xff)" STAT_TAIL, "?[2J?"},
                 {"7 (kworker/u257:3-events_unbound)" STAT_TAIL, "kworker/u257:3-"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct task_stat stat;
        assert_true(task_parse_stat(cases[i].text, &stat));
        assert_string_equal(stat.name, cases[i].name);
        assert_true(stat.state == 'S' && !stat.ended && stat.parent == 41 && stat.threads == 9);
        assert_true(stat.minor_faults == 5 && stat.major_faults == 7 && stat.start_ticks == 99);
        const double hertz = (double)sysconf(_SC_CLK_TCK);
        assert_true(fabs(stat.user_s - 100 / hertz) < 1e-9);
        assert_true(fabs(stat.system_s - 200 / hertz) < 1e-9);
        assert_true(fabs(stat.below_s - 700 / hertz) < 1e-9);
    }
}

TEST(task_refuses_text_that_is_cut)
{
    static const char *const texts[] = {"", "7", "7 (a", "7 (a)", "7 (a) ", ")(", "7 )a( R 1"};
    struct task_stat stat;
    struct task_times times;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_false(task_parse_stat(texts[i], &stat));
    assert_false(task_parse_times("", &times));
    assert_false(task_parse_times("12", &times));
    assert_true(task_parse_times("12 34 5\n", &times));
    assert_true(times.oncpu_ns == 12 && times.wait_ns == 34 && times.has_wait);
}

TEST(task_class_is_read_from_stat)
{
    static const struct {
        const char *priority, *tail; /* fields 18, and 40 and 41 */
        bool realtime;
        double weight; /* that of the kernel's table */
    } cases[] = {{"20", "0 0", false, 1024}, {"39", "0 0", false, 15},
                 {"0", "0 0", false, 88761}, {"20", "0 3", false, 1024},  /* SCHED_BATCH */
                 {"20", "0 5", false, 3},                                 /* SCHED_IDLE */
                 {"-40", "39 1", true, NAN}, {"-101", "0 6", true, NAN}}; /* SCHED_DEADLINE */
    char text[256];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct task_stat stat;
        put_text(text,
                 "7 (a b) R 1 7 7 0 -1 0 0 0 0 0 11 12 0 0 %s 0 1 0 99 0 0 0 0 0 0 0 0 0 0 0 "
                 "0 0 0 0 17 3 %s 0",
                 cases[i].priority, cases[i].tail);
        assert_true(task_parse_stat(text, &stat));
        assert_int_equal(stat.cpu, 3);
        assert_int_equal(stat.realtime, cases[i].realtime);
        if (!stat.realtime)
            assert_true(fabs(stat.weight / cases[i].weight - 1) < 0.02);
    }
}

static int count_tasks(pid_t pid)
{
    int n = 0;
    DIR *tasks = task_open(pid);
    while (task_next(&tasks))
        n++;
    assert_null(tasks);
    return n;
}

static pthread_barrier_t started, done;
static pid_t other_tid;

static void *work(void *arg)
{
    (void)prctl(PR_SET_NAME, "a) R 1");
    other_tid = gettid();
    (void)pthread_barrier_wait(&started);
    (void)pthread_barrier_wait(&done);
    return arg;
}

TEST(task_that_ends_is_gone)
{
    pthread_t thread;
    struct task_stat stat;
    struct task_times times;
    assert_int_equal(pthread_barrier_init(&started, NULL, 2) | pthread_barrier_init(&done, NULL, 2),
                     0);
    const int before = count_tasks(getpid());
    assert_int_equal(pthread_create(&thread, NULL, work, NULL), 0);
    (void)pthread_barrier_wait(&started);
    assert_int_equal(count_tasks(getpid()), before + 1);
    assert_true(task_read_stat(getpid(), other_tid, &stat));
    assert_string_equal(stat.name, "a) R 1");
    assert_true(task_read_times(getpid(), other_tid, &times) && times.oncpu_ns > 0);
    assert_true(task_started(getpid(), other_tid) >= task_started(getpid(), 0));
    (void)pthread_barrier_wait(&done);
    assert_int_equal(pthread_join(thread, NULL), 0);
    while (task_started(getpid(), other_tid)) /* the kernel removes it a moment later */
        (void)usleep(1000);
    assert_false(task_read_stat(getpid(), other_tid, &stat));
    assert_false(task_read_times(getpid(), other_tid, &times));
}

TEST(task_zombie_has_ended)
{
    struct task_stat stat;
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        _exit(0);
    siginfo_t end;
    assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
    assert_true(task_read_stat(child, 0, &stat) && stat.ended && stat.parent == getpid());
    assert_int_equal(task_started(child, 0), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(task_read_stat(child, 0, &stat));
    assert_int_equal(count_tasks(child), 0);
    assert_true(task_cpu_s(child) == 0 && task_cpu_s(getpid()) > 0);
}
