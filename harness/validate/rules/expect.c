/* Rules of what the caller expects: --expect, and that a pass covers the GPUs. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/similar.h"
#include "harness/lib/text.h"
#include "harness/validate/rules/count.h"
#include "harness/validate/rules/rules.h"

enum { COUNT_MOST = 1000000 };

/* The kernel, firmware and graphics reserve a few percent, as for memory_size. */
#define MEMORY_LEAST 0.9

/* The names that --expect takes. */
struct expectable {
    const char *name;    /* as in --expect */
    const char *shown;   /* "GPUs" */
    struct number count; /* NaN: cannot be known here */
    bool is_size;        /* bytes; more than expected passes */
    const char *unknown; /* why it cannot be known */
};

static double nics_on_bus(const struct unit *unit)
{
    return count_devices(unit->facts, FACTS_NIC);
}

static double nvmes_on_bus(const struct unit *unit)
{
    return count_devices(unit->facts, FACTS_NVME);
}

static double switches_on_bus(const struct unit *unit)
{
    return count_devices(unit->facts, FACTS_NVSWITCH);
}

static double sockets_of_machine(const struct unit *unit)
{
    return unit->facts->topo->npackages;
}

static double nodes_of_machine(const struct unit *unit)
{
    return unit->facts->topo->nnodes;
}

static const struct expectable expectable[] = {
    {"gpus", "GPUs", MADE(count_gpus_of_driver)},
    {"cpus", "CPUs", MADE(count_cpus_of_machine)},
    {"sockets", "sockets", MADE(sockets_of_machine)},
    {"nodes", "NUMA nodes", MADE(nodes_of_machine)},
    {"memory", "memory", FACT(env.memory_bytes), .is_size = true,
     .unknown = "the kernel does not report it"},
    {"nics", "NICs", MADE(nics_on_bus), .unknown = "the PCI bus cannot be read"},
    {"nvme", "NVMe drives", MADE(nvmes_on_bus), .unknown = "the PCI bus cannot be read"},
    {"nvswitches", "NVSwitches", MADE(switches_on_bus), .unknown = "the PCI bus cannot be read"}};
enum { EXPECTABLE = sizeof(expectable) / sizeof(expectable[0]) };
_Static_assert((int)EXPECTABLE <= (int)RULES_EXPECTED_MAX, "each can be expected once");

static const struct expectable *find(const char *name, size_t length)
{
    for (size_t i = 0; i < EXPECTABLE; i++)
        if (strlen(expectable[i].name) == length && !memcmp(expectable[i].name, name, length))
            return &expectable[i];
    return NULL;
}

static int refuse_name(const char *part, struct err *err)
{
    const char *known = "";
    size_t length = strcspn(part, "=");
    struct similar near = similar_to(part, length);
    if (find(part, length))
        return err_set(err, -EINVAL, "--expect: '%.60s' has no count, as in %.60s=8", part, part);
    for (size_t i = 0; i < EXPECTABLE; i++) {
        str_add(&known, ", ", "%s", expectable[i].name);
        similar_offer(&near, expectable[i].name);
    }
    return err_set(err, -EINVAL, "--expect: '%.60s' is not NAME=COUNT%s NAME is one of %s", part,
                   similar_hint(&near, ""), known);
}

static int parse_count(const struct expectable *of, const char *part, const char *text,
                       double *count, struct err *err)
{
    char *end;
    uint64_t bytes;
    if (of->is_size) {
        if (units_parse_size(text, &bytes, NULL))
            return err_set(err, -EINVAL, "--expect: '%.60s' is no size, such as %s=512G", part,
                           of->name);
        *count = (double)bytes;
        return 0;
    }
    long value = strtol(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || value > COUNT_MOST)
        return err_set(err, -EINVAL, "--expect: '%.60s' is no count of 0 to %d", part, COUNT_MOST);
    *count = (double)value;
    return 0;
}

int expect_parse(const char *text, struct rules_request *request, struct err *err)
{
    int rc = 0;
    for (const char *at = text; at && !rc;) {
        char part[64];
        double count = 0;
        size_t length = strcspn(at, ",");
        (void)snprintf(part, sizeof(part), "%.*s", (int)length, at);
        at = at[length] ? at + length + 1 : NULL;
        size_t name = strcspn(part, "=");
        const struct expectable *of = part[name] ? find(part, name) : NULL;
        rc = of ? parse_count(of, part, part + name + 1, &count, err) : refuse_name(part, err);
        for (size_t i = 0; i < request->nexpected && !rc; i++)
            if (request->expected[i].of == of)
                rc = err_set(err, -EINVAL, "--expect: %s is given twice", of->name);
        if (!rc)
            request->expected[request->nexpected++] = (struct rule_expected){of, count};
    }
    return rc;
}

static const struct rule_expected *expect_of_gpus(const struct rules_request *request)
{
    for (size_t i = 0; i < request->nexpected; i++)
        if (request->expected[i].of == expectable)
            return &request->expected[i];
    return NULL;
}

/* Describes the GPUs on the bus. */
static const char *format_bus(const struct facts *facts)
{
    double on_bus = count_devices(facts, FACTS_GPU);
    const char *others = facts->other_gpus;
    if (!isnan(on_bus))
        return str_fmt("%.0f on the PCI bus%s%s", on_bus, *others ? "; " : "", others);
    return "";
}

/* Judges whether there is as much as expected. */
static bool judge_one(struct checks *checks, const struct expectable *of, double expected)
{
    const struct facts *facts = checks->facts;
    const struct unit machine = {.facts = facts, .at = facts};
    double here = unit_number(&of->count, &machine), in = of->is_size ? 0x1p30 : 1;
    bool is_gpu = of == expectable; /* the first entry */
    const char *evidence = is_gpu ? format_bus(facts) : "";
    const struct check check = {.unit = of->shown,
                                .cause = is_gpu && facts->container ? "container" : NULL,
                                .evidence = evidence,
                                .metric = of->name,
                                .in = of->is_size ? "GiB" : of->shown,
                                .value = here / in,
                                .low = (of->is_size ? MEMORY_LEAST : 1) * expected / in,
                                .high = of->is_size ? (double)NAN : expected};
    check_number(checks,
                 here / in < check.low    ? OUTCOME_FAIL
                 : here / in > check.high ? OUTCOME_WARN
                                          : OUTCOME_PASS,
                 &check);
    if (isnan(here))
        check_report(checks, OUTCOME_ERROR, NULL, "%s %s expected and cannot be %s here: %s",
                     of->shown, of->is_size ? "is" : "are", of->is_size ? "known" : "counted",
                     of->unknown);
    else if (here / in < check.low)
        check_report(checks, OUTCOME_FAIL, &check, "%s%s of the %s that are expected",
                     units_plain(check.value, 4), of->is_size ? " GiB" : "",
                     units_plain(expected / in, 4));
    else if (here / in > check.high)
        check_report(checks, OUTCOME_WARN, &check, "%.0f, and %.0f are expected", here, expected);
    else if (is_gpu && here < 1 && facts->other_gpus[0])
        check_report(checks, OUTCOME_WARN, &check, "no NVIDIA GPU, as expected; %s",
                     facts->other_gpus);
    else
        return true;
    return false;
}

static void judge_expected(struct checks *checks)
{
    const struct rules_request *request = checks->request;
    const char *sentence = "", *bytes;
    bool all = true;
    for (size_t i = 0; i < request->nexpected; i++) {
        const struct expectable *of = request->expected[i].of;
        double count = request->expected[i].count;
        all = judge_one(checks, of, count) && all;
        bytes = str_fmt("%.0f", count);
        if (of->is_size)
            bytes = units_bytes((uint64_t)count);
        str_add(&sentence, ", ", "%s %s", bytes, of->is_size ? "of memory" : of->shown);
    }
    if (!request->nexpected)
        check_report(checks, OUTCOME_SKIP, NULL, "needs --expect, such as gpus=8");
    else if (all)
        check_report(checks, OUTCOME_PASS, NULL, "%s, as expected", sentence);
}

/* Without a GPU the rules of GPUs skip. This rule prevents that a GPU server then passes. */
static void judge_gpus_judged(struct checks *checks)
{
    static const char type[] = "of a CPU-only machine, add --expect gpus=0; of a GPU server, "
                               "--expect gpus=N";
    const struct facts *facts = checks->facts;
    const struct rule_expected *expected = expect_of_gpus(checks->request);
    unsigned shown = facts->topo->ngpus;
    double on_bus = count_devices(facts, FACTS_GPU);
    if (shown)
        check_report(checks, OUTCOME_PASS, NULL, "%u GPU%s answer%s and can be judged", shown,
                     shown == 1 ? "" : "s", shown == 1 ? "s" : "");
    else if (expected && expected->count < 1)
        check_report(checks, OUTCOME_PASS, NULL, "there is no GPU to judge, as expected");
    else if (on_bus > 0)
        check_report(checks, OUTCOME_SKIP, &(struct check){.evidence = type},
                     "%.0f NVIDIA GPU%s on the PCI bus, and none answers%s", on_bus,
                     on_bus < 2 ? " is" : "s are", facts->container ? " in this container" : "");
    else if (facts->pci != FACTS_READ)
        check_report(checks, OUTCOME_SKIP, &(struct check){.evidence = type},
                     "no driver shows a GPU, and the PCI bus cannot be read");
    else
        check_report(checks, OUTCOME_SKIP, &(struct check){.evidence = type},
                     "no NVIDIA GPU is on the PCI bus%s%s", facts->other_gpus[0] ? "; " : "",
                     facts->other_gpus);
}

const struct rule rules_expected[] = {
    {RULES_EXPECTED_ID, RULE_COUNT, "hardware", ACTION_FIX, "--expect gpus=8,cpus=128,...",
     "The counts of --expect are there, of memory at least 90%. More is a warning, except for "
     "memory. Only this rule notices a device that never appeared on the bus.",
     "the order of the server", "contend info; lspci", .judge = judge_expected},
    {RULES_GPUS_ID, RULE_COUNT, "setup", ACTION_FIX, "a GPU, or --expect gpus=0",
     "A GPU answers and can be judged, or --expect gpus=0 says that this machine has none. Where "
     "this is skipped the verdict is SKIP, not PASS.",
     "a pass must cover the GPUs", "contend info; lspci", .judge = judge_gpus_judged},
    {.id = NULL}};
