/* A machine that is too busy for evidence: reported once, first, with the figure, in place of each
 * arm's. */
#include "harness/verdict/odd.h"

#include "harness/verdict/verdict.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static int set_up(void **state)
{
    static struct result result;
    fixture_demo(&result);
    *state = &result;
    return 0;
}

static int tear_down(void **state)
{
    fixture_result_free(*state);
    return 0;
}

/* Marks every launch but the first `spared` as disturbed, like collect_verdict. */
static void disturb(struct result *result, size_t spared, double foreign, double steal)
{
    for (size_t i = 0; i < result->narms; i++)
        for (size_t o = 0; o < result->arms[i].nobservations; o++) {
            struct observation *of = &result->arms[i].observations[o];
            if (spared && spared--)
                continue;
            of->foreign_cpu = foreign;
            of->steal = steal;
            of->status = STATUS_NOISY;
            strcpy(of->reason, "41% of the CPU time went to other processes");
        }
}

static size_t count(const struct verdict *verdict, const char *id)
{
    size_t n = 0;
    for (size_t i = 0; i < verdict->findings.n; i++)
        n += !strcmp(verdict->findings.all[i].id, id);
    return n;
}

static void make(const struct result *result, struct verdict *verdict)
{
    assert_int_equal(verdict_make(result, NULL, verdict, NULL), 0);
}

TEST_WITHIN(busy_is_said_once_and_names_who, set_up, tear_down)
{
    AUTO(verdict) verdict;
    struct result *result = *state;
    result->nothers = 2;
    result->others[0] = (struct other_process){.pid = 4711, .share = 0.24, .command = "a\nb"};
    result->others[1] = (struct other_process){.pid = 12, .share = 0.1, .command = "sh"};
    disturb(result, 0, 0.41, 0.01);
    make(result, &verdict);
    assert_string_equal(verdict.findings.all[0].id, "placement"); /* the answer comes first */
    assert_string_equal(verdict.findings.all[1].id, "busy");
    assert_int_equal(verdict.findings.all[1].severity, FINDING_DOUBT);
    assert_string_equal(verdict.findings.all[1].subject, "");
    assert_string_equal(verdict.findings.all[1].sentence,
                        "other programs used 41% of the CPUs: rates and times hold beside such "
                        "load only. Most CPU time: a b (pid 4711) 24%, sh (pid 12) 10%.");
    assert_int_equal(count(&verdict, "noisy"), 0);
    assert_non_null(busy_among(&verdict.findings));
    FREED char *text = fixture_print(*state, false);
    assert_has(text, "recommended: ");
    assert_has(text, "\nnone~ ");
}

TEST_WITHIN(busy_names_the_hypervisor, set_up, tear_down)
{
    AUTO(verdict) verdict;
    disturb(*state, 0, 0.02, 0.12);
    make(*state, &verdict);
    assert_has(verdict.findings.all[1].sentence, "the hypervisor took 12% of the CPUs:");
    verdict_free(&verdict);
    disturb(*state, 0, 0.3, 0.12);
    make(*state, &verdict);
    assert_has(verdict.findings.all[1].sentence,
               "other programs used 30% of the CPUs, and the hypervisor took 12%");
}

/* 9 of 18 launches are disturbed: the medians hold, and each arm has its own remark. */
TEST_WITHIN(busy_is_more_than_half, set_up, tear_down)
{
    AUTO(verdict) verdict;
    struct result *result = *state;
    disturb(result, 10, 0.41, 0.01);
    make(result, &verdict);
    assert_null(busy_among(&verdict.findings));
    assert_true(count(&verdict, "noisy") > 0);
}

/* Throttling of a GPU by heat does not count as other processes' load. */
TEST_WITHIN(busy_explains_no_gpu, set_up, tear_down)
{
    AUTO(verdict) verdict;
    struct result *result = *state;
    struct gpu_change hot = {.pci_bdf = "0000:01:00.0", .thermal_share = 0.2};
    disturb(result, 0, 0.41, 0.01);
    struct observation *of = &result->arms[2].observations[0];
    of->gpus = malloc(sizeof(*of->gpus));
    assert_non_null(of->gpus);
    *of->gpus = hot;
    of->ngpus = 1;
    make(result, &verdict);
    assert_non_null(busy_among(&verdict.findings));
    assert_int_equal(count(&verdict, "noisy"), 1);
}
