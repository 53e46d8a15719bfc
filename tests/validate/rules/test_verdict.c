/* What follows from findings: second measurements, verdicts, required probes, and expectations. */
#include "harness/validate/rules/rules.h"

#include "tests/lib/fixture_world.h"
#include "tests/lib/unit.h"

static struct fixture_world *const w = &fixture_world;
static const struct rules_request all;

static void expect_verdict(const struct rules_request *request, enum finding_outcome outcome,
                           const char *part)
{
    struct rules_verdict verdict = rules_verdict(fixture_judge(request), false, "");
    if (verdict.outcome != outcome || !strstr(verdict.text, part))
        fail_msg("not %s with '%s': %s", finding_outcome_name(outcome), part, verdict.text);
}

static struct rules_request only_these(const char *a, const char *b)
{
    return (struct rules_request){.nonly = 2, .only = {rule_find(a), rule_find(b)}};
}

/* Rates are measured again, for any rule; values that were read, lost or hung are not. */
TEST_ON_WORLD(rules_doubt_rates)
{
    struct machine_kind kind = {
        .n = 2,
        .facts = {{.probe = PROBE_GPU_COPY, .metric = "copy_bandwidth"},
                  {.probe = PROBE_GPU_STREAM, .metric = "device_bandwidth"}}};
    struct rules_request request = {.machine = &kind};
    w->health[1].nvlinks_active = 14;
    w->facts.probes[PROBE_COLLECTIVE] = (struct facts_probe){.status = PROBE_HUNG};
    assert_int_equal(rules_to_repeat(fixture_judge(&all), &all), 0);
    w->speeds[5].value = 70;
    assert_int_equal(rules_to_repeat(fixture_judge(&all), &all), 1u << PROBE_CPU_SPEED);
    struct facts_value copy = {.metric = "copy_bandwidth", .key = "gpu=0", .value = 20};
    w->speeds[5].value = 100;
    kind.facts[0].least = 50;
    kind.facts[1].least = NAN;
    w->facts.probes[PROBE_GPU_COPY] =
        (struct facts_probe){.status = PROBE_DONE, .n = 1, .values = &copy};
    assert_int_equal(rules_to_repeat(fixture_judge(&request), &request) & ~(1u << PROBE_GPU_STREAM),
                     1u << PROBE_GPU_COPY);
}

/* A virtual CPU depends on its neighbours: a moment's loss is no finding, and groups are not
 * reported. */
TEST_ON_WORLD(rules_of_virtual_cpus)
{
    w->facts.env.virtual_machine = 1;
    w->speeds[5].value = 78;
    fixture_passes("cpus_alike");
    w->speeds[5].value = 60;
    fixture_finds("cpus_alike", "CPU 5", OUTCOME_WARN, "hardware", ACTION_WATCH);
    for (int i = 0; i < CPUS; i++)
        w->speeds[i].value = i % 2 ? 80 : 100;
    fixture_passes("cpus_alike");
    w->facts.env.virtual_machine = 0;
    fixture_finds("cpus_alike", NULL, OUTCOME_WARN, "hardware", ACTION_WATCH);
}

/* A required probe that did not run prevents a pass. */
TEST_ON_WORLD(rules_required)
{
    struct rules_request request = only_these("collective_peer", "clock");
    request.nrequired = 1;
    request.required[0] = rule_find("collective_peer");
    expect_verdict(&request, OUTCOME_ERROR, "collective_peer");
    assert_int_equal(w->findings.n, 3); /* --only, and gpus_judged if it names GPU rules */
    assert_int_equal(rules_probes(&request), 1u << PROBE_COLLECTIVE);
    w->facts.probes[PROBE_CPU_SPEED].status = PROBE_FAILED;
    fixture_finds("cpus_alike", NULL, OUTCOME_ERROR, "",
                  ACTION_WATCH); /* the probe itself is the subject */
}

TEST_ON_WORLD(rules_verdict_names_and_sorts)
{
    w->topo.ngpus = 2; /* two GPUs are lost */
    w->facts.steal = 0.5;
    w->facts.probes[PROBE_CPU_SPEED].status = PROBE_FAILED;
    (void)fixture_judge(&all);
    rules_sort(&w->findings);
    for (size_t i = 1; i < w->findings.n; i++)
        if (w->findings.all[i].outcome == OUTCOME_FAIL)
            assert_int_equal(w->findings.all[i - 1].outcome, OUTCOME_FAIL);
    assert_int_equal(w->findings.all[w->findings.n - 1].outcome, OUTCOME_PASS);
    assert_int_equal(rules_verdict(&w->findings, false, "").count[OUTCOME_FAIL], 2);
    assert_int_equal(rules_verdict(&w->findings, true, "").rules, 2);
    expect_verdict(&all, OUTCOME_FAIL, "FAIL: 1 rule (hardware: reset gpus_on_bus)");
}

/* If nothing was examined, nothing passes. */
TEST_ON_WORLD(rules_skipped_are_no_pass)
{
    const struct rules_request request = only_these("gpus_on_bus", "xid");
    w->topo.ngpus = 0;
    w->facts.ndevices = 0;
    w->facts.log = FACTS_DENIED;
    expect_verdict(&request, OUTCOME_SKIP, "SKIP: nothing was judged, 3 skipped");
}

/* If the machine's GPUs were not judged, it does not pass, however many other rules did. */
TEST_ON_WORLD(rules_of_no_gpu_are_no_pass)
{
    struct rules_request none = {0}, four = {0};
    struct rules_request required = {.nrequired = 1, .required = {rule_find("gpus_judged")}};
    struct rules_request some = only_these("cpus_online", "gpu_ecc");
    struct rules_request cpus = only_these("cpus_online", "clock");
    assert_int_equal(expect_parse("gpus=0", &none, NULL), 0);
    assert_int_equal(expect_parse("gpus=4", &four, NULL), 0);
    w->facts.cpus_online = w->facts.cpus_present = CPUS;
    expect_verdict(&all, OUTCOME_PASS, "PASS: ");
    expect_verdict(&some, OUTCOME_PASS, "PASS: "); /* with gpus_judged */
    w->topo.ngpus = 0;
    /* GPUs on the bus that a container was not given, or that are meant for a guest: only
     * warnings. */
    w->facts.container = true;
    expect_verdict(&all, OUTCOME_SKIP,
                   "4 NVIDIA GPUs are on the PCI bus, and none answers in this");
    w->facts.container = false;
    for (int i = 0; i < GPUS; i++)
        put_text(w->devices[i].driver, "vfio-pci");
    expect_verdict(&all, OUTCOME_SKIP, "4 NVIDIA GPUs are on the PCI bus, and none answers (");
    expect_verdict(&none, OUTCOME_PASS, "PASS: ");
    /* No GPU ever, a GPU of another vendor, or a bus that is not visible. */
    w->facts.ndevices = 0;
    expect_verdict(&all, OUTCOME_SKIP, "no GPU was judged: no NVIDIA GPU is on the PCI bus (");
    expect_verdict(&all, OUTCOME_SKIP, "--expect gpus=0");
    expect_verdict(&some, OUTCOME_SKIP, "1 rule passed");
    expect_verdict(&cpus, OUTCOME_PASS, "PASS: ");
    expect_verdict(&none, OUTCOME_PASS, "PASS: ");
    expect_verdict(&four, OUTCOME_FAIL, "expected");
    expect_verdict(&required, OUTCOME_ERROR, "gpus_judged");
    put_text(w->facts.other_gpus, "8 AMD GPUs are there");
    expect_verdict(&all, OUTCOME_SKIP, "on the PCI bus; 8 AMD GPUs are there (");
    expect_verdict(&none, OUTCOME_PASS, "1 warning,");
    w->facts.other_gpus[0] = '\0';
    w->facts.pci = FACTS_ABSENT;
    expect_verdict(&all, OUTCOME_SKIP, "the PCI bus cannot be read (");
    w->topo.ngpus = GPUS;
    expect_verdict(&all, OUTCOME_PASS, "PASS: ");
}

static const struct finding *expected(const char *text, const char *unit)
{
    struct rules_request request = {.nonly = 1, .only = {rule_find("cpus_online")}};
    struct err err = {0};
    if (expect_parse(text, &request, &err))
        fail_msg("%s: %s", text, err.msg);
    return fixture_find(fixture_judge(&request), "expected", unit);
}

/* A GPU that never was on the bus is missed only if the user expects it. */
TEST_ON_WORLD(rules_expect)
{
    w->facts.env.memory_bytes = 15.5 * 0x1p30;
    w->facts.cpus_online = CPUS;
    static const struct {
        const char *text, *unit;
        enum finding_outcome outcome;
        const char *sentence;
    } cases[] = {
        {"gpus=4,cpus=8,nodes=2,memory=16G,nics=1", "", OUTCOME_PASS,
         "4 GPUs, 8 CPUs, 2 NUMA nodes, 16 GiB of memory, 1 NICs, as expected"},
        {"memory=18G", "memory", OUTCOME_FAIL, "15.5 GiB of the 18 that are expected"},
        {"gpus=4,cpus=4", "CPUs", OUTCOME_WARN, NULL},
        {"memory=1G", "", OUTCOME_PASS, NULL},
        {"gpus=8", "GPUs", OUTCOME_FAIL, "4 of the 8 that are expected"},
    };
    const struct finding *finding = NULL;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        finding = expected(cases[i].text, cases[i].unit);
        assert_int_equal(finding->outcome, cases[i].outcome);
        if (cases[i].sentence)
            assert_string_equal(finding->sentence, cases[i].sentence);
    }
    assert_string_equal(finding->cause, "hardware");
    assert_string_equal(finding->evidence, "4 on the PCI bus");
    assert_true(finding->value == 4 && finding->low == 8);
    w->topo.ngpus = 0;
    assert_int_equal(expected("gpus=0", "")->outcome, OUTCOME_PASS);
    /* Devices that cannot be counted do not pass. */
    w->facts.pci = FACTS_DENIED;
    assert_int_equal(expected("nics=1", "")->outcome, OUTCOME_ERROR);
    assert_int_equal(rules_verdict(&w->findings, false, "").outcome, OUTCOME_ERROR);
    w->facts.env.memory_bytes = NAN;
    finding = expected("memory=16G", "");
    assert_int_equal(finding->outcome, OUTCOME_ERROR);
    assert_lacks(finding->sentence, "PCI");
    assert_has(finding->sentence, "memory is expected and cannot be known here: ");
}

TEST_ON_WORLD(rules_expect_nothing_else)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"gpu=8", "'gpu=8' is not NAME=COUNT; did you mean 'gpus'? NAME is one of gpus, cpus, "},
        {"gpus", "'gpus' has no count, as in gpus=8"},
        {"", "'' is not NAME=COUNT"},
        {"gpus=8,", "'' is not NAME=COUNT"},
        {",gpus=8", "'' is not NAME=COUNT"},
        {"gpus=", "'gpus=' is no count of 0 to 1000000"},
        {"gpus=-1", "is no count"},
        {"gpus=8x", "is no count"},
        {"cpus=1000001", "is no count"},
        {"memory=much", "is no size, such as memory=512G"},
        {"gpus=8,cpus=4,gpus=8", "gpus is given twice"}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rules_request request = {0};
        struct err err = {0};
        assert_int_equal(expect_parse(bad[i].text, &request, &err), -EINVAL);
        assert_has(err.msg, bad[i].why);
    }
}
