/* How a program ends that was asked to stop once or twice. */
#include "harness/lib/sys/signals.h"
#include "tests/lib/unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>

enum { ITS_OWN_CODE = 9 };

enum when { NOT_BEFORE, BEFORE_ITS_LAST_LOOK, AFTER_ITS_LAST_LOOK };

/* The wait status of a program that gets SIGTERM, if `asked` says so, while it watches, and again
 * at its end. */
static int end_of_child(enum when asked)
{
    pid_t child = fork();
    if (!child) {
        struct signals signals;
        if (signals_open(&signals, NULL))
            _exit(1);
        if (asked == BEFORE_ITS_LAST_LOOK)
            (void)raise(SIGTERM);
        if (signals_take(&signals) != (asked == BEFORE_ITS_LAST_LOOK))
            _exit(2);
        if (asked == AFTER_ITS_LAST_LOOK)
            (void)raise(SIGTERM);
        signals_close(&signals);
        (void)raise(SIGTERM);
        _exit(ITS_OWN_CODE);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

TEST(second_request_changes_nothing)
{
    int status = end_of_child(BEFORE_ITS_LAST_LOOK);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), ITS_OWN_CODE);
}

TEST(late_request_does_not_end_it_before_its_last_words)
{
    int status = end_of_child(AFTER_ITS_LAST_LOOK);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), ITS_OWN_CODE);
}

TEST(mask_is_restored_otherwise)
{
    int status = end_of_child(NOT_BEFORE);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void *stay(void *runs)
{
    (void)sem_post(runs);
    (void)pause();
    return NULL;
}

/* Like a driver, it starts a thread before the program watches for signals. */
static int end_with_a_thread_of_a_library(bool is_held)
{
    pid_t child = fork();
    if (!child) {
        struct signals signals;
        sigset_t before;
        pthread_t thread;
        sem_t runs;
        if (is_held)
            signals_block(&before);
        if (sem_init(&runs, 0, 0) || pthread_create(&thread, NULL, stay, &runs) || sem_wait(&runs))
            _exit(1);
        if (is_held)
            signals_restore(&before);
        if (signals_open(&signals, NULL))
            _exit(2);
        (void)kill(getpid(), SIGTERM);
        _exit(signals_take(&signals) ? ITS_OWN_CODE : 3);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

TEST(threads_of_libraries_take_no_signal)
{
    int status = end_with_a_thread_of_a_library(true);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), ITS_OWN_CODE);
    assert_true(WIFSIGNALED(end_with_a_thread_of_a_library(false)));
}

/* SIGHUP ends a run, unless nohup started the run. */
TEST(ignored_hangup)
{
    for (int ignored = 0; ignored < 2; ignored++) {
        struct signals signals;
        void (*before)(int) = signal(SIGHUP, ignored ? SIG_IGN : SIG_DFL);
        assert_int_equal(signals_open(&signals, NULL), 0);
        (void)raise(SIGHUP);
        assert_int_equal(signals_take(&signals), !ignored);
        assert_int_equal(signals.since_ns != 0, !ignored);
        signals.interrupted = 0; /* so that the next one restores a mask */
        signals_close(&signals);
        (void)signal(SIGHUP, before);
    }
}

/* Ctrl-Z is no request to end; if it is ignored, nothing happens. */
TEST(stop_is_told_apart)
{
    for (int ignored = 0; ignored < 2; ignored++) {
        struct signals signals;
        void (*before)(int) = signal(SIGTSTP, ignored ? SIG_IGN : SIG_DFL);
        assert_int_equal(signals_open(&signals, NULL), 0);
        (void)raise(SIGTSTP);
        assert_false(signals_take(&signals));
        assert_int_equal(signals.stop_requested, !ignored);
        signals_close(&signals);
        (void)signal(SIGTSTP, before);
    }
}
