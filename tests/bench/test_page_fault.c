/* First uses of memory, through the contract: each page faults as often as its kind says. */
#include <sys/wait.h>

#include "bench/common/memory.h"
#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

ON_THIS_MACHINE

static const char *const hows[] = {"touch", "huge", "cow", "private", "shared", "map", "read"};
static const char *const betweens[] = {"threads", "processes"};
enum { HOWS = sizeof(hows) / sizeof(hows[0]) };

/* Faults a page: most and least. A process of its own faults a few times more for its stack, and a
 * sanitizer once for each eight pages. */
static void expect_faults(const struct scan *scan, const char *how, const char *between, unsigned n)
{
    char key[64];
    put_text(key, "how=%s;between=%s;n=%u", how, between, n);
    if (scan_reason(scan, "page_time", key))
        return;
    double rate = scan_value(scan, "page_rate", key), ns = scan_value(scan, "page_time", key);
    double faults = scan_value(scan, "page_faults", key);
    assert_true(rate > 0 && fabs(rate * ns / 1e3 / n - 1) < 1e-6);
    if (!strcmp(how, "huge"))
        assert_true(faults > 0 && faults < 0.5);
    else if (!strcmp(how, "map")) /* the kernel maps the pages around a fault, too */
        assert_true(faults > 0 && faults < 1.3);
    else if (!strcmp(how, "read"))
        assert_true(faults < 0.1);
    else
        assert_true(faults > 0.99 && faults < 1.3);
}

TEST(faults_of_all_kinds)
{
    static const char *const pairs[] = {"size=2M", NULL};
    unsigned counts = machine.ncpus > 1 ? 2 : 1;
    struct bench_machine few = machine;
    struct scan scan;
    few.ncpus = counts;
    scan_run(&scan, &bench_page_fault, &few, pairs, 0.1);
    assert_int_equal(scan_count(&scan, "page_time"), HOWS * 2 * counts);
    for (size_t how = 0; how < HOWS; how++)
        for (size_t between = 0; between < 2; between++)
            for (unsigned n = 1; n <= counts; n++)
                expect_faults(&scan, hows[how], betweens[between], n);
    scan_end(&scan);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

TEST(faults_of_one_kind)
{
    static const char *const pairs[] = {"how=cow", "between=processes", "size=3M", NULL};
    ENDED_BY(scan_end) struct scan scan;
    struct bench_machine lonely = machine;
    lonely.ncpus = 1;
    scan_run(&scan, &bench_page_fault, &lonely, pairs, 0.05);
    assert_int_equal(scan_count(&scan, "page_time"), 1);
    expect_faults(&scan, "cow", "processes", 1);
}

TEST(faults_without_the_memory)
{
    static const char *const pairs[] = {"size=64G", "how=touch", "between=threads", NULL};
    ENDED_BY(scan_end) struct scan scan;
    if (memory_available_bytes() > UINT64_C(60) << 30)
        skip();
    assert_int_equal(scan_try(&scan, &bench_page_fault, &machine, pairs, 0.05), -ENOTSUP);
    assert_has(scan.err.msg, "memory");
}
