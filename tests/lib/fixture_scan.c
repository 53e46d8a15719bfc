#include "tests/lib/fixture_scan.h"
#include "tests/lib/fixture_dims.h"
#include "tests/lib/unit.h"

#include <sched.h>

static struct value_log values;
static struct peers alone = {.size = 1};

void scan_machine_init(struct bench_machine *machine)
{
    cpu_set_t allowed;
    *machine = (struct bench_machine){.nnodes = 1, .ncaches = 3};
    machine->caches[0] = (struct bench_cache){.level = 3, .size_bytes = 32 << 20};
    machine->caches[1] = (struct bench_cache){.level = 2, .size_bytes = 2 << 20};
    machine->caches[2] = (struct bench_cache){.level = 1, .size_bytes = 32 << 10};
    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    for (unsigned os_cpu = 0; os_cpu < CPU_SETSIZE; os_cpu++)
        if (CPU_ISSET(os_cpu, &allowed)) {
            machine->cpus[machine->ncpus] =
                (struct bench_cpu){.os_cpu = os_cpu, .core = (int)machine->ncpus};
            machine->ncpus++;
        }
}

static void open_scan(struct scan *scan, const struct bench *bench,
                      const struct bench_machine *machine, const char *const *pairs)
{
    memset(scan, 0, sizeof(*scan));
    scan->bench = bench;
    assert_non_null(bench->scan);
    assert_true(bench->params_size <= sizeof(scan->params));
    if (bench->opts)
        opts_set_defaults(bench->opts, scan->params);
    for (; *pairs; pairs++)
        if (opts_set_pair(bench->opts, scan->params, *pairs, &scan->err))
            fail_msg("%s", scan->err.msg);
    values.n = values.nreasons = 0;
    scan->ctx = (struct bench_ctx){.params = scan->params,
                                   .workers = 1,
                                   .threads = machine->ncpus,
                                   .device = bench_device(bench, DEVICE_SIM, DEVICE_NONE),
                                   .seed = 7,
                                   .err = &scan->err,
                                   .machine = machine,
                                   .peers = &alone,
                                   .values = &values};
}

int scan_probe(struct scan *scan, const struct bench *bench, const struct bench_machine *machine,
               const char *const *pairs)
{
    open_scan(scan, bench, machine, pairs);
    return bench->probe ? bench->probe(&scan->ctx) : 0;
}

int scan_try(struct scan *scan, const struct bench *bench, const struct bench_machine *machine,
             const char *const *pairs, double budget_s)
{
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    int rc = scan_probe(scan, bench, machine, pairs);
    scan->ctx.budget_s = budget_s;
    if (!rc)
        rc = bench_open(bench, &scan->ctx);
    if (!rc)
        rc = bench->scan(&scan->ctx);
    if (!rc && bench->check)
        rc = bench->check(&scan->ctx);
    assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    return rc;
}

void scan_run(struct scan *scan, const struct bench *bench, const struct bench_machine *machine,
              const char *const *pairs, double budget_s)
{
    if (scan_try(scan, bench, machine, pairs, budget_s))
        fail_msg("%s: %s", bench->name, scan->err.msg);
}

void scan_end(struct scan *scan)
{
    bench_close(scan->bench, &scan->ctx);
    assert_null(scan->ctx.state);
}

double scan_value(const struct scan *scan, const char *metric, const char *key)
{
    double found = NAN;
    for (uint32_t i = 0; i < values.n; i++) {
        const struct value *value = &values.value[i];
        if (strcmp(scan->bench->metrics[value->metric].name, metric) != 0 ||
            !stands_at(scan->bench, &value->dims, key))
            continue;
        assert_true(isnan(found));
        found = value->value;
    }
    return found;
}

const char *scan_reason(const struct scan *scan, const char *metric, const char *key)
{
    for (uint32_t i = 0; i < values.n; i++) {
        const struct value *value = &values.value[i];
        if (value->reason && stands_at(scan->bench, &value->dims, key) &&
            strcmp(scan->bench->metrics[value->metric].name, metric) == 0)
            return values.reason[value->reason - 1].msg;
    }
    return NULL;
}

bool scan_has_reason(const char *text)
{
    for (uint32_t i = 0; i < values.nreasons; i++)
        if (strstr(values.reason[i].msg, text))
            return true;
    return false;
}

size_t scan_count(const struct scan *scan, const char *metric)
{
    size_t count = 0;
    for (uint32_t i = 0; i < values.n; i++)
        count += strcmp(scan->bench->metrics[values.value[i].metric].name, metric) == 0;
    return count;
}

bool scan_may_be_fifo(void)
{
    const struct sched_param one = {.sched_priority = 1}, none = {0};
    if (sched_setscheduler(0, SCHED_FIFO, &one))
        return false;
    assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
    return true;
}
