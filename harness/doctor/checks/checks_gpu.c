/* GPUs. Declared in host_checks.h. Pure. */
#include <math.h>
#include <string.h>

#include "harness/doctor/checks/host_checks.h"
#include "harness/lib/str.h"
#include "harness/machine/topo_gpu.h"

/* Returns text. `bdf`: the GPU of the finding; without -i, a reset would hit all GPUs. */
static const char *gpu_command(const struct view *view, const char *id, const char *bdf)
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
    const char *text = "";
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(id, commands[i].id) == 0)
            text =
                str_fmt("%s%s%s%s", commands[i].root ? check_root(view) : "", commands[i].command,
                        commands[i].one ? " -i " : "", commands[i].one ? bdf : "");
    return text;
}

/* Other users of a GPU are no fault here, and the compute mode is a deliberate choice. */
static bool is_wanted(const struct finding *finding)
{
    return (finding->severity == FINDING_BAD && strcmp(finding->id, "gpu_processes") != 0 &&
            strcmp(finding->id, "gpu_compute_mode") != 0) ||
           strcmp(finding->id, "gpu_persistence") == 0 || strcmp(finding->id, "gpu_power") == 0;
}

static void report_wanted(struct checker *checker, const struct findings *all, const char *bdf)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct finding *finding = &all->all[i];
        const struct finding_parts parts = {.severity = finding->severity,
                                            .cost = NAN,
                                            .id = finding->id,
                                            .subject = finding->subject,
                                            .evidence = finding->evidence,
                                            .command =
                                                gpu_command(checker->view, finding->id, bdf)};
        if (is_wanted(finding))
            checker_report(checker, &parts, "%s", finding->sentence);
    }
}

/* Reports Xids of the last hour, if the kernel log is readable. */
static void check_log(struct checker *checker)
{
    static const double hour_s = 3600;
    const struct facts *log = &checker->view->host->log;
    for (size_t i = 0; i < log->nevents; i++) {
        const struct facts_event *event = &log->events[i];
        if (event->kind != EVENT_XID || event->last_s < checker->view->now_s - hour_s)
            continue;
        const char *subject = str_fmt("GPU %s", event->unit);
        const struct finding_parts parts = {.severity = FINDING_BAD,
                                            .cost = NAN,
                                            .id = "gpu_xid",
                                            .subject = subject,
                                            .evidence = event->line,
                                            .command =
                                                gpu_command(checker->view, "gpu_xid", event->unit)};
        checker_report(checker, &parts,
                       "Xid %d in the kernel log (%u lines, the last within an hour)",
                       event->number, event->count);
    }
}

void check_gpus(struct checker *checker)
{
    const struct host *host = checker->view->host;
    const char *name;
    int rc = 0;
    for (unsigned i = 0; host && host->topo && host->gpus && i < host->topo->ngpus && !rc; i++) {
        const struct topo_gpu *gpu = &host->topo->gpus[i];
        struct findings all = {0};
        name = topo_gpu_name(gpu);
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
