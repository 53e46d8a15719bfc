/* The rule of --expect. */
#include "harness/validate/rules/expect.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/similar.h"
#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/validate/rules/check.h"

enum { COUNT_MOST = 1000000 };

/* The kernel, firmware and graphics keep a few percent, as for memory_size. */
#define MEMORY_LEAST 0.9

/* What can be expected. */
struct expectable {
    const char *name;                           /* of --expect */
    const char *shown;                          /* "GPUs" */
    double (*count)(const struct facts *facts); /* negative: it cannot be known here; NULL = it */
    enum facts_kind kind;                       /* is of the bus */
    bool is_size;                               /* bytes; more is no matter */
    const char *unknown;                        /* why it cannot be known */
};

static double count_devices(const struct facts *facts, enum facts_kind kind)
{
    unsigned n = 0;
    for (size_t i = 0; i < facts->ndevices; i++)
        n += facts->devices[i].kind == kind;
    return facts->pci == FACTS_READ ? (double)n : -1;
}

static double count_gpus(const struct facts *facts)
{
    return facts->topo->ngpus;
}

static double count_cpus(const struct facts *facts)
{
    return facts->cpus_online > 0 ? facts->cpus_online : (double)facts->topo->ncpus;
}

static double count_sockets(const struct facts *facts)
{
    return facts->topo->npackages;
}

static double count_nodes(const struct facts *facts)
{
    return facts->topo->nnodes;
}

static double count_memory(const struct facts *facts)
{
    return isnan(facts->env.memory_bytes) ? -1 : facts->env.memory_bytes;
}

static const struct expectable expectable[] = {
    {"gpus", "GPUs", count_gpus},
    {"cpus", "CPUs", count_cpus},
    {"sockets", "sockets", count_sockets},
    {"nodes", "NUMA nodes", count_nodes},
    {"memory", "memory", count_memory, .is_size = true,
     .unknown = "the kernel does not tell how much there is"},
    {"nics", "NICs", .kind = FACTS_NIC, .unknown = "the PCI bus cannot be read"},
    {"nvme", "NVMe drives", .kind = FACTS_NVME, .unknown = "the PCI bus cannot be read"},
    {"nvswitches", "NVSwitches", .kind = FACTS_NVSWITCH, .unknown = "the PCI bus cannot be read"}};
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
    char known[160] = "", hint[SIMILAR_HINT_MAX];
    size_t length = strcspn(part, "=");
    struct similar near = similar_to(part, length);
    if (find(part, length))
        return err_set(err, -EINVAL, "--expect: '%.60s' has no count, as in %.60s=8", part, part);
    for (size_t i = 0; i < EXPECTABLE; i++) {
        text_append(known, sizeof(known), ", ", "%s", expectable[i].name);
        similar_offer(&near, expectable[i].name);
    }
    return err_set(err, -EINVAL, "--expect: '%.60s' is not NAME=COUNT%s NAME is one of %s", part,
                   similar_hint(&near, "", hint, sizeof(hint)), known);
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

const struct rule_expected *expect_of_gpus(const struct rules_request *request)
{
    for (size_t i = 0; i < request->nexpected; i++)
        if (request->expected[i].of->count == count_gpus)
            return &request->expected[i];
    return NULL;
}

/* Of GPUs: whether they are there at all. */
static void say_bus(const struct facts *facts, char *buf, size_t size)
{
    double on_bus = count_devices(facts, FACTS_GPU);
    const char *others = facts->other_gpus;
    if (on_bus >= 0)
        (void)snprintf(buf, size, "%.0f on the PCI bus%s%s", on_bus, *others ? "; " : "", others);
}

/* Whether there is as much as is expected. */
static bool judge_one(struct checks *checks, const struct expectable *of, double expected)
{
    const struct facts *facts = checks->facts;
    double here = of->count ? of->count(facts) : count_devices(facts, of->kind),
           in = of->is_size ? 0x1p30 : 1;
    char evidence[160] = "";
    bool is_gpu = of->count == count_gpus;
    if (is_gpu)
        say_bus(facts, evidence, sizeof(evidence));
    const struct check check = {.unit = of->shown,
                                .cause = is_gpu && facts->container ? "container" : NULL,
                                .evidence = evidence,
                                .metric = of->name,
                                .in = of->is_size ? "GiB" : of->shown,
                                .value = here / in,
                                .low = (of->is_size ? MEMORY_LEAST : 1) * expected / in,
                                .high = of->is_size ? (double)NAN : expected};
    if (here < 0)
        check_say(checks, OUTCOME_ERROR, NULL, "%s %s expected and cannot be %s here: %s",
                  of->shown, of->is_size ? "is" : "are", of->is_size ? "known" : "counted",
                  of->unknown);
    else if (here / in < check.low)
        check_say(checks, OUTCOME_FAIL, &check, "%.4g%s of the %.4g that are expected", check.value,
                  of->is_size ? " GiB" : "", expected / in);
    else if (here / in > check.high)
        check_say(checks, OUTCOME_WARN, &check, "%.0f, and %.0f are expected", here, expected);
    else if (is_gpu && here < 1 && facts->other_gpus[0])
        check_say(checks, OUTCOME_WARN, &check, "no NVIDIA GPU, as expected; %s",
                  facts->other_gpus);
    else
        return true;
    return false;
}

static void judge_expected(struct checks *checks)
{
    const struct rules_request *request = checks->request;
    char said[200] = "", bytes[32];
    bool all = true;
    size_t used = 0;
    for (size_t i = 0; i < request->nexpected; i++) {
        const struct expectable *of = request->expected[i].of;
        double count = request->expected[i].count;
        all = judge_one(checks, of, count) && all;
        (void)snprintf(bytes, sizeof(bytes), "%.0f", count);
        if (of->is_size)
            (void)units_format_bytes((uint64_t)count, bytes, sizeof(bytes));
        if (used < sizeof(said))
            used += (size_t)snprintf(said + used, sizeof(said) - used, "%s%s %s", i ? ", " : "",
                                     bytes, of->is_size ? "of memory" : of->shown);
    }
    if (!request->nexpected)
        check_say(checks, OUTCOME_SKIP, NULL, "needs --expect, such as gpus=8");
    else if (all)
        check_say(checks, OUTCOME_PASS, NULL, "%s, as expected", said);
}

const struct rule rules_expect[] = {
    {RULES_EXPECTED_ID, RULE_COUNT, "hardware", ACTION_FIX, "--expect gpus=8,cpus=128,...",
     "There is as much as --expect says, of memory at least 90%; more is a warning, but not of "
     "memory. What never was on the bus, no other rule can miss.",
     "who ordered the server", "contend info; lspci", .judge = judge_expected},
    {.id = NULL}};
