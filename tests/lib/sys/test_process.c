/* Child processes that cannot be started, that end, and that other code has reaped. */
#include "harness/lib/sys/process.h"
#include "tests/lib/unit.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { ITS_CODE = 9 };

static int end_at_once(void *arg)
{
    return ITS_CODE;
}

static int wait_for_signal(void *arg)
{
    for (;;)
        (void)pause();
    return 0;
}

static bool runs(const struct process *process)
{
    return !process_signal(process, 0);
}

static void kill_and_wait(struct process *process)
{
    int status;
    assert_int_equal(process_signal_group(process, SIGKILL), 0);
    process_wait(process, &status);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(process->pid, 0);
}

/* kill(2) takes each of these numbers for many processes or for a process that is no child. */
TEST(process_refuses_numbers_of_no_child)
{
    static const pid_t numbers[] = {0, -1, 1, -2};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct process process = {.pid = numbers[i], .pidfd = -1, .leads = true};
        int status = 0;
        assert_int_equal(process_signal(&process, 0), -ESRCH);
        assert_int_equal(process_signal_group(&process, 0), -ESRCH);
        assert_true(process_ended(&process, &status));
        assert_int_equal(status, PROCESS_STATUS_UNKNOWN);
    }
}

TEST(process_tells_the_code_and_forgets)
{
    struct process process;
    int status;
    assert_int_equal(process_start(&process, true, end_at_once, NULL), 0);
    assert_true(process.pid > 1);
    process_wait(&process, &status);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), ITS_CODE);
    assert_int_equal(process.pid, 0);
    assert_int_equal(process_signal(&process, 0), -ESRCH);
}

/* Like an old kernel, without pidfds. */
TEST(process_works_without_pidfd)
{
    struct process process;
    int status;
    assert_int_equal(process_start(&process, false, wait_for_signal, NULL), 0);
    if (process.pidfd >= 0)
        (void)close(process.pidfd);
    process.pidfd = -1;
    assert_true(runs(&process));
    assert_false(process_ended(&process, &status));
    kill_and_wait(&process);
}

static int start_another(void *line)
{
    struct process child;
    (void)process_start(&child, false, wait_for_signal, NULL);
    (void)!write(*(int *)line, "s", 1);
    return wait_for_signal(NULL);
}

/* The pipe stays open as long as either process lives. */
TEST(process_ends_what_it_started)
{
    struct process process;
    int line[2];
    char text[2];
    assert_int_equal(pipe(line), 0);
    assert_int_equal(process_start(&process, true, start_another, &line[1]), 0);
    (void)close(line[1]);
    assert_int_equal(read(line[0], text, 1), 1);
    kill_and_wait(&process);
    assert_int_equal(read(line[0], text, 1), 0);
    (void)close(line[0]);
}

/* By now another process may have its number. */
TEST(process_leaves_alone_whom_another_reaped)
{
    struct process process;
    int status = 0;
    assert_int_equal(process_start(&process, true, end_at_once, NULL), 0);
    assert_int_equal(waitpid(process.pid, &status, 0), process.pid);
    if (process.pidfd >= 0)
        assert_int_equal(process_signal_group(&process, 0), -ESRCH);
    assert_true(process_ended(&process, &status));
    assert_int_equal(status, PROCESS_STATUS_UNKNOWN);
    assert_int_equal(process_signal_group(&process, 0), -ESRCH);
}

/* wait4 may answer ECHILD while the child still runs. */
TEST(process_ends_where_sigchld_is_ignored)
{
    struct process process;
    int status;
    (void)signal(SIGCHLD, SIG_IGN);
    assert_int_equal(process_start(&process, true, wait_for_signal, NULL), 0);
    bool has_pidfd = process.pidfd >= 0;
    assert_int_equal(process_ended(&process, &status), !has_pidfd);
    if (has_pidfd) {
        assert_int_equal(process_signal_group(&process, SIGKILL), 0);
        process_wait(&process, &status);
    }
    assert_int_equal(status, PROCESS_STATUS_UNKNOWN);
    assert_int_equal(process.pid, 0);

    process_keep_children();
    assert_int_equal(process_start(&process, true, end_at_once, NULL), 0);
    process_wait(&process, &status);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), ITS_CODE);
}

static bool is_left(pid_t pid)
{
    siginfo_t end;
    return !waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT);
}

/* Whichever of them the kernel names first. */
TEST(process_reaps_all_but_one)
{
    for (int kept = 0; kept < 3; kept++) {
        struct process process[3];
        int status;
        for (int i = 0; i < 3; i++) {
            assert_int_equal(process_start(&process[i], false, end_at_once, NULL), 0);
            assert_true(is_left(process[i].pid));
        }
        process_reap_others(&process[kept]);
        for (int i = 0; i < 3; i++)
            assert_int_equal(is_left(process[i].pid), i == kept);
        for (int i = 0; i < 3; i++) {
            assert_true(process_ended(&process[i], &status));
            assert_int_equal(status != PROCESS_STATUS_UNKNOWN, i == kept);
        }
    }
}

/* With so many processes, enough descriptors remain for other uses. */
TEST(process_leaves_descriptors)
{
    struct process process[8];
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(STDIN_FILENO);
    if (next < 0)
        skip();
    (void)close(next);
    few = before;
    few.rlim_cur = (rlim_t)(2 * (next + 2));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(process_start(&process[i], false, wait_for_signal, NULL), 0);
    assert_int_equal(process[7].pidfd, -1);
    for (int i = 0; i < 8; i++)
        kill_and_wait(&process[i]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* It waits as long as it may, then kills; a process that ends by itself keeps its code. */
TEST(process_end_has_a_limit)
{
    struct process process;
    int status;
    assert_int_equal(process_start(&process, true, wait_for_signal, NULL), 0);
    assert_false(process_wait_for(&process, 0.05, &status));
    assert_true(runs(&process));
    assert_true(process_end(&process, 0.05, &status));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(process.pid, 0);
    assert_int_equal(process_start(&process, true, end_at_once, NULL), 0);
    assert_true(process_end(&process, 60, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == ITS_CODE);
}
