#include "harness/store/json/environment.h"

#include <math.h>
#include <string.h>

#include "harness/store/json/value.h"

/* NaN -> null, so that "unknown" and "no" stay apart. */
static json_t *from_truth(double value)
{
    return isnan(value) ? json_null() : json_boolean(value != 0);
}

static json_t *from_count(double value)
{
    return isfinite(value) ? json_integer((json_int_t)value) : json_null();
}

/* {"OMP_NUM_THREADS": "4", ...} */
static json_t *from_variables(const struct environment *env)
{
    json_t *object = json_object();
    for (size_t i = 0; object && i < env->nvariables; i++) {
        char name[256];
        const char *equals = strchr(env->variables[i], '=');
        size_t length = (size_t)(equals - env->variables[i]);
        if (length >= sizeof(name))
            continue;
        memcpy(name, env->variables[i], length);
        name[length] = '\0';
        /* A name that is not UTF-8 is refused here; it can be nothing that a library reads. */
        (void)json_object_set_new(object, name, json_value_text(equals + 1));
    }
    return object;
}

static json_t *from_cgroup(const struct cgroup_limits *cgroup)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "path", json_value_text_or_null(cgroup->path),
                     "cpu_max", json_value_text_or_null(cgroup->cpu_max), "cpus_limit",
                     json_value_real(cgroup->cpus_limit), "cpuset_cpus_effective",
                     json_value_text_or_null(cgroup->cpuset), "memory_limit_bytes",
                     from_count(cgroup->memory_limit_bytes));
}

json_t *env_to_json(const struct environment *env)
{
    struct {
        const char *key;
        json_t *value;
    } fields[] = {
        {"hostname", json_value_text_or_null(env->hostname)},
        {"os", json_value_text_or_null(env->os)},
        {"kernel", json_value_text_or_null(env->kernel)},
        {"scheduler", json_value_text_or_null(env->scheduler)},
        {"arch", json_value_text_or_null(env->arch)},
        {"cpu_model", json_value_text_or_null(env->cpu_model)},
        {"microcode", json_value_text_or_null(env->microcode)},
        {"governor", json_value_text_or_null(env->governor)},
        {"boost", from_truth(env->boost)},
        {"transparent_hugepage", json_value_text_or_null(env->thp)},
        {"numa_balancing", from_count(env->numa_balancing)},
        {"swappiness", from_count(env->swappiness)},
        {"perf_event_paranoid", from_count(env->perf_event_paranoid)},
        {"memory_bytes", from_count(env->memory_bytes)},
        {"memlock_bytes",
         isinf(env->memlock_bytes) ? json_string("unlimited") : from_count(env->memlock_bytes)},
        {"clocksource", json_value_text_or_null(env->clocksource)},
        {"virtual_machine", from_truth(env->virtual_machine)},
        {"hypervisor", json_value_text_or_null(env->hypervisor)},
        {"machine_vendor", json_value_text_or_null(env->machine_vendor)},
        {"machine_product", json_value_text_or_null(env->machine_product)},
        {"cgroup", from_cgroup(&env->cgroup)},
        {"glibc", json_value_text_or_null(env->glibc)},
        {"compiler", json_value_text_or_null(env->compiler)},
        {"driver", json_value_text_or_null(env->driver)},
        {"mps", from_truth(env->mps)},
        {"cuda", json_value_text_or_null(env->cuda)},
        {"nccl", json_value_text_or_null(env->nccl)},
        {"variables", from_variables(env)},
    };
    json_t *object = json_object();
    int failed = object ? 0 : -1;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        failed |= json_object_set_new(object, fields[i].key, fields[i].value);
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}
