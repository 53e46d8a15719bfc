/* Echo servers, through the contract: all messages come back, by the system calls of each loop. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

ON_THIS_MACHINE

static const char *const loops[] = {"epoll", "uring", "sqpoll"};

static double value_at(const struct scan *scan, const char *metric, const char *loop, unsigned n)
{
    char key[64];
    put_text(key, "loop=%s;connections=%u", loop, n);
    return scan_value(scan, metric, key);
}

static bool is_refused(const struct scan *scan, const char *loop)
{
    char key[64];
    put_text(key, "loop=%s;connections=1", loop);
    return scan_reason(scan, "echo_rate", key);
}

static void expect_echoes(const struct scan *scan, const char *loop, unsigned n)
{
    double calls = value_at(scan, "echo_calls", loop, n);
    double p50 = value_at(scan, "echo_p50", loop, n), p99 = value_at(scan, "echo_p99", loop, n);
    /* On a busy machine, no message may come back in the part of the slice that counts. */
    assert_true(value_at(scan, "echo_rate", loop, n) >= 0);
    assert_true(value_at(scan, "echo_cpu", loop, n) > 0);
    assert_true((isnan(p50) && isnan(p99)) || (p50 > 0 && p50 <= p99));
    /* epoll: a receive, a send, and a part of a wait. A ring: at most a call for each of them. */
    if (!strcmp(loop, "epoll"))
        assert_true(calls > 2);
    else
        assert_true(calls > 0 && calls <= 4);
}

TEST(echoes_of_all_loops)
{
    static const char *const pairs[] = {"connections=20", NULL};
    struct scan scan;
    scan_run(&scan, &bench_event_loop, &machine, pairs, 0.6);
    for (size_t i = 0; i < 3; i++) {
        char key[64];
        put_text(key, "loop=%s", loops[i]);
        if (is_refused(&scan, loops[i]))
            continue;
        for (unsigned n = 1; n <= 20; n = n == 1 ? 10 : n + 10)
            expect_echoes(&scan, loops[i], n);
        assert_true(scan_value(&scan, "shared_rate", key) >= 0);
        assert_true(scan_value(&scan, "shared_cpu", key) > 0);
        assert_true(scan_value(&scan, "job_kept", key) >= 0 || !scan_value(&scan, "job_rate", ""));
    }
    /* A ring hands over all that has come in one call. */
    if (!is_refused(&scan, "uring"))
        assert_true(value_at(&scan, "echo_calls", "uring", 20) <
                    value_at(&scan, "echo_calls", "epoll", 20));
    scan_end(&scan);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

TEST(echoes_of_one_loop_on_one_cpu)
{
    static const char *const pairs[] = {"connections=2", "loop=epoll", NULL};
    ENDED_BY(scan_end) struct scan scan;
    struct bench_machine lonely = machine;
    lonely.ncpus = 1;
    scan_run(&scan, &bench_event_loop, &lonely, pairs, 0.1);
    assert_int_equal(scan_count(&scan, "echo_rate"), 2);
    assert_int_equal(scan_count(&scan, "shared_rate"), 1);
    assert_int_equal(scan_count(&scan, "job_rate"), 2);
    expect_echoes(&scan, "epoll", 1);
    expect_echoes(&scan, "epoll", 2);
}

static void tokenise(const char *where, double *prompts, double *p99_us, double *cpu_us)
{
    ENDED_BY(scan_end) struct scan scan;
    const char *const pairs[] = {"connections=100", "prompt=5ms", where, NULL};
    scan_run(&scan, &bench_event_loop, &machine, pairs, 0.4);
    assert_int_equal(scan_count(&scan, "echo_rate"), 1);
    *prompts = value_at(&scan, "prompts", "epoll", 100);
    *p99_us = value_at(&scan, "echo_p99", "epoll", 100);
    *cpu_us = value_at(&scan, "echo_cpu", "epoll", 100);
}

/* A prompt takes 5 ms of the loop, for which all 100 connections wait; or none of it. */
TEST(prompts_stop_the_loop_that_tokenises_them)
{
    double prompts[2], p99_us[2], cpu_us[2];
    tokenise("tokenise=loop", &prompts[0], &p99_us[0], &cpu_us[0]);
    tokenise("tokenise=thread", &prompts[1], &p99_us[1], &cpu_us[1]);
    assert_true(prompts[0] > 0 && prompts[1] > 0);
    assert_true(p99_us[0] >= 5000);
    assert_true(cpu_us[0] > 1.2 * cpu_us[1]);
}

/* The soft limit of open files is raised where the hard one allows it. */
TEST(echoes_raise_the_limit_of_files)
{
    static const char *const pairs[] = {"connections=300", "loop=epoll", NULL};
    ENDED_BY(scan_end) struct scan scan;
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    if (before.rlim_max < 1024)
        skip();
    low = before;
    low.rlim_cur = 256;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    scan_run(&scan, &bench_event_loop, &machine, pairs, 0.1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    expect_echoes(&scan, "epoll", 300);
}
