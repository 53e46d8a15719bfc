/* Messages echoed over sockets, through the contract, and by a server that is not honest. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/io/echo.h"
#include "bench/io/ring.h"
#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

static struct bench_machine machine, lonely;

static void expect_point(const struct scan *scan, const char *how, const char *via, unsigned n)
{
    char key[64], stat_key[96];
    double late[2];
    static const char *const stats[] = {"p50", "p99"};
    (void)snprintf(key, sizeof(key), "how=%s;via=%s;connections=%u", how, via, n);
    if (scan_reason(scan, "echoes", key)) {
        struct err err;
        assert_string_equal(how, "uring");
        assert_int_not_equal(ring_check(0, &err), 0);
        return;
    }
    assert_true(scan_value(scan, "echoes", key) > 0);
    assert_true(scan_value(scan, "echo_cpu", key) > 0);
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(stat_key, sizeof(stat_key), "%s;stat=%s", key, stats[i]);
        late[i] = scan_value(scan, "echo_latency", stat_key);
    }
    /* A machine in use may echo too few for one to be timed. */
    assert_true((isnan(late[0]) && isnan(late[1])) || (late[0] > 0 && late[0] <= late[1]));
}

static void expect_all(const struct bench_machine *on)
{
    static const char *const pairs[] = {"connections=20", NULL};
    struct scan scan;
    scan_run(&scan, &bench_event_loop, on, pairs, 0.4);
    assert_int_equal(scan_count(&scan, "echoes"), 2 * 2 * 3);
    for (unsigned i = 0; i < 2; i++) {
        const char *how = i ? "uring" : "epoll";
        expect_point(&scan, how, "unix", 1);
        expect_point(&scan, how, "unix", 20);
        expect_point(&scan, how, "tcp", 8);
        expect_point(&scan, how, "tcp", 20);
    }
    scan_end(&scan);
}

TEST(event_loop_all)
{
    expect_all(&machine);
}

TEST(event_loop_on_one_cpu)
{
    expect_all(&lonely);
}

TEST(event_loop_of_one_kind)
{
    static const char *const pairs[] = {"connections=1", "how=epoll", "via=tcp", "message=1000",
                                        NULL};
    struct scan scan;
    scan_run(&scan, &bench_event_loop, &machine, pairs, 0.05);
    assert_int_equal(scan_count(&scan, "echoes"), 1);
    expect_point(&scan, "epoll", "tcp", 1);
    scan_end(&scan);
}

/* Sends back one word that it did not get. */
static void *lie(void *arg)
{
    struct echo *echo = arg;
    char message[64];
    for (unsigned n = 0;
         recv(echo->servers[0].fd, message, sizeof(message), MSG_WAITALL) == sizeof(message); n++) {
        message[n == 3 ? 60 : 0] ^= n == 3 ? 1 : 0;
        if (send(echo->servers[0].fd, message, sizeof(message), MSG_NOSIGNAL) < 0)
            return NULL;
    }
    return NULL;
}

TEST(echo_of_something_else)
{
    struct echo echo;
    struct err err;
    pthread_t liar;
    assert_int_equal(echo_open(&echo, ECHO_EPOLL, ECHO_UNIX, 1, 64, &err), 0);
    assert_int_equal(pthread_create(&liar, NULL, lie, &echo), 0);
    while (echo.echoes < 10 && !echo.client_err.code)
        echo_ask(&echo, 10000000);
    assert_int_equal(shutdown(echo.clients[0].fd, SHUT_RDWR), 0);
    assert_int_equal(pthread_join(liar, NULL), 0);
    assert_int_equal(echo_failed(&echo, &err), -EBADMSG);
    assert_int_equal(echo.wrong, 1);
    echo_close(&echo);
}

/* A server that hangs up is an error, and no hang. */
static void *hang_up(void *arg)
{
    struct echo *echo = arg;
    (void)shutdown(echo->servers[0].fd, SHUT_RDWR);
    return NULL;
}

TEST(echo_that_ends)
{
    struct echo echo;
    struct err err;
    pthread_t server;
    assert_int_equal(echo_open(&echo, ECHO_EPOLL, ECHO_TCP, 2, 64, &err), 0);
    assert_int_equal(pthread_create(&server, NULL, hang_up, &echo), 0);
    echo_ask(&echo, 10000000000);
    assert_int_equal(pthread_join(server, NULL), 0);
    assert_true(echo_failed(&echo, &err) < 0);
    echo_close(&echo);
}

/* The last: who lowers a hard limit may not have it back. */
TEST(event_loop_with_few_descriptors)
{
    static const char *const pairs[] = {"connections=200", "how=epoll", "via=unix", NULL};
    const struct rlimit few = {200, 200};
    struct scan scan;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    scan_run(&scan, &bench_event_loop, &machine, pairs, 0.05);
    expect_point(&scan, "epoll", "unix", 8);
    const char *why = scan_reason(&scan, "echoes", "how=epoll;via=unix;connections=200");
    assert_non_null(why);
    assert_non_null(strstr(why, "ulimit -n"));
    scan_end(&scan);
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    lonely = machine;
    lonely.ncpus = 1;
    return 0;
}
