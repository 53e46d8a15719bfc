#include "harness/machine/facts.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "harness/lib/array.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/text.h"

const char *const facts_probe_names[PROBES] = {
    [PROBE_CPU_SPEED] = "cpu_speed",
    [PROBE_IDLE_EXIT] = "idle_exit",
    [PROBE_MEMORY_BANDWIDTH] = "memory_bandwidth",
    [PROBE_NODE_BANDWIDTH] = "node_bandwidth",
    [PROBE_GPU_STREAM] = "gpu_stream",
    [PROBE_GPU_COPY] = "gpu_copy",
    [PROBE_GPU_MATMUL] = "gpu_matmul",
    [PROBE_GPU_MEMORY] = "gpu_memory",
    [PROBE_COLLECTIVE] = "collective",
    [PROBE_COLLECTIVE_STAGED] = "collective_staged",
    [PROBE_BURN] = "burn",
};

void facts_init(struct facts *facts)
{
    memset(facts, 0, sizeof(*facts));
    facts->cpus_present = facts->cpus_online = -1;
    facts->shm_bytes = facts->swap_used_bytes = NAN;
    facts->steal = facts->throttle_events = facts->machine_checks = NAN;
    facts->env.boost = facts->env.mps = facts->env.numa_balancing = facts->env.swappiness = NAN;
    facts->env.memory_bytes = facts->env.memlock_bytes = facts->env.virtual_machine = NAN;
    facts->env.cgroup.cpus_limit = NAN;
    facts->env.cgroup.memory_limit_bytes = facts->env.cgroup.memory_available_bytes = NAN;
}

void facts_free_probes(struct facts_probe probes[static PROBES])
{
    for (int i = 0; i < PROBES; i++)
        free(probes[i].values);
}

void facts_free(struct facts *facts)
{
    if (!facts)
        return;
    env_free(&facts->env);
    free(facts->devices);
    free(facts->dimms);
    free(facts->sockets);
    free(facts->edacs);
    free(facts->ports);
    free(facts->events);
    facts_free_probes(facts->probes);
    memset(facts, 0, sizeof(*facts));
}

int facts_put(struct facts_probe *probe, const struct facts_value *value, struct err *err)
{
    struct facts_value *added = array_add(probe->values, probe->n, probe->capacity);
    if (!added)
        return err_set(err, -ENOMEM, "no memory for what was measured");
    *added = *value;
    return 0;
}

static struct facts_value *find_value(struct facts_probe *probe, const struct facts_value *like)
{
    for (size_t i = 0; i < probe->n; i++)
        if (strcmp(probe->values[i].metric, like->metric) == 0 &&
            strcmp(probe->values[i].key, like->key) == 0)
            return &probe->values[i];
    return NULL;
}

int facts_join_repeats(struct facts_probe *probe, const struct facts_probe *again, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; again->status == PROBE_DONE && i < again->n && !rc; i++) {
        const struct facts_value *value = &again->values[i];
        struct facts_value *before = find_value(probe, value);
        if (!before)
            rc = facts_put(probe, value, err);
        else if (isnan(value->value))
            *before = *value;
        else if (!isnan(before->value) && value->better)
            before->value = strcmp(value->better, "lower") == 0 ? fmin(before->value, value->value)
                                                                : fmax(before->value, value->value);
    }
    return rc;
}

static bool is_there(const char *root, const char *path)
{
    char full[PATH_MAX];
    (void)snprintf(full, sizeof(full), "%s%s", root, path);
    return access(full, F_OK) == 0;
}

/* True if the folder is not empty. */
static bool has_entries(const char *root, const char *path)
{
    bool any = false;
    const char *full = str_fmt("%s%s", root, path);
    DIR *dir = opendir(full);
    for (struct dirent *entry; dir && !any && (entry = readdir(dir));)
        any = entry->d_name[0] != '.';
    if (dir)
        (void)closedir(dir);
    return any;
}

/* Number of CPUs in a list such as "0-3,8"; -1 = unreadable. */
static int count_cpus(const char *root, const char *path)
{
    struct bitset cpus;
    return proc_read_list(root, &cpus, "%s", path) ? (int)bitset_count(&cpus) : -1;
}

/* Container engines create these files in their containers. */
static bool in_container(const char *root)
{
    static const char *const marks[] = {"/.dockerenv", "/run/.containerenv",
                                        "/run/systemd/container", "/dev/lxc"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (is_there(root, marks[i]))
            return true;
    return !root[0] && getenv("KUBERNETES_SERVICE_HOST") != NULL;
}

static void read_memory(const char *root, struct facts *facts)
{
    struct statvfs shm;
    facts->swap_used_bytes =
        proc_read_memory_bytes(root, "SwapTotal") - proc_read_memory_bytes(root, "SwapFree");
    const char *path = str_fmt("%s/dev/shm", root);
    if (statvfs(path, &shm) == 0)
        facts->shm_bytes = (double)shm.f_blocks * (double)shm.f_frsize;
}

/* Sum over the CPUs of "MCE: 0 0 Machine check exceptions". */
static double read_machine_checks(const char *root)
{
    char *line = NULL;
    size_t size = 0;
    double sum = NAN;
    const char *path = str_fmt("%s/proc/interrupts", root);
    FILE *file = fopen(path, "re");
    while (file && isnan(sum) && getline(&line, &size, file) > 0) {
        char *at = line + strspn(line, " ");
        if (strncmp(at, "MCE:", 4) != 0)
            continue;
        sum = 0;
        for (char *end = at += 4;; at = end) {
            unsigned long count = strtoul(at, &end, 10);
            if (end == at)
                break;
            sum += (double)count;
        }
    }
    free(line);
    if (file)
        (void)fclose(file);
    return sum;
}

double facts_sum_throttling(const char *root, const char *file)
{
    double sum = NAN;
    const char *path = str_fmt("%s/sys/devices/system/cpu", root);
    DIR *dir = opendir(path);
    for (struct dirent *entry; (entry = file_next(&dir));) {
        if (strncmp(entry->d_name, "cpu", 3) != 0 || !strpbrk(entry->d_name, "0123456789"))
            continue;
        double count = proc_read_number(
            root, "/sys/devices/system/cpu/%.32s/thermal_throttle/%.40s", entry->d_name, file);
        if (!isnan(count))
            sum = (isnan(sum) ? 0 : sum) + count;
    }
    return sum;
}

/* The times of all CPUs, from the first line of /proc/stat. */
static bool read_times(const char *root, double *all, double *stolen)
{
    char text[512];
    int cpu;
    double times_s[PROC_TIMES];
    if (!PROC_TEXT(root, text, "/proc/stat") || !proc_parse_cpu(text, &cpu, times_s))
        return false;
    *all = 0;
    for (int i = 0; i < PROC_TIMES; i++)
        *all += times_s[i];
    *stolen = times_s[PROC_STEAL];
    return true;
}

/* Steal in the better of two halves of the time, so that a short disturbance is not reported. */
static double watch_steal(const char *root, double sample_s)
{
    const double half_s = sample_s / 2;
    const struct timespec wait = {(time_t)half_s, (long)((half_s - floor(half_s)) * 1e9)};
    double all = 0, stolen = 0, all_then = 0, stolen_then = 0, least = NAN;
    if (sample_s <= 0 || !read_times(root, &all_then, &stolen_then))
        return NAN;
    for (int half = 0; half < 2; half++) {
        (void)nanosleep(&wait, NULL);
        if (!read_times(root, &all, &stolen) || all <= all_then)
            return NAN;
        least = fmin(least, fmax(stolen - stolen_then, 0) / (all - all_then));
        all_then = all;
        stolen_then = stolen;
    }
    return least;
}

static void read_settings(const char *root, struct facts *facts)
{
    facts->container = in_container(root);
    facts->cpus_present = count_cpus(root, "/sys/devices/system/cpu/present");
    facts->cpus_online = count_cpus(root, "/sys/devices/system/cpu/online");
    (void)PROC_TEXT(root, facts->smt, "/sys/devices/system/cpu/smt/control");
    (void)PROC_TEXT(root, facts->scaling_driver,
                    "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver");
    facts->peermem = is_there(root, "/sys/module/nvidia_peermem");
    facts->rdma = has_entries(root, "/sys/class/infiniband");
    facts->machine_checks = read_machine_checks(root);
    facts->throttle_events = facts_sum_throttling(root, "core_throttle_count");
    read_memory(root, facts);
}

int facts_read(const struct facts_request *request, struct facts *facts, struct err *err)
{
    const char *root = request->root ? request->root : "";
    const struct env_request env = {.root = root};
    facts_init(facts);
    facts->topo = request->topo;
    env_gather(&env, &facts->env);
    (void)env_host_label(&facts->env, facts->host);
    proc_copy_text(facts->why_no_gpus, sizeof(facts->why_no_gpus), request->topo->gpu_note);
    read_settings(root, facts);
    if (!root[0] && !bitset_empty(&request->topo->hidden)) /* lxcfs makes that list up */
        facts->cpus_online = (int)request->topo->ncpus;
    facts->steal = watch_steal(root, request->sample_s);
    int rc = facts_read_pci(root, facts, err);
    if (!rc)
        rc = facts_read_dmi(root, facts, err);
    if (!rc)
        rc = facts_read_edac(root, facts, err);
    if (!rc)
        rc = facts_read_rdma(root, facts, err);
    if (!rc)
        rc = facts_read_log(root, facts, err);
    return rc;
}
