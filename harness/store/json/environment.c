#include "harness/store/json/environment.h"

#include <math.h>
#include <string.h>

#include "harness/store/json/value.h"

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

json_t *env_to_json(const struct environment *env)
{
    const struct cgroup_limits *cgroup = &env->cgroup;
    json_t *json = json_value_object(
        "hostname:T os:T kernel:T scheduler:T arch:T cpu_model:T microcode:T governor:T boost:F "
        "transparent_hugepage:T numa_balancing:d swappiness:d perf_event_paranoid:d "
        "memory_bytes:d memlock_bytes:d clocksource:T virtual_machine:F hypervisor:T "
        "machine_vendor:T machine_product:T cgroup:o glibc:T compiler:T driver:T mps:F cuda:T "
        "nccl:T variables:o",
        env->hostname, env->os, env->kernel, env->scheduler, env->arch, env->cpu_model,
        env->microcode, env->governor, env->boost, env->thp, env->numa_balancing, env->swappiness,
        env->perf_event_paranoid, env->memory_bytes, env->memlock_bytes, env->clocksource,
        env->virtual_machine, env->hypervisor, env->machine_vendor, env->machine_product,
        json_value_object("path:T cpu_max:T cpus_limit:r cpuset_cpus_effective:T "
                          "memory_limit_bytes:d",
                          cgroup->path, cgroup->cpu_max, cgroup->cpus_limit, cgroup->cpuset,
                          cgroup->memory_limit_bytes),
        env->glibc, env->compiler, env->driver, env->mps, env->cuda, env->nccl,
        from_variables(env));
    if (isinf(env->memlock_bytes))
        (void)json_value_add(json, "memlock_bytes:t", "unlimited");
    return json;
}
