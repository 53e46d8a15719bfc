#include "harness/doctor/reader/host.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/lib/sys/proc.h"
#include "harness/machine/env.h"

int host_load_topo(struct topo *topo, struct err *err)
{
    const struct topo_options options = {
        .probe_gpus = true, .only_order = true, .for_others = true};
    return topo_load(&options, topo, err);
}

/* CPUs that busy workers may run on. */
static void worker_cpus(const struct view *view, struct bitset *cpus)
{
    for (size_t i = 0; i < view->nprocesses; i++)
        if (view_is_busy(view, &view->processes[i]))
            view_add_cpus(view, &view->processes[i], cpus);
}

static void read_counts(const char *root, struct host_counts *counts)
{
    counts->numa_faults = proc_read_count(root, "numa_hint_faults", ' ', "/proc/vmstat");
    counts->numa_moved = proc_read_count(root, "numa_pages_migrated", ' ', "/proc/vmstat");
    counts->throttles = facts_sum_throttling(root, "core_throttle_count");
    counts->throttled_s = facts_sum_throttling(root, "core_throttle_total_time_ms") / 1e3;
}

static double read_mhz(const char *root, int os_cpu, const char *file)
{
    return proc_read_number(root, "/sys/devices/system/cpu/cpu%d/cpufreq/%s", os_cpu, file) / 1e3;
}

/* Reads at most HOST_CPUS_MAX CPUs: the rest is alike. */
static void read_clocks(const struct view *view, struct host *host)
{
    struct bitset cpus = {0};
    worker_cpus(view, &cpus);
    for (int cpu = bitset_next(&cpus, 0); cpu >= 0 && host->ncpus < HOST_CPUS_MAX;
         cpu = bitset_next(&cpus, (unsigned)cpu + 1))
        host->cpus[host->ncpus++] =
            (struct host_cpu){(unsigned)cpu, read_mhz(host->root, cpu, "scaling_cur_freq"),
                              read_mhz(host->root, cpu, "base_frequency")};
}

static void read_settings(struct host *host)
{
    struct environment env;
    env_gather(&(struct env_request){.root = host->root}, &env);
    proc_copy_text(host->governor, sizeof(host->governor), env.governor);
    env_free(&env);
    (void)PROC_TEXT(host->root, host->clock_driver,
                    "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver");
    (void)PROC_TEXT(host->root, host->preference,
                    "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference");
}

static int open_gpus(struct host *host, struct err *err)
{
    unsigned n = host->topo ? host->topo->ngpus : 0;
    char(*bdfs)[PCI_BDF_MAX] = calloc(n + 1, sizeof(*bdfs));
    host->gpus = calloc(n + 1, sizeof(*host->gpus));
    int rc = bdfs && host->gpus ? 0 : err_set(err, -ENOMEM, "out of memory for %u GPUs", n);
    for (unsigned i = 0; i < n && !rc; i++) {
        gpu_health_init(&host->gpus[i]);
        proc_copy_text(bdfs[i], PCI_BDF_MAX, host->topo->gpus[i].pci_bdf);
    }
    if (!rc && n)
        rc = gpu_watch_open(&host->gpu_watch, bdfs, n, err);
    free(bdfs);
    if (!rc)
        gpu_watch_start(&host->gpu_watch);
    return rc;
}

static int finish_gpus(struct host *host, struct err *err)
{
    unsigned n = host->topo ? host->topo->ngpus : 0;
    gpu_watch_stop(&host->gpu_watch);
    host->gpu_changes = gpu_watch_close(&host->gpu_watch, &host->nchanges);
    for (unsigned i = 0; i < n; i++)
        (void)gpu_health_read(host->topo->gpus[i].pci_bdf, &host->gpus[i]);
    return n ? facts_read_log(host->root, &host->log, err) : 0;
}

int host_mark(const struct view *view, const struct topo *topo, const char *root, struct host *host,
              struct err *err)
{
    *host = (struct host){.topo = topo};
    facts_init(&host->log);
    proc_copy_text(host->root, sizeof(host->root), root);
    read_settings(host);
    read_counts(root, &host->then);
    host_mark_memory(view, host);
    return open_gpus(host, err);
}

void host_look(const struct view *view, struct host *host)
{
    gpu_watch_sample(&host->gpu_watch);
    if (!host->hung_was_read)
        hung_look(view, host->root, &host->hung);
    host->hung_was_read = true;
}

int host_finish(const struct view *view, struct host *host, struct err *err)
{
    struct host_counts now, *gained = &host->a_second;
    read_counts(host->root, &now);
    gained->numa_faults = (now.numa_faults - host->then.numa_faults) / view->wall_s;
    gained->numa_moved = (now.numa_moved - host->then.numa_moved) / view->wall_s;
    gained->throttles = (now.throttles - host->then.throttles) / view->wall_s;
    gained->throttled_s = (now.throttled_s - host->then.throttled_s) / view->wall_s;
    host_finish_memory(view, host);
    hung_finish(view, host->root, &host->hung);
    read_clocks(view, host);
    return finish_gpus(host, err);
}

void host_free(struct host *host)
{
    if (host->gpu_watch.gpus) {
        unsigned n;
        free(gpu_watch_close(&host->gpu_watch, &n));
    }
    free(host->gpus);
    free(host->gpu_changes);
    facts_free(&host->log);
    *host = (struct host){0};
}
