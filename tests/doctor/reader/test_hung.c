/* What a thread waits in, by the kernel's report, and which processes hang because of it. */
#include "harness/doctor/reader/hung.h"

#include <sys/syscall.h>

#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

/* A line of /proc/PID/syscall: the call, the address, the operation, the value, and the
 * time-out. */
static const char *call(long number, unsigned operation, unsigned value, unsigned timeout)
{
    static char text[160];
    put_text(text, "%ld 0x7f00 0x%x 0x%x 0x%x 0x0 0xffffffff 0x7ffd1000 0x7f8ee000\n", number,
             operation, value, timeout);
    return text;
}

TEST(waits_without_an_end_are_read)
{
    static const struct {
        unsigned operation, value, timeout;
        bool waits;
        uint32_t joins;
    } cases[] = {
        {0x80, 2, 0, true, 0},  /* a mutex */
        {0x189, 0, 0, true, 0}, /* a semaphore */
        {0x86, 0, 0, true, 0},  /* a priority-inheriting lock */
        {0x8d, 0, 0, true, 0},  /* the newer call for such a lock */
        {0x109, 77, 0, true, 77} /* pthread_join */,
        {0x80, 2, 0x7ffd, false, 0}, /* a time-out */
        {0, 0, 0, false, 0},         /* a semaphore shared with other processes */
        {6, 0, 0, false, 0},         /* such a lock, shared */
        {0x81, 1, 0, false, 0},      /* wakes other threads */
    };
    uint32_t joins;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *text = call(SYS_futex, cases[i].operation, cases[i].value, cases[i].timeout);
        assert_int_equal(hung_read_wait(text, &joins), cases[i].waits);
        if (cases[i].waits)
            assert_int_equal(joins, cases[i].joins);
    }
    assert_false(hung_read_wait(call(SYS_read, 0x80, 2, 0), &joins));
    assert_false(hung_read_wait("running\n", &joins));
    assert_false(hung_read_wait("-1 0x7ffd1000 0x7f8ee000\n", &joins));
    assert_false(hung_read_wait("", &joins));
}

static void put_thread(int tid, const char *syscall, unsigned number, unsigned switches)
{
    char path[64], status[200];
    put_text(path, "/proc/7/task/%d/syscall", tid);
    fixture_put(path, syscall);
    put_text(path, "/proc/7/task/%d/status", tid);
    put_text(status,
             "Name:\tx\nNSpid:\t%d\t%u\nvoluntary_ctxt_switches:\t%u\n"
             "nonvoluntary_ctxt_switches:\t2\n",
             tid, number, switches);
    fixture_put(path, status);
}

static unsigned look(struct view_process *process, void (*between)(void))
{
    const struct view view = {.processes = process, .nprocesses = 1, .is_root = true};
    struct hung hung = {.named = false};
    hung_look(&view, fixture_dir, &hung);
    if (between)
        between();
    hung_finish(&view, fixture_dir, &hung);
    return hung.n ? hung.found[0].threads : 0;
}

static void run_second(void)
{
    put_thread(8, call(SYS_futex, 0x80, 2, 0), 2, 6);
}

static void add_third(void)
{
    put_thread(9, call(SYS_futex, 0x80, 2, 0), 3, 5);
}

TEST_IN_DIR(hung_processes_are_found)
{
    struct view_process process = {.pid = 7, .state = 'S', .name = "x"};
    put_thread(7, call(SYS_futex, 0x109, 2, 0), 1, 5);
    put_thread(8, call(SYS_futex, 0x80, 2, 0), 2, 5);
    assert_int_equal(look(&process, NULL), 2);
    assert_int_equal(look(&process, run_second), 0);
    assert_int_equal(look(&process, NULL), 2);
    assert_int_equal(look(&process, add_third), 0);
    assert_int_equal(look(&process, NULL), 3);
    put_thread(7, call(SYS_futex, 0x109, 99, 0), 1, 5); /* the process has no thread 99 */
    assert_int_equal(look(&process, NULL), 0);
    put_thread(7, "-1 0x0 0x0\n", 1, 5);
    assert_int_equal(look(&process, NULL), 0);
    process.state = 'Z'; /* its first thread has ended */
    assert_int_equal(look(&process, NULL), 2);
    put_thread(9, call(SYS_ppoll, 0, 0, 0), 3, 5);
    assert_int_equal(look(&process, NULL), 0);
}

TEST_IN_DIR(convoys_look_at_busy_threads)
{
    struct view_task tasks[] = {{.tid = 7, .oncpu_s = 0.3, .is_detailed = true},
                                {.tid = 8, .oncpu_s = 0.3, .is_detailed = true},
                                {.tid = 9, .oncpu_s = 0.3, .is_detailed = true},
                                {.tid = 10}};
    struct view_process process = {
        .pid = 7, .watched = true, .ntasks = 4, .tasks = tasks, .start_ticks = 1};
    const struct view view = {.processes = &process, .nprocesses = 1, .wall_s = 1};
    struct convoys convoys = {.n = 0};
    put_thread(7, "running\n", 1, 5);
    put_thread(8, call(SYS_futex, 0x80, 2, 0x7ffd), 2, 5); /* with a time-out, as Python's */
    put_thread(9, call(SYS_read, 0, 0, 0), 3, 5);
    put_thread(10, call(SYS_futex, 0x80, 2, 0), 4, 5); /* not busy */
    convoys_look(&view, fixture_dir, &convoys);
    convoys_look(&view, fixture_dir, &convoys);
    assert_int_equal(convoys.n, 1);
    const struct convoy *convoy = &convoys.found[0];
    assert_int_equal(convoy->looks, 50);
    assert_int_equal(convoy->active, 50);
    assert_int_equal(convoy->running, 50);
    assert_int_equal(convoy->asleep, 100);
    assert_int_equal(convoy->in_futex, 50);
    assert_int_equal(convoy->in_python, 0);
    process.ntasks = 2; /* too few threads */
    process.start_ticks = 2;
    convoys_look(&view, fixture_dir, &convoys);
    assert_int_equal(convoys.n, 1);
}

/* Of Python's threads, those that hardly ran wait for its lock, too. */
TEST_IN_DIR(convoys_look_at_the_interpreter)
{
    struct view_task tasks[] = {{.tid = 7, .oncpu_s = 0.9, .is_detailed = true}, {.tid = 8}};
    struct view_about about = {.python_start = 0x7e00, .python_end = 0x7f01};
    struct view_process process = {
        .pid = 7, .watched = true, .ntasks = 2, .tasks = tasks, .start_ticks = 1, .about = &about};
    const struct view view = {.processes = &process, .nprocesses = 1, .wall_s = 1};
    struct convoys convoys = {.n = 0};
    put_thread(7, "running\n", 1, 5);
    put_thread(8, call(SYS_futex, 0x80, 2, 0x7ffd), 2, 5); /* at 0x7f00 */
    convoys_look(&view, fixture_dir, &convoys);
    assert_int_equal(convoys.n, 1);
    assert_int_equal(convoys.found[0].in_python, 25);
    assert_int_equal(convoys.found[0].running, 25);
    assert_int_equal(convoys.found[0].asleep, 0);
    about.python_end = 0x7f00; /* a lock on the heap */
    convoys_look(&view, fixture_dir, &convoys);
    assert_int_equal(convoys.found[0].in_python, 25);
}
