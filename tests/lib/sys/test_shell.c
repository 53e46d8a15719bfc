/* Shell commands that end, that do not, and that close their output. */
#include "harness/lib/sys/process.h"

#include <signal.h>
#include <sys/wait.h>

#include "tests/lib/unit.h"

enum { FOR_EVER_S = 1000 };

static bool now(void *arg)
{
    return true;
}

static int run(const char *line, double limit_s, bool (*stops)(void *arg), char text[static 16])
{
    const struct shell shell = {.line = line, .limit_s = limit_s, .stops = stops};
    int status = 0;
    int rc = shell_run(&shell, text, 16, &status);
    return rc ? rc : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(shell_keeps_the_begin_of_the_output)
{
    char text[16];
    assert_int_equal(run("echo 5", FOR_EVER_S, NULL, text), 0);
    assert_string_equal(text, "5\n");
    assert_int_equal(run("exit 7", FOR_EVER_S, NULL, text), 7);
    assert_string_equal(text, "");
    assert_int_equal(run("kill -9 $$", FOR_EVER_S, NULL, text), 128 + SIGKILL);
    assert_int_equal(run("head -c 1000000 /dev/zero | tr '\\0' x", FOR_EVER_S, NULL, text), 0);
    assert_string_equal(text, "xxxxxxxxxxxxxxx");
}

/* The limit is for the command, not for its output. */
TEST(shell_ends_whoever_closes_its_output)
{
    char text[16];
    assert_int_equal(run("echo 5; exec >&- 2>&-; sleep 1000", 0.3, NULL, text), -ETIME);
    assert_string_equal(text, "5\n");
    assert_int_equal(run("trap '' TERM INT; yes", 0.3, NULL, text), -ETIME);
    assert_int_equal(run("sleep 1000", FOR_EVER_S, now, text), -EINTR);
}

/* A process that it leaves behind keeps the output open. */
TEST(shell_waits_for_no_other_process)
{
    char text[16];
    assert_int_equal(run("sleep 1000 & echo $!", FOR_EVER_S, NULL, text), 0);
    const struct process left = {.pid = (pid_t)strtol(text, NULL, 10), .pidfd = -1};
    assert_true(left.pid > 1);
    assert_int_equal(process_signal(&left, SIGKILL), 0);
}
