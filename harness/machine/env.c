#include "harness/machine/env.h"

#include <ctype.h>
#include <dirent.h>
#include <gnu/libc-version.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/text.h"

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

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

enum { ARM = 0x41, CAVIUM = 0x43, FUJITSU = 0x46, HISILICON = 0x48, NVIDIA = 0x4e, AMPERE = 0xc0 };

static const struct {
    unsigned implementer, part;
    const char *name;
} names[] = {{ARM, 0xd03, "Cortex-A53"},       {ARM, 0xd07, "Cortex-A57"},
             {ARM, 0xd08, "Cortex-A72"},       {ARM, 0xd0b, "Cortex-A76"},
             {ARM, 0xd42, "Cortex-A78AE"},     {ARM, 0xd0c, "Neoverse N1"},
             {ARM, 0xd49, "Neoverse N2"},      {ARM, 0xd8e, "Neoverse N3"},
             {ARM, 0xd40, "Neoverse V1"},      {ARM, 0xd4f, "Neoverse V2"},
             {ARM, 0xd84, "Neoverse V3"},      {CAVIUM, 0x0af, "ThunderX2"},
             {FUJITSU, 0x001, "A64FX"},        {HISILICON, 0xd01, "Kunpeng 920"},
             {NVIDIA, 0x004, "NVIDIA Carmel"}, {NVIDIA, 0x010, "NVIDIA Olympus"},
             {AMPERE, 0xac3, "Ampere-1"},      {AMPERE, 0xac4, "Ampere-1A"}};

const char *processor_name(const char *implementer, const char *part)
{
    unsigned long maker = strtoul(implementer, NULL, 0), number = strtoul(part, NULL, 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].implementer == maker && names[i].part == number) {
            return str_fmt("%s", names[i].name);
        }
    return str_fmt("Arm processor, implementer 0x%02lx, part 0x%03lx", maker, number);
}

static bool read_cpuinfo(const char *root, const char *field, char *out, size_t size)
{
    return proc_read_field(root, "/proc/cpuinfo", field, ':', out, size);
}

static bool is_of_arm(const char *root, char implementer[static PROC_TEXT_MAX])
{
    return read_cpuinfo(root, "CPU implementer", implementer, PROC_TEXT_MAX);
}

void processor_model(const char *root, char *out, size_t size)
{
    char implementer[PROC_TEXT_MAX], part[PROC_TEXT_MAX];
    if (!read_cpuinfo(root, "model name", out, size) && is_of_arm(root, implementer) &&
        read_cpuinfo(root, "CPU part", part, sizeof(part)))
        (void)snprintf(out, size, "%s", processor_name(implementer, part));
}

/* The signature in CPUID leaf 0x40000000, if the processor reports a hypervisor. */
static double ask_processor(char *hypervisor, size_t size)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return NAN;
    if (!(ecx >> 31))
        return 0;
    char signature[13] = "";
    __cpuid(0x40000000, eax, ebx, ecx, edx);
    memcpy(signature, &ebx, 4);
    memcpy(signature + 4, &ecx, 4);
    memcpy(signature + 8, &edx, 4);
    proc_copy_text(hypervisor, size, signature);
    return 1;
#else
    (void)hypervisor;
    (void)size;
    return NAN;
#endif
}

/* Amazon's bare-metal machines have its vendor name too, and ".metal" in the product name. */
static double ask_firmware(const char *root, char *hypervisor, size_t size)
{
    static const char *const made[] = {
        "QEMU", "KVM",       "Amazon EC2",      "Google Compute Engine", "VMware",
        "Xen",  "OpenStack", "Virtual Machine", "Apple Virtualization",  "Parallels"};
    char vendor[PROC_TEXT_MAX], product[PROC_TEXT_MAX], tree[PROC_TEXT_MAX];
    bool told = PROC_TEXT(root, vendor, "/sys/class/dmi/id/sys_vendor");
    (void)PROC_TEXT(root, product, "/sys/class/dmi/id/product_name");
    for (size_t i = 0; told && i < sizeof(made) / sizeof(made[0]); i++)
        if ((strstr(vendor, made[i]) || strstr(product, made[i])) && !strstr(product, ".metal")) {
            (void)snprintf(hypervisor, size, "%s", made[i]);
            return 1;
        }
    if (told)
        return 0;
    if (PROC_TEXT(root, tree, "/sys/firmware/devicetree/base/hypervisor/compatible") ||
        (PROC_TEXT(root, tree, "/sys/firmware/devicetree/base/compatible") &&
         strstr(tree, "virt"))) {
        (void)snprintf(hypervisor, size, "%s", tree);
        return 1;
    }
    return NAN;
}

double processor_is_virtual(const char *root, char *hypervisor, size_t size)
{
    char flags[4096], implementer[PROC_TEXT_MAX];
    hypervisor[0] = '\0';
    double asked = root[0] ? NAN : ask_processor(hypervisor, size);
    if (!isnan(asked))
        return asked;
    if (read_cpuinfo(root, "flags", flags, sizeof(flags)))
        return strstr(flags, "hypervisor") != NULL;
    return is_of_arm(root, implementer) ? ask_firmware(root, hypervisor, size) : NAN;
}

enum { THREADS_MOST = 4096 }; /* as of --threads */

static bool is_set(const char *value)
{
    return value && *value;
}

bool openmp_binds(char *(*get)(const char *name))
{
    const char *bind = get("OMP_PROC_BIND");
    if (is_set(bind))
        return strcasecmp(bind, "false") != 0;
    return is_set(get("OMP_PLACES"));
}

static bool binds(const char *value, char *(*get)(const char *name), unsigned threads)
{
    (void)value;
    (void)threads;
    return openmp_binds(get);
}

static bool is_true(const char *value, char *(*get)(const char *name), unsigned threads)
{
    (void)get;
    (void)threads;
    return strcasecmp(value, "true") == 0;
}

static bool is_fewer(const char *value, char *(*get)(const char *name), unsigned threads)
{
    (void)get;
    return strtoul(value, NULL, 10) < threads;
}

static bool always(const char *value, char *(*get)(const char *name), unsigned threads)
{
    (void)value;
    (void)get;
    (void)threads;
    return true;
}

static const struct setting {
    const char *name;
    bool (*acts)(const char *value, char *(*get)(const char *name), unsigned threads);
    const char *effect; /* NULL = uses[] */
} settings[] = {
    {"OMP_PROC_BIND", binds,
     "libgomp binds each thread of a worker to a part of the worker's CPUs, also where its "
     "placement leaves the threads free"},
    {"OMP_PLACES", binds,
     "libgomp binds each thread of a worker to one of these places, as far as they are among the "
     "worker's CPUs"},
    {OPENMP_NOT_FOR_WORKERS, always,
     "not for workers, which libgomp would take out of the CPUs of their placement, as it does "
     "with those of taskset"},
    {"OMP_THREAD_LIMIT", is_fewer, "libgomp makes no larger teams, whatever a placement plans"},
    {"OMP_DYNAMIC", is_true,
     "libgomp makes smaller teams than a placement plans while the machine is busy"},
    {"OMP_NUM_THREADS", always, NULL},
    {"OMP_WAIT_POLICY", always,
     "it says whether threads spin or sleep at barriers, and with it what oversubscription costs"},
    {"GOMP_SPINCOUNT", always,
     "it says how long threads spin at barriers, and with it what oversubscription costs"},
};

static const char *const uses[] = {
    [OPENMP_FOR_NONE] =
        "not for workers, which get the threads of their placement; --threads sets them",
    [OPENMP_FOR_DEFAULT] =
        "placements that size no threads, such as none, keep it; the others set it, and so does "
        "--threads",
    [OPENMP_FOR_ALL] = "variants without threads or a placement of their own keep it",
};

unsigned openmp_threads(char *(*get)(const char *name))
{
    const char *value = get("OMP_NUM_THREADS");
    unsigned long threads = value && *value >= '0' && *value <= '9' ? strtoul(value, NULL, 10) : 0;
    return threads <= THREADS_MOST ? (unsigned)threads : 0;
}

void openmp_report(char *(*get)(const char *name), unsigned threads, enum openmp_use use,
                   struct openmp_notes *notes)
{
    notes->n = 0;
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        const char *value = get(settings[i].name);
        if (!is_set(value) || !settings[i].acts(value, get, threads))
            continue;
        (void)snprintf(notes->text[notes->n++], OPENMP_NOTE_MAX, "%s=%.60s is set: %s",
                       settings[i].name, value,
                       settings[i].effect ? settings[i].effect : uses[use]);
    }
}
