/* GPUs; monitors, tasks that hang. Declared in host_checks.h. Pure. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/doctor/check/host_checks.h"
#include "harness/lib/base/text.h"
#include "harness/machine/topo/topo_gpu.h"

/* Share of one CPU that all monitors may take. */
static const double monitors_least = 0.05;
enum { STUCK_LOOKS = 3 };

/* As much as comm has of their names. */
static const char *const monitors[] = {
    "nvidia-smi", "nvtop",         "nvitop",        "gpustat",     "dcgm-exporter", "nv-hostengine",
    "dcgmi",      "node_exporter", "cadvisor",      "prometheus",  "telegraf",      "collectd",
    "netdata",    "glances",       "htop",          "btop",        "atop",          "top",
    "iotop",      "sar",           "sadc",          "pidstat",     "mpstat",        "vmstat",
    "perf",       "bpftrace",      "strace",        "ltrace",      "nsys",          "py-spy",
    "osqueryd",   "auditd",        "falcon-sensor", "trace-agent", "datadog-agent", "process-agent",
    "filebeat",   "metricbeat",    "fluent-bit",    "fluentd",     "zabbix_agentd", "rasdaemon",
    "tegrastats"};

/*
 * Monitors for which others wait: the kernel until an audit or a look at a file is done, the
 * processes that they trace, programs until what they print or trace is shipped, and users of the
 * GPUs by way of their engine. To stop one stops all that.
 */
static const char *const waited_for[] = {"auditd",  "osqueryd",   "falcon-sensor", "strace",
                                         "ltrace",  "nsys",       "py-spy",        "filebeat",
                                         "fluentd", "fluent-bit", "trace-agent",   "nv-hostengine"};

static bool is_among(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_monitor(const char *name)
{
    return is_among(name, monitors, sizeof(monitors) / sizeof(monitors[0]));
}

static bool may_stop(const char *name)
{
    return !is_among(name, waited_for, sizeof(waited_for) / sizeof(waited_for[0]));
}

void check_monitors(struct checker *checker)
{
    const struct view *view = checker->view;
    const struct view_process *who[FOUND_PIDS_MAX];
    char command[420] = "", pids[400] = "", percent[16], told[200] = "";
    double cpus = 0;
    size_t n = 0;
    for (size_t i = 0; i < view->nprocesses && n < FOUND_PIDS_MAX; i++) {
        const struct view_process *process = &view->processes[i];
        double share = process->cpu_s / view->wall_s;
        if (process->kernel || share < 0.1 * monitors_least || !is_monitor(process->name))
            continue;
        if (may_stop(process->name) && check_may_touch(view, process, told, sizeof(told)))
            (void)check_append(pids, sizeof(pids), " %d", process->pid);
        who[n++] = process;
        cpus += share;
    }
    if (cpus < monitors_least)
        return;
    if (pids[0])
        (void)snprintf(command, sizeof(command), "kill -STOP%s", pids);
    struct said said = said_bad(host_share(checker, cpus), who, n, NULL, command);
    said.tail = told;
    checker_report(checker, &said,
                   "monitors of this machine use %s of a CPU: let them poll less often.%s",
                   text_percent(cpus, percent, sizeof(percent)),
                   pids[0] ? " The command pauses it until kill -CONT." : "");
}

void check_stuck_tasks(struct checker *checker)
{
    const struct host *host = checker->view->host;
    char command[120], evidence[160];
    for (size_t i = 0; host && host->looks >= STUCK_LOOKS && i < host->nstuck; i++) {
        const struct host_stuck *stuck = &host->stuck[i];
        const struct view_process *who = view_find(checker->view, stuck->pid);
        if (!who)
            continue;
        (void)snprintf(command, sizeof(command), "%scat /proc/%d/task/%d/stack",
                       check_root(checker->view), (int)stuck->pid, (int)stuck->tid);
        (void)snprintf(evidence, sizeof(evidence), "in state D in %u samples, without running%s%s",
                       host->looks, stuck->where[0] ? ", in " : "", stuck->where);
        const struct said said = said_bad(NAN, &who, 1, evidence, command);
        checker_report(
            checker, &said,
            "its task %d (%s) waits in the kernel and cannot be woken (%s): a disk, a file "
            "server or a driver does not answer.",
            (int)stuck->tid, stuck->name, evidence);
    }
}

/* Returns buf. `bdf`: of the GPU that it is about; a reset without it would be of all of them. */
static const char *gpu_command(const struct view *view, const char *id, const char *bdf, char *buf,
                               size_t size)
{
    static const struct {
        const char *id;
        bool root, one;
        const char *command;
    } commands[] = {
        {"gpu_persistence", true, false, "nvidia-smi -pm 1"},
        {"gpu_power", false, false, "nvidia-smi -q -d POWER"},
        {"gpu_slowdown", false, false, "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER"},
        {"gpu_memory", true, true, "nvidia-smi --gpu-reset"},
        {"gpu_ecc", false, false, "nvidia-smi -q -d ECC"},
        {"gpu_nvlink", false, false, "nvidia-smi nvlink -s"},
        {"gpu_pcie", false, false,
         "nvidia-smi --query-gpu=pci.bus_id,pcie.link.gen.current,"
         "pcie.link.width.current,pcie.link.width.max --format=csv"},
        {"gpu_xid", true, false, "dmesg | grep Xid"},
    };
    buf[0] = '\0';
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(id, commands[i].id) == 0)
            (void)snprintf(buf, size, "%s%s%s%s", commands[i].root ? check_root(view) : "",
                           commands[i].command, commands[i].one ? " -i " : "",
                           commands[i].one ? bdf : "");
    return buf;
}

/* Who uses a GPU is no fault of it here, and how it is divided is what somebody chose. */
static bool is_wanted(const struct finding *finding)
{
    return (finding->severity == FINDING_BAD && strcmp(finding->id, "gpu_processes") != 0 &&
            strcmp(finding->id, "gpu_compute_mode") != 0) ||
           strcmp(finding->id, "gpu_persistence") == 0 || strcmp(finding->id, "gpu_power") == 0;
}

static void report_wanted(struct checker *checker, const struct findings *all, const char *bdf)
{
    char command[160];
    for (size_t i = 0; i < all->n; i++) {
        const struct finding *finding = &all->all[i];
        const struct said said = {
            .severity = finding->severity,
            .cost = NAN,
            .id = finding->id,
            .subject = finding->subject,
            .evidence = finding->evidence,
            .command = gpu_command(checker->view, finding->id, bdf, command, sizeof(command))};
        if (is_wanted(finding))
            checker_report(checker, &said, "%s", finding->sentence);
    }
}

/* Reads the last hour, as far as the kernel's log is ours to read. */
static void check_log(struct checker *checker)
{
    static const double hour_s = 3600;
    const struct facts *log = &checker->view->host->log;
    for (size_t i = 0; i < log->nevents; i++) {
        const struct facts_event *event = &log->events[i];
        char subject[64], command[160];
        if (event->kind != EVENT_XID || event->last_s < checker->view->now_s - hour_s)
            continue;
        (void)snprintf(subject, sizeof(subject), "GPU %s", event->unit);
        const struct said said = {.severity = FINDING_BAD,
                                  .cost = NAN,
                                  .id = "gpu_xid",
                                  .subject = subject,
                                  .evidence = event->line,
                                  .command = gpu_command(checker->view, "gpu_xid", event->unit,
                                                         command, sizeof(command))};
        checker_report(checker, &said,
                       "Xid %d in the kernel log (%u lines, the last within an hour)",
                       event->number, event->count);
    }
}

void check_gpus(struct checker *checker)
{
    const struct host *host = checker->view->host;
    char name[64];
    int rc = 0;
    for (unsigned i = 0; host && host->topo && host->gpus && i < host->topo->ngpus && !rc; i++) {
        const struct topo_gpu *gpu = &host->topo->gpus[i];
        struct findings all = {0};
        (void)topo_gpu_name(gpu, name, sizeof(name));
        rc = gpu_health_judge(&host->gpus[i], name, &all, checker->err);
        for (unsigned c = 0; c < host->nchanges && !rc; c++)
            if (strcmp(host->gpu_changes[c].pci_bdf, gpu->pci_bdf) == 0)
                rc = gpu_change_judge(&host->gpu_changes[c], name, "the watch", "", &all,
                                      checker->err);
        if (!rc)
            report_wanted(checker, &all, gpu->pci_bdf);
        findings_free(&all);
    }
    if (rc)
        checker->rc = rc;
    else if (host)
        check_log(checker);
}
