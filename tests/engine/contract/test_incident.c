/* Incidents as data: each is complete, and ab accepts its texts. */
#include "harness/engine/contract/scenario.h"

#include "bench/incidents/incidents.h"
#include "bench/registry.h"
#include "harness/engine/result.h"
#include "harness/record/metric.h"
#include "tests/lib/unit.h"

TEST(incident_placeholders_follow_the_cpus)
{
    char text[80];
    assert_string_equal(incident_expand("a=threads:{2cpus}", 2, text, sizeof(text)), "a=threads:4");
    assert_string_equal(incident_expand("{cpus},{quarter},{quarter+}", 2, text, sizeof(text)),
                        "2,0.5,1");
    assert_string_equal(incident_expand("{quarter},{quarter+}", 32, text, sizeof(text)), "8,8");
    assert_string_equal(incident_expand("{other} {", 2, text, sizeof(text)), "{other} {");
    assert_string_equal(incident_expand("0123456789", 2, text, 5), "0123");
}

TEST(incident_reports_a_speed_up)
{
    struct incident incident = {.reported = {.before = 2, .after = 8}};
    assert_float_equal(incident_reported(&incident), 4, 0);
    incident.reported.less_is_better = true;
    assert_float_equal(incident_reported(&incident), 0.25, 0);
    incident.reported.after = 0;
    assert_true(isnan(incident_reported(&incident)));
}

TEST(incident_says_what_it_lacks)
{
    struct incident incident = {.least_nodes = 2};
    assert_string_equal(incident_not_here(&incident, 2), "");
    assert_string_equal(incident_not_here(&incident, 1),
                        "this machine has 1 NUMA node, and it needs 2");
    incident.cannot = "never";
    assert_string_equal(incident_not_here(&incident, 2), "never");
}

static bool is_metric(const struct bench *bench, const char *name)
{
    static const char *const of_steps[] = {"throughput", "step_time", "background_rate"};
    for (size_t i = 0; !bench->scan && i < 3; i++)
        if (!strcmp(name, of_steps[i]))
            return true;
    for (const struct bench_metric *metric = bench->metrics; metric && metric->name; metric++)
        if (!strcmp(name, metric->name))
            return true;
    return false;
}

TEST(incident_each_is_whole)
{
    char text[INCIDENT_VARIANTS][200];
    for (const struct incident *const *at = incident_registry; *at; at++) {
        const struct incident *one = *at;
        const struct bench *bench = bench_find(bench_registry, one->scenario.parts->foreground);
        static struct variants variants;
        struct opt_texts texts = {0};
        struct err err = {0};
        variants = (struct variants){0};
        for (size_t v = 0; one->variants[v]; v++)
            texts.text[texts.n++] = incident_expand(one->variants[v], 2, text[v], sizeof(text[v]));
        if (variants_parse(&texts, &variants, &err))
            fail_msg("%s: %s", one->scenario.name, err.msg);
        if (!bench || !is_metric(bench, one->metric) || one->scenario.parts->workers == 0)
            fail_msg("%s: no benchmark with %s, or no number of workers", one->scenario.name,
                     one->metric);
        if (one->witness && !metric_find(one->witness) && !is_metric(bench, one->witness))
            fail_msg("%s: no metric %s", one->scenario.name, one->witness);
        if (!one->reported.url || strncmp(one->reported.url, "https://", 8) != 0 ||
            !one->reported.machine || !one->differs || !one->cure ||
            !(one->reported.figures || incident_reported(one) > 0))
            fail_msg("%s: its report is not whole", one->scenario.name);
        if (incident_find(incident_registry, one->scenario.name) != one ||
            scenario_find(scenario_registry, one->scenario.name))
            fail_msg("%s: another has its name", one->scenario.name);
    }
}
