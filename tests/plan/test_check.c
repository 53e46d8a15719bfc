/* What is found in plans: workers over several packages, cores divided among workers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/plan/check.h"

static void load(const char *xml, struct topo *topo)
{
    struct topo_options options = {.xml = xml};
    struct err err = {0};
    if (topo_load(&options, topo, &err))
        fail_msg("%s: %s", xml, err.msg);
}

static void check(const struct topo *topo, const struct plan_request *request,
                  struct findings *findings)
{
    struct err err = {0};
    struct plan plan = {0};
    *findings = (struct findings){0};
    if (plan_make_or_skip(topo, request, &plan, &err) || plan_check(topo, &plan, findings, &err))
        fail_msg("%s", err.msg);
    plan_free(&plan);
}

/* "ID SUBJECT" of each, joined by "; ". */
static const char *list_findings(const struct findings *findings, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < findings->n; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s %s", i ? "; " : "",
                                 findings->all[i].id, findings->all[i].subject);
    return buf;
}

static void test_check_finds_divided_cores_and_workers_over_packages(void **state)
{
    (void)state;
    /* Two packages, two caches each, of two cores with two threads. */
    static const struct {
        enum placement placement;
        unsigned workers, background;
        const char *found;
    } cases[] = {
        {PLACE_NONE, 3, 0, ""},
        {PLACE_SIZED, 3, 0, ""},
        {PLACE_PASSIVE, 3, 0, ""},
        {PLACE_SAME, 3, 0, ""},
        {PLACE_SAME, 1, 0, "worker_over_packages worker 0"},
        {PLACE_PARTITION, 2, 0, ""},
        /* 0-5, 6-10, 11-15 */
        {PLACE_PARTITION, 3, 0, "worker_over_packages worker 1; cores_divided workers 1-2"},
        {PLACE_PARTITION, 2, 1, "worker_over_packages worker 1; cores_divided workers 1-2"},
        {PLACE_PARTITION, 4, 0, ""},
        {PLACE_PARTITION, 16, 0, "cores_divided workers 0-15"},
        {PLACE_PARTITION, 17, 0, ""}, /* skipped */
        {PLACE_SPREAD, 3, 0, "worker_over_packages workers 0-2"},
        {PLACE_CORES, 3, 0, "worker_over_packages worker 1"},
        {PLACE_LLC, 3, 0, ""},
        {PLACE_NUMA, 3, 0, ""},
        {PLACE_REMOTE, 3, 0, ""},
    };
    struct topo topo;
    load("package:2 numa:1 l3:2 core:2 pu:2", &topo);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char found[400];
        struct findings findings;
        struct plan_request request = {.placement = cases[i].placement,
                                       .workers = cases[i].workers,
                                       .background = cases[i].background};
        check(&topo, &request, &findings);
        assert_string_equal(list_findings(&findings, found, sizeof(found)), cases[i].found);
        findings_free(&findings);
    }
    topo_free(&topo);
}

/* Only what the machine has is advised. */
static void test_check_advises_what_helps(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        unsigned workers;
        const char *cpus, *advice;
    } cases[] = {
        {"package:1 core:4 pu:2", 3, "they share 1 core (CPUs 2-3)", "cores gives each"},
        {"package:1 core:4 pu:3", 5, "they share 2 cores (CPUs 6-11)", NULL},
        {"package:1 core:2 pu:2", 3, "they share 1 core (CPUs 2-3)", NULL},
        {"package:2 core:3 pu:1", 1, "CPUs of more than one package:", NULL},
        {"package:2 numa:1 core:3 pu:1", 1, "CPUs of more than one package:", "numa keeps each"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct topo topo;
        struct findings findings;
        struct plan_request request = {.placement = PLACE_PARTITION, .workers = cases[i].workers};
        load(cases[i].machine, &topo);
        check(&topo, &request, &findings);
        assert_int_equal(findings.n, 1);
        const char *sentence = findings.all[0].sentence;
        if (!strstr(sentence, cases[i].cpus))
            fail_msg("no '%s' in '%s'", cases[i].cpus, sentence);
        if (cases[i].advice ? !strstr(sentence, cases[i].advice) : strchr(sentence, ';') != NULL)
            fail_msg("'%s' is not as '%s'", sentence, cases[i].advice ? cases[i].advice : "");
        findings_free(&findings);
        topo_free(&topo);
    }
}

/* The CPUs of a job's workers are those of their own hosts. */
static void test_check_leaves_plans_over_several_hosts_alone(void **state)
{
    (void)state;
    struct topo topo;
    struct plan plan = {0};
    struct err err = {0};
    struct findings findings = {0};
    struct plan_request request = {.placement = PLACE_PARTITION, .workers = 3};
    load("package:1 core:2 pu:2", &topo);
    assert_int_equal(plan_make(&topo, &request, &plan, &err), 0);
    for (unsigned w = 0; w < plan.nworkers; w++)
        (void)snprintf(plan.workers[w].host, sizeof(plan.workers[w].host), "host%u", w);
    assert_int_equal(plan_check(&topo, &plan, &findings, &err), 0);
    assert_int_equal(findings.n, 0);
    findings_free(&findings);
    plan_free(&plan);
    topo_free(&topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_finds_divided_cores_and_workers_over_packages),
        cmocka_unit_test(test_check_advises_what_helps),
        cmocka_unit_test(test_check_leaves_plans_over_several_hosts_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
