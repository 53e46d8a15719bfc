#include "harness/machine/env.h"

#include <ctype.h>
#include <dirent.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/lib/str.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/sys/scheduler.h"
#include "harness/machine/processor.h"

/* The governor of all CPUs, or "mixed". */
static void read_governor(const char *root, char *out, size_t size)
{
    char governor[PROC_TEXT_MAX];
    const char *path = str_fmt("%s/sys/devices/system/cpu/cpufreq", root);
    DIR *dir = opendir(path);
    out[0] = '\0';
    for (struct dirent *entry; (entry = file_next(&dir));) {
        if (strncmp(entry->d_name, "policy", 6) != 0)
            continue;
        if (!PROC_TEXT(root, governor, "/sys/devices/system/cpu/cpufreq/%s/scaling_governor",
                       entry->d_name))
            continue;
        proc_copy_text(out, size, out[0] && strcmp(out, governor) != 0 ? "mixed" : governor);
    }
}

static double read_boost(const char *root)
{
    double no_turbo = proc_read_number(root, "/sys/devices/system/cpu/intel_pstate/no_turbo");
    if (!isnan(no_turbo))
        return no_turbo == 0;
    return proc_read_number(root, "/sys/devices/system/cpu/cpufreq/boost");
}

/* "always [madvise] never" -> "madvise" */
static void read_thp(const char *root, char *out, size_t size)
{
    char text[PROC_TEXT_MAX];
    (void)PROC_TEXT(root, text, "/sys/kernel/mm/transparent_hugepage/enabled");
    char *open = strchr(text, '['), *close = strchr(text, ']');
    out[0] = '\0';
    if (open && close > open) {
        *close = '\0';
        proc_copy_text(out, size, open + 1);
    }
}

/* False for placeholders of firmware: zeros, ones, and AMI's default. */
static bool is_uuid(const char *text)
{
    return strspn(text, "0-") < strlen(text) && strspn(text, "fF-") < strlen(text) &&
           strcasecmp(text, "03000200-0400-0500-0006-000700080009") != 0;
}

static void read_identity(const char *root, struct environment *env)
{
    static const char *const paths[] = {"/sys/class/dmi/id/product_uuid", "/sys/hypervisor/uuid",
                                        "/sys/firmware/devicetree/base/serial-number"};
    (void)PROC_TEXT(root, env->machine_vendor, "/sys/class/dmi/id/sys_vendor");
    (void)PROC_TEXT(root, env->machine_product, "/sys/class/dmi/id/product_name");
    (void)PROC_TEXT(root, env->machine_board, "/sys/class/dmi/id/board_name");
    (void)PROC_TEXT(root, env->bios, "/sys/class/dmi/id/bios_version");
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && !env->machine_uuid[0]; i++)
        if (PROC_TEXT(root, env->machine_uuid, "%s", paths[i]) && !is_uuid(env->machine_uuid))
            env->machine_uuid[0] = '\0';
    (void)PROC_TEXT(root, env->machine_id, "/etc/machine-id");
}

static double memlock_limit_bytes(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit))
        return NAN;
    return limit.rlim_cur == RLIM_INFINITY ? INFINITY : (double)limit.rlim_cur;
}

static bool is_relevant(const char *variable)
{
    static const char *const prefixes[] = {"OMP_",    "GOMP_",     "KMP_",    "CUDA_",
                                           "CUBLAS_", "CUBLASLT_", "NCCL_",   "NVIDIA_",
                                           "MKL_",    "OPENBLAS_", "MALLOC_", "GLIBC_"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0 && strchr(variable, '='))
            return true;
    return false;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* If memory is short the list is shorter; that is not worth an error. */
static void gather_variables(struct environment *env)
{
    size_t n = 0;
    for (char **at = environ; at && *at; at++)
        n += is_relevant(*at);
    env->variables = calloc(n + 1, sizeof(*env->variables));
    for (char **at = environ; env->variables && at && *at; at++) {
        if (!is_relevant(*at) || env->nvariables == n)
            continue;
        char *copy = strdup(*at);
        if (copy)
            env->variables[env->nvariables++] = copy;
    }
    if (env->variables)
        qsort(env->variables, env->nvariables, sizeof(*env->variables), compare_text);
}

/*
 * Looks for the control daemon's files where CUDA's clients look. If the daemon is in another PID
 * namespace, only its pipe is visible, which may be left over: unknown. Source: NVIDIA,
 * Multi-Process Service, "Environment variables".
 */
static double read_mps(const char *root)
{
    char path[512], text[PROC_TEXT_MAX];
    const char *set = getenv("CUDA_MPS_PIPE_DIRECTORY");
    const char *dir = set && set[0] ? set : "/tmp/nvidia-mps";
    double pid = proc_read_number(root, "%s/nvidia-cuda-mps-control.pid", dir);
    if (isnan(pid))
        return 0;
    bool runs = PROC_TEXT(root, text, "/proc/%.0f/comm", pid);
    if (runs && strncmp(text, "nvidia-cuda-mps", strlen("nvidia-cuda-mps")) == 0)
        return 1;
    (void)snprintf(path, sizeof(path), "%s%s/control", root, dir);
    return access(path, F_OK) ? 0 : NAN;
}

static void gather_settings(const char *root, struct environment *env)
{
    (void)proc_read_field(root, "/etc/os-release", "PRETTY_NAME", '=', env->os, sizeof(env->os));
    processor_model(root, env->cpu_model, sizeof(env->cpu_model));
    (void)proc_read_field(root, "/proc/cpuinfo", "microcode", ':', env->microcode,
                          sizeof(env->microcode));
    read_governor(root, env->governor, sizeof(env->governor));
    env->boost = read_boost(root);
    read_thp(root, env->thp, sizeof(env->thp));
    env->numa_balancing = proc_read_number(root, "/proc/sys/kernel/numa_balancing");
    env->swappiness = proc_read_number(root, "/proc/sys/vm/swappiness");
    env->perf_event_paranoid = proc_read_number(root, "/proc/sys/kernel/perf_event_paranoid");
    (void)PROC_TEXT(root, env->clocksource,
                    "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    env->memory_bytes = proc_read_memory_bytes(root, "MemTotal");
    env->mps = read_mps(root);
    env->virtual_machine = processor_is_virtual(root, env->hypervisor, sizeof(env->hypervisor));
    read_identity(root, env);
    cgroup_read(root, &env->cgroup);
}

void env_gather(const struct env_request *request, struct environment *env)
{
    memset(env, 0, sizeof(*env));
    struct utsname names;
    if (uname(&names) == 0) {
        proc_copy_text(env->hostname, sizeof(env->hostname), names.nodename);
        proc_copy_text(env->kernel, sizeof(env->kernel), names.release);
        proc_copy_text(env->arch, sizeof(env->arch), names.machine);
    }
    const char *root = request->root ? request->root : "";
    gather_settings(root, env);
    (void)scheduler_read(root, env->scheduler, sizeof(env->scheduler));
    env->memlock_bytes = memlock_limit_bytes();
    proc_copy_text(env->glibc, sizeof(env->glibc), gnu_get_libc_version());
#ifdef __clang__
    proc_copy_text(env->compiler, sizeof(env->compiler), __VERSION__);
#else
    proc_copy_text(env->compiler, sizeof(env->compiler), "gcc " __VERSION__);
#endif
    proc_copy_text(env->driver, sizeof(env->driver), request->driver ? request->driver : "");
    proc_copy_text(env->cuda, sizeof(env->cuda), request->cuda ? request->cuda : "");
    gather_variables(env);
}

void env_free(struct environment *env)
{
    if (!env)
        return;
    for (size_t i = 0; i < env->nvariables; i++)
        free(env->variables[i]);
    free(env->variables);
    memset(env, 0, sizeof(*env));
}

char *env_host_label(const struct environment *env, char label[ENV_HOST_LABEL_MAX])
{
    proc_copy_text(label, ENV_HOST_LABEL_MAX, env->hostname[0] ? env->hostname : "host");
    for (char *at = label; *at; at++)
        if (!(isalnum((unsigned char)*at) && (unsigned char)*at < 0x80) && !strchr("._-", *at))
            *at = '-';
    if (label[0] == '.' || label[0] == '-')
        label[0] = 'x';
    return label;
}
