/* What makes the workers of one plan differ. */
#include "harness/verdict/odd.h"

#include "tests/lib/fixture_result.h"
#include "tests/lib/fixture_topo.h"
#include "tests/lib/unit.h"

static void bind(struct result *result, size_t arm, unsigned w, unsigned from, unsigned to)
{
    struct plan_worker *worker = &result->arms[arm].plan.workers[w];
    worker->cpus = (struct bitset){0};
    for (unsigned cpu = from; cpu <= to; cpu++)
        bitset_set(&worker->cpus, cpu);
}

TEST(plans_of_unlike_workers_are_named_once)
{
    AUTO(findings) findings = {0};
    AUTO(topo) topo = fixture_topo("package:2 numa:1 core:4 pu:1", NULL);
    EMPTY_RESULT(result);
    (void)fixture_add_arm(&result, PLACE_PARTITION, 2, true);
    size_t first = fixture_add_arm(&result, PLACE_PARTITION, 2, false);
    size_t again = fixture_add_arm(&result, PLACE_PARTITION, 2, false);
    for (size_t arm = first; arm <= again; arm++) {
        bind(&result, arm, 0, 0, 3);
        bind(&result, arm, 1, 4, 7);
    }
    plans_find(&topo, &result, &findings);
    assert_int_equal(findings.n, 0);
    plans_find(NULL, &result, &findings); /* a result from disk */
    assert_int_equal(findings.n, 0);
    topo.nkinds = 2;
    for (unsigned i = 0; i < 4; i++)
        topo.cpus[i].kind = 1;
    topo.nodes[1].allowed = false;
    plans_find(&topo, &result, &findings);
    assert_int_equal(findings.n, 2);
    assert_string_equal(findings.all[0].id, "workers_unlike");
    assert_string_equal(findings.all[0].subject, "partition: worker 1");
    assert_string_equal(findings.all[1].id, "worker_no_memory");
    assert_string_equal(findings.all[1].subject, "partition: worker 1");
}
