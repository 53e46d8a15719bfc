/* Processes below this one: listed, inspected, adopted and ended. */
#include "harness/lib/sys/task.h"

#include <math.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/process.h"
#include "tests/lib/unit.h"

static int sleep_on(void *arg)
{
    (void)prctl(PR_SET_PDEATHSIG,
                0); /* undoes what process_start set: a program of a user's has no such signal */
    for (;;)
        (void)pause();
    return 0;
}

/* Ends, and leaves a process in a session of its own behind. */
static int leave_one(void *arg)
{
    struct process process;
    (void)setsid();
    (void)process_start(&process, true, sleep_on, arg);
    if (arg) /* the process that is left */
        return sleep_on(NULL);
    return 0;
}

static bool is_listed(pid_t pid)
{
    struct tree_process below[TREE_PROCESSES];
    unsigned n = tree_list(getpid(), below, TREE_PROCESSES);
    for (unsigned i = 0; i < n; i++)
        if (below[i].pid == pid && !below[i].ended)
            return true;
    return false;
}

static unsigned count_below(void)
{
    struct tree_process below[TREE_PROCESSES];
    return tree_list(getpid(), below, TREE_PROCESSES);
}

static void await_below(unsigned n)
{
    while (count_below() != n) /* the test's time limit ends this loop */
        (void)usleep(1000);
}

TEST(tree_lists_parents_first)
{
    unit_skip_emulated("qemu has no PR_SET_CHILD_SUBREAPER");
    struct process process;
    struct tree_process below[TREE_PROCESSES];
    assert_int_equal(process_start(&process, false, leave_one, &process), 0);
    await_below(2);
    assert_int_equal(tree_list(getpid(), below, TREE_PROCESSES), 2);
    assert_int_equal(below[0].pid, process.pid);
    assert_int_equal(below[0].parent, getpid());
    assert_int_equal(below[1].parent, process.pid);
    assert_true(tree_is_same(&below[1]));
    below[1].started++;
    assert_false(tree_is_same(&below[1]));
    assert_int_equal(tree_list(getpid(), below, 1), 1);
    process_adopt(true);
    assert_true(process_end_below(getpid()));
    process_adopt(false);
    assert_int_equal(count_below(), 0);
    process_wait(&process, &(int){0});
}

TEST(tree_new_ones_are_ended_and_known_ones_stay)
{
    unit_skip_emulated("qemu has no PR_SET_CHILD_SUBREAPER");
    struct process known_one, killed;
    struct process_known known;
    assert_int_equal(process_start(&known_one, true, leave_one, &known), 0);
    await_below(2);
    process_note_known(&known);
    assert_int_equal(known.n, 2);
    process_adopt(true);
    assert_int_equal(process_start(&killed, false, leave_one, &known), 0);
    await_below(4);
    assert_int_equal(process_signal(&killed, 9), 0);
    process_wait(&killed, &(int){0});
    assert_true(process_end_new(&known));
    assert_int_equal(count_below(), 2);
    assert_true(is_listed(known_one.pid));
    assert_true(process_end_below(getpid()));
    process_adopt(false);
    process_wait(&known_one, &(int){0});
}

TEST(tree_binds_all_below)
{
    struct process process;
    struct tree_process child;
    struct bitset all, one = {0}, mask;
    assert_int_equal(affinity_get(0, &all), 0);
    for (unsigned cpu = 0; bitset_empty(&one); cpu++)
        if (bitset_test(&all, cpu))
            bitset_set(&one, cpu);
    assert_int_equal(process_start(&process, true, leave_one, &process), 0);
    await_below(2);
    assert_int_equal(tree_list(process.pid, &child, 1), 1);
    assert_int_equal(process_bind_tree(process.pid, &one), 0);
    assert_int_equal(affinity_get(process.pid, &mask), 0);
    assert_true(bitset_equal(&mask, &one));
    assert_int_equal(affinity_get(child.pid, &mask), 0);
    assert_true(bitset_equal(&mask, &one));
    assert_int_equal(process_bind_tree(process.pid, &(struct bitset){0}), -EBUSY);
    process_adopt(true);
    assert_true(process_end_below(getpid()));
    process_adopt(false);
    process_wait(&process, &(int){0});
}

static int burn(void *arg)
{
    for (volatile unsigned long i = 0;; i++)
        ;
    return 0;
}

static void note_seen(void *arg, int tid, unsigned os_cpu, uint64_t at_ns)
{
    assert_true(at_ns > 0);
    *(int *)arg = tid;
}

TEST(tree_tells_who_ran_and_what_it_used)
{
    unit_skip_emulated("qemu has a thread of its own in each process");
    static struct tree tree;
    struct process process;
    struct bitset all = {0};
    int seen = 0;
    assert_int_equal(affinity_get(0, &all), 0);
    process_adopt(true);
    tree_begin(&tree, &all);
    assert_int_equal(process_start(&process, false, burn, NULL), 0);
    pid_t pid = process.pid;
    while (!seen || tree.used.oncpu_s < 0.05) {
        (void)usleep(5000);
        tree_sample(&tree, note_seen, &seen);
    }
    assert_int_equal(seen, pid);
    assert_int_equal(tree.nmasks, 0);
    assert_int_equal(process_signal(&process, 9), 0);
    process_wait(&process, &(int){0});
    tree_end(&tree);
    process_adopt(false);
    assert_true(tree.used.cpu_s >= 0.05 && tree.used.oncpu_s >= 0.05);
    assert_int_equal(tree.used.team, 1);
}

static int pause_on(void *arg)
{
    (void)arg;
    (void)pause();
    return 0;
}

/* A server is counted, its client beside it is not: neither live, nor after its end. */
TEST(tree_leaves_out_a_client)
{
    static struct tree tree;
    struct process server, client;
    struct bitset all = {0};
    assert_int_equal(affinity_get(0, &all), 0);
    process_adopt(true);
    tree_begin(&tree, &all);
    assert_int_equal(process_start(&server, false, pause_on, NULL), 0);
    tree_sample(&tree, NULL, NULL);
    const double before_s = tree.used.cpu_s; /* also of other tests */
    tree_leave_out(&tree);
    assert_int_equal(process_start(&client, false, burn, NULL), 0);
    tree.left_out = client.pid;
    while (task_cpu_s(client.pid) < 0.1) {
        (void)usleep(5000);
        tree_sample(&tree, NULL, NULL);
    }
    assert_true(tree.used.cpu_s < before_s + 0.05);
    assert_int_equal(process_signal(&client, 9), 0);
    process_wait(&client, &(int){0});
    assert_true(tree_count_left_out(&tree) >= 0.1);
    tree_sample(&tree, NULL, NULL);
    /* a sum that is taken off again may differ by a rounding */
    assert_true(fabs(tree.used.cpu_s - before_s) < 0.05);
    assert_int_equal(process_signal(&server, 9), 0);
    process_wait(&server, &(int){0});
    tree_end(&tree);
    process_adopt(false);
    assert_true(tree.used.cpu_s < before_s + 0.05);
}

static void *burn_or_sleep(void *burns)
{
    (void)(burns ? burn(NULL) : sleep_on(NULL));
    return NULL;
}

/* A thousand threads, the last of which runs. */
static int burn_in_the_last(void *arg)
{
    pthread_attr_t small;
    pthread_t thread;
    (void)pthread_attr_init(&small);
    (void)pthread_attr_setstacksize(&small, 128 << 10);
    for (int i = 0; i <= 1000; i++)
        if (pthread_create(&thread, &small, burn_or_sleep, i < 1000 ? NULL : &small))
            return 77; /* a limit of this machine */
    return sleep_on(NULL);
}

TEST(tree_counts_a_team_of_any_size)
{
    static struct tree tree;
    struct process process;
    struct bitset all = {0};
    int seen = 0, status = 0;
    assert_int_equal(affinity_get(0, &all), 0);
    process_adopt(true);
    tree_begin(&tree, &all);
    assert_int_equal(process_start(&process, false, burn_in_the_last, NULL), 0);
    while (!process_is_zombie(&process) &&
           (tree.nthreads < 1002 || !seen || seen == process.pid)) { /* tids may wrap around */
        tree_sample(&tree, note_seen, &seen);
        (void)usleep(5000);
    }
    bool limited = process_is_zombie(&process);
    (void)process_signal(&process, 9);
    process_wait(&process, &status);
    tree_end(&tree);
    process_adopt(false);
    if (limited && WEXITSTATUS(status) == 77)
        skip();
    assert_false(limited);
    assert_true(tree.used.oncpu_s > 0);
}

/* Starts processes that use CPU time and end, one after another. */
static int start_many(void *arg)
{
    for (int i = 0; i < 200; i++) {
        pid_t pid = fork();
        for (volatile unsigned long n = 0; !pid && n < 3000000; n++)
            ;
        if (!pid)
            _exit(0);
        (void)waitpid(pid, NULL, 0);
    }
    return 0;
}

TEST(tree_keeps_sums_of_ended_threads_alone)
{
    static struct tree tree;
    struct process process;
    struct bitset all = {0};
    uint32_t most = 0;
    assert_int_equal(affinity_get(0, &all), 0);
    process_adopt(true);
    tree_begin(&tree, &all);
    assert_int_equal(process_start(&process, false, start_many, NULL), 0);
    while (!process_is_zombie(&process)) {
        tree_sample(&tree, NULL, NULL);
        most = tree.nthreads > most ? tree.nthreads : most;
    }
    double sampled_s = tree.ended_oncpu_s;
    process_wait(&process, &(int){0});
    tree_end(&tree);
    process_adopt(false);
    assert_true(sampled_s > 0 && sampled_s <= tree.used.cpu_s);
    assert_true(most < 100); /* of 201 */
}

TEST(tree_names_a_thread_that_is_bound_beyond_its_plan)
{
    static struct tree tree;
    struct process process;
    struct bitset none = {0};
    process_adopt(true);
    tree_begin(&tree, &none); /* a plan without any CPU */
    assert_int_equal(process_start(&process, false, pause_on, NULL), 0);
    while (!tree.nmasks) {
        tree_sample(&tree, NULL, NULL);
        (void)usleep(1000);
    }
    assert_int_equal(tree.mask[0].tid, process.pid);
    assert_true(tree.mask[0].outside_plan);
    assert_true(process_end_below(getpid()));
    process_adopt(false);
    process_wait(&process, &(int){0});
}
