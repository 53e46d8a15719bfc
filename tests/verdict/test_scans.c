/* Ratios below 1, and what is said about them. */
#include "harness/verdict/odd.h"

#include "bench/registry.h"
#include "tests/lib/fixture_dims.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/fixture_scans.h"
#include "tests/lib/unit.h"

struct run {
    struct result result;
    struct analysis analysis;
    struct findings findings;
};

/* Sets victim_slowdown of a key (NULL = all keys), in the rounds from `round` on. */
static void set(struct run *run, const char *key, unsigned round, double value)
{
    struct arm *arm = &run->result.arms[0];
    for (; round < arm->nobservations; round++) {
        struct worker_result *worker = &arm->observations[round].workers[0];
        for (size_t i = 0; i < worker->nvalues; i++)
            if ((!key || stands_at(arm->bench, &worker->values[i].dims, key)) &&
                !strcmp(arm->bench->metrics[worker->values[i].metric].name, "victim_slowdown"))
                worker->values[i].value = value;
    }
}

static void begin(struct run *run)
{
    *run = (struct run){.findings = {0}};
    fixture_scans_make(&fixture_vm, "cache_thrash", &run->result);
    assert_int_equal(run->result.narms, 1);
    set(run, NULL, 0, 1.01);
}

static void judge(struct run *run)
{
    assert_int_equal(analysis_make(&run->result, &run->analysis, NULL), 0);
    scans_find(&run->analysis, &run->findings);
}

static void end(struct run *run)
{
    findings_free(&run->findings);
    analysis_free(&run->analysis);
    fixture_result_free(&run->result);
}

#define STREAM_1 "victim=l3;aggressor=stream;where=same-llc;n=1"
#define STREAM_8 "victim=l3;aggressor=stream;where=same-llc;n=8"

TEST(a_victim_that_is_faster_is_told)
{
    ENDED_BY(end) struct run run;
    begin(&run);
    set(&run, NULL, 0, 0.985);
    set(&run, STREAM_8, 0, 0.978);
    set(&run, STREAM_1, 0, 1.01);
    judge(&run);
    assert_int_equal(run.findings.n, 1);
    assert_string_equal(run.findings.all[0].id, "below_one");
    assert_has(run.findings.all[0].sentence, "0.978: the victim is faster");
    assert_has(run.findings.all[0].evidence, "26 of 27 values");
}

/* Intervals that contain 1, or nearly, are not reported, nor are a few intervals among many. */
TEST(noise_below_one_is_not_told)
{
    ENDED_BY(end) struct run run;
    begin(&run);
    set(&run, NULL, 0, 0.7);
    set(&run, NULL, 2, 1.01);
    set(&run, STREAM_1, 0, 0.98);
    set(&run, STREAM_8, 0, 0.98);
    judge(&run);
    assert_int_equal(run.findings.n, 0);
    end(&run);
    begin(&run);
    set(&run, NULL, 0, 0.995);
    judge(&run);
    assert_int_equal(run.findings.n, 0);
}
