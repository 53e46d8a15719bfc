#include "harness/comms/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/comms/findings.h"
#include "harness/comms/merge.h"
#include "harness/lib/array.h"
#include "harness/lib/text.h"

/* ---- what calls report ---- */

/* NULL: that GPU was not counted. */
static struct comms_nvlink_check_gpu *
comms_nvlink_check_find(const struct comms_nvlink_check *check, const char *host, const char *pci)
{
    for (size_t i = 0; i < check->n; i++)
        if (strcmp(check->gpu[i].pci, pci) == 0 && strcmp(check->gpu[i].host, host) == 0)
            return &check->gpu[i];
    return NULL;
}

/* Each task of a machine has counted all of its GPUs: the task that counted longest, and so the
 * most, is used. */
static void list_gpu(struct comms_nvlink_check *check, const char *host,
                     const struct nvlink_gpu *counted)
{
    struct comms_nvlink_check_gpu *gpu = comms_nvlink_check_find(check, host, counted->pci_bdf);
    if (!gpu) {
        gpu = &check->gpu[check->n++];
        *gpu = (struct comms_nvlink_check_gpu){.host = host, .pci = counted->pci_bdf};
    }
    uint64_t sent = (uint64_t)counted->sent_bytes, received = (uint64_t)counted->received_bytes;
    if (sent + received > gpu->sum.counted_sent + gpu->sum.counted_received) {
        gpu->sum.counted_sent = sent;
        gpu->sum.counted_received = received;
    }
}

static int list_gpus(const struct comms_counters *counters, struct comms_nvlink_check *check,
                     struct err *err)
{
    check->n = 0;
    check->gpu = calloc(counters->n * NVLINK_GPUS + 1, sizeof(*check->gpu));
    if (!check->gpu)
        return err_set(err, -ENOMEM, "no memory for counters");
    for (size_t h = 0; h < counters->n; h++)
        for (size_t i = 0; i < counters->counted[h].counts.n; i++)
            if (comms_is_counted(&counters->counted[h].counts.gpu[i]))
                list_gpu(check, counters->counted[h].host, &counters->counted[h].counts.gpu[i]);
    return 0;
}

/* True: a sum exceeds 64 bits. */
static bool add_pair(struct comms_nvlink_check *check, struct comms_nvlink_check_gpu *from,
                     struct comms_nvlink_check_gpu *to, uint64_t bytes, uint64_t flags)
{
    if (!from || !to || strcmp(from->host, to->host) != 0)
        return __builtin_add_overflow(check->elsewhere, bytes, &check->elsewhere);
    bool over = __builtin_add_overflow(from->sum.sent, bytes, &from->sum.sent);
    over |= __builtin_add_overflow(to->sum.received, bytes, &to->sum.received);
    over |= __builtin_add_overflow(from->sum.flags, flags, &from->sum.flags);
    return __builtin_add_overflow(to->sum.received_flags, flags, &to->sum.received_flags) | over;
}

/* Borrows the counters. Free it also after an error: -ENOMEM, -EOVERFLOW. */
static int comms_nvlink_check_make(const struct comms_total *total,
                                   const struct comms_counters *counters,
                                   struct comms_nvlink_check *check, struct err *err)
{
    const struct comms_matrix *matrix = &total->matrix;
    bool over = false;
    *check = (struct comms_nvlink_check){.left_out = total->left_out};
    int rc = list_gpus(counters, check, err);
    if (rc || !check->n)
        return rc;
    struct comms_nvlink_check_gpu **gpus =
        calloc(matrix->n + 1, sizeof(struct comms_nvlink_check_gpu *));
    if (!gpus)
        return err_set(err, -ENOMEM, "no memory for %u GPUs", matrix->n);
    for (uint32_t i = 0; i < matrix->n; i++) {
        const struct comms_gpu *gpu = &total->gpu[i];
        gpus[i] = gpu->log ? comms_nvlink_check_find(check, gpu->log->header.host, gpu->pci) : NULL;
        if (gpus[i])
            gpus[i]->ranks = gpu->ranks;
    }
    for (size_t at = 0; at < (size_t)matrix->n * matrix->n; at++)
        if (at / matrix->n != at % matrix->n)
            over |= add_pair(check, gpus[at / matrix->n], gpus[at % matrix->n], matrix->wire[at],
                             matrix->flags[at]);
    free(gpus);
    return over ? err_set(err, -EOVERFLOW, "more bytes than 64 bits hold: logs are corrupted") : 0;
}

static void comms_nvlink_check_free(struct comms_nvlink_check *check)
{
    free(check->gpu);
    *check = (struct comms_nvlink_check){0};
}

struct comms_nvlink_check_sum comms_nvlink_check_all(const struct comms_nvlink_check *check)
{
    struct comms_nvlink_check_sum sum = {0};
    for (size_t i = 0; i < check->n; i++) {
        const struct comms_nvlink_check_sum one = check->gpu[i].sum;
        sum.sent += one.sent;
        sum.received += one.received;
        sum.flags += one.flags;
        sum.counted_sent += one.counted_sent;
        sum.counted_received += one.counted_received;
    }
    return sum;
}

/* ---- what follows ---- */

/* One direction of one GPU. */
struct side {
    const struct comms_nvlink_check_gpu *gpu;
    const char *did;
    uint64_t called, flags, counted;
};

static uint64_t excess(uint64_t more, uint64_t less)
{
    const uint64_t slack = 1u << 20;
    uint64_t by = more > less ? more - less : 0;
    return by > slack + more / 100 ? by : 0;
}

static void report(const struct side *side, bool more, struct findings *findings)
{
    struct findings_about about = {findings};
    if (!side->gpu)
        return;
    about.subject = str_fmt("GPU %s of %s", side->gpu->pci, side->gpu->host);
    findings_report(
        &about, more ? "comms_unexplained" : "comms_not_counted", FINDING_DOUBT,
        "NVLink's counters say that it %s %" PRIu64 " bytes, NCCL's calls %" PRIu64 ": %s",
        side->did, side->counted, side->called,
        more ? "the rest is unexplained (copies between GPUs, device-side calls, CUDA graphs, "
               "algorithms of unknown pairs, other processes)"
             : "the rest took other paths (PCIe, shared memory, reductions in NVSwitch), or other "
               "pairs than modelled");
}

/* Reports comms_unexplained and comms_not_counted, each for the GPU with the largest difference, if
 * that is above 1% plus 1 MiB. */
static void comms_nvlink_check_judge(const struct comms_nvlink_check *check,
                                     struct findings *findings)
{
    struct side more = {0}, less = {0};
    uint64_t most_more = 0, most_less = 0;
    for (size_t i = 0; i < check->n; i++) {
        const struct comms_nvlink_check_gpu *gpu = &check->gpu[i];
        if (!gpu->ranks) /* the command did not use this GPU */
            continue;
        const struct side sides[] = {
            {gpu, "has sent", gpu->sum.sent, gpu->sum.flags, gpu->sum.counted_sent},
            {gpu, "has received", gpu->sum.received, gpu->sum.received_flags,
             gpu->sum.counted_received}};
        for (int s = 0; s < 2; s++) {
            uint64_t over = excess(sides[s].counted, sides[s].called + sides[s].flags);
            uint64_t under = excess(sides[s].called, sides[s].counted);
            more = over > most_more ? sides[s] : more;
            less = under > most_less ? sides[s] : less;
            most_more = over > most_more ? over : most_more;
            most_less = under > most_less ? under : most_less;
        }
    }
    report(&more, true, findings);
    report(&less, false, findings);
}

static int make_total(struct comms_view *view, struct err *err)
{
    int rc = comms_total_make(&view->comms, &view->total, err);
    if (rc == -E2BIG)
        (void)snprintf(view->total_note, sizeof(view->total_note), "%.90s", err->msg);
    return rc == -E2BIG ? 0 : rc;
}

/* A damaged file, such as a node leaves that loses power, does not hide the other files. */
static void judge_unread(const struct comms_unread *unread, struct findings *findings)
{
    enum { NAMED = 8 };
    const struct findings_about about = {findings, "left out"};
    for (size_t i = 0; i < unread->n && i < NAMED; i++)
        if (i == NAMED - 1 && unread->n > NAMED)
            findings_report(&about, "comms_unreadable", FINDING_DOUBT,
                            "%zu more files, the first one: %s", unread->n - i, unread->why[i].msg);
        else
            findings_report(&about, "comms_unreadable", FINDING_DOUBT, "%s", unread->why[i].msg);
}

/* Takes the file of exactly this name, without which links are unknown. */
static int take_ports(void *into, const char *name, char *text, size_t size, struct err *err)
{
    return strcmp(basename(name), COMMS_PORTS_NAME) ? 0 : comms_ports_parse(text, size, into, err);
}

static int read_ports(const char *directory, struct comms_view *view, struct err *err)
{
    enum { BYTES_MOST = 1 << 20 };
    return comms_folder_read(directory, COMMS_PORTS_NAME, BYTES_MOST, take_ports, &view->ports,
                             &view->unread, err);
}

int comms_view_make(const char *directory, struct comms_view *view, struct err *err)
{
    const struct comms_hosts hosts = {&view->logs, &view->counters, &view->ports};
    int rc = comms_hosts_settle(&hosts, &view->findings, err);
    rc = rc ? rc : comms_merge(&view->logs, &view->comms, err);
    if (!rc && directory)
        comms_orders_read(directory, &view->counters, &view->comms);
    for (size_t i = 0; i < view->comms.n && !rc; i++)
        rc = comms_measure(&view->comms.communicator[i], err);
    rc = rc ? rc : make_total(view, err);
    rc = rc ? rc : comms_timeline_make(&view->logs, &view->comms, &view->timeline, err);
    if (!rc && !view->total_note[0])
        rc = comms_links_make(&view->total, &view->ports, &view->timeline, &view->links, err);
    if (!rc && !view->total_note[0])
        rc = comms_nvlink_check_make(&view->total, &view->counters, &view->nvlink_check, err);
    if (rc)
        return rc;
    judge_unread(&view->unread, &view->findings);
    comms_judge(&view->logs, &view->comms, &view->findings);
    comms_nvlink_check_judge(&view->nvlink_check, &view->findings);
    comms_usage_judge(&view->comms, &view->timeline, &view->findings);
    return findings_check(&view->findings, err);
}

int comms_view_read(const char *directory, double last_s, struct comms_view *view, bool *refused,
                    struct err *err)
{
    *view = (struct comms_view){0};
    int rc = comms_logs_read(directory, &view->logs, &view->unread, err);
    if (!rc && view->unread.n && !view->logs.n) {
        *err = view->unread.why[0];
        rc = err->code;
    }
    rc = rc ? rc : read_ports(directory, view, err);
    rc = rc ? rc : comms_counters_read(directory, &view->counters, &view->unread, err);
    *refused = rc && rc != -ENOMEM;
    comms_logs_keep_last(&view->logs, last_s);
    return rc ? rc : comms_view_make(directory, view, err);
}

void comms_view_free(struct comms_view *view)
{
    findings_free(&view->findings);
    comms_unread_free(&view->unread);
    comms_links_free(&view->links);
    comms_ports_free(&view->ports);
    comms_timeline_free(&view->timeline);
    comms_nvlink_check_free(&view->nvlink_check);
    comms_counters_free(&view->counters);
    comms_total_free(&view->total);
    comms_free(&view->comms);
    comms_logs_free(&view->logs);
}

/* A machine under one of its names. */
struct alias {
    char name[COMMS_HOST_MAX]; /* in the files */
    uint8_t boot[COMMS_BOOT_MAX];
    char called[COMMS_HOST_MAX]; /* its name from now on */
};
struct aliases {
    size_t n, capacity;
    struct alias *all;
};

static bool is_known(const uint8_t *boot)
{
    static const uint8_t none[COMMS_BOOT_MAX];
    return memcmp(boot, none, sizeof(none)) != 0;
}

/* A file without a boot_id matches any machine of its name. */
static bool is_one_machine(const struct alias *alias, const char *name, const uint8_t *boot)
{
    if (is_known(alias->boot) && is_known(boot))
        return memcmp(alias->boot, boot, COMMS_BOOT_MAX) == 0;
    return strcmp(alias->name, name) == 0;
}

static const struct alias *find(const struct aliases *aliases, const char *name,
                                const uint8_t *boot)
{
    const struct alias *found = NULL;
    for (size_t i = 0; i < aliases->n; i++) {
        const struct alias *alias = &aliases->all[i];
        if (!is_one_machine(alias, name, boot))
            continue;
        if (strcmp(alias->name, name) == 0)
            return alias;
        found = found ? found : alias;
    }
    return found;
}

static bool is_taken(const struct aliases *aliases, const char *called)
{
    for (size_t i = 0; i < aliases->n; i++)
        if (strcmp(aliases->all[i].called, called) == 0)
            return true;
    return false;
}

static void hosts_report(const struct alias *alias, bool same_name, struct findings *findings)
{
    const struct findings_about about = {findings, str_fmt("host %s", alias->name)};
    if (same_name)
        findings_report(&about, "comms_same_name", FINDING_NOTE,
                        "another machine has the same name: this one is %s here", alias->called);
    else
        findings_report(&about, "comms_one_machine", FINDING_NOTE,
                        "it is the same machine as %s, and has that name here", alias->called);
}

static int add(struct aliases *aliases, const char *name, const uint8_t *boot,
               struct findings *findings, struct err *err)
{
    const struct alias *known = find(aliases, name, boot);
    if (known && strcmp(known->name, name) == 0)
        return 0;
    struct alias alias;
    (void)snprintf(alias.name, sizeof(alias.name), "%s", name);
    memcpy(alias.boot, boot, sizeof(alias.boot));
    (void)snprintf(alias.called, sizeof(alias.called), "%s", known ? known->called : name);
    for (unsigned i = 2; !known && is_taken(aliases, alias.called); i++)
        (void)snprintf(alias.called, sizeof(alias.called), "%.52s#%u", name, i);
    struct alias *added = array_add(aliases->all, aliases->n, aliases->capacity);
    if (!added)
        return err_set(err, -ENOMEM, "no memory for names of hosts");
    *added = alias;
    if (strcmp(alias.called, name) != 0)
        hosts_report(&alias, !known, findings);
    return 0;
}

static int rename_host(struct aliases *aliases, char host[static COMMS_HOST_MAX],
                       const uint8_t *boot, struct findings *findings, struct err *err)
{
    int rc = add(aliases, host, boot, findings, err);
    if (!rc)
        (void)snprintf(host, COMMS_HOST_MAX, "%s", find(aliases, host, boot)->called);
    return rc;
}

int comms_hosts_settle(const struct comms_hosts *hosts, struct findings *findings, struct err *err)
{
    static const uint8_t unknown[COMMS_BOOT_MAX];
    struct aliases aliases = {0};
    int rc = 0;
    for (size_t i = 0; hosts->logs && i < hosts->logs->n && !rc; i++) {
        struct comms_header *header = &hosts->logs->log[i].header;
        rc = rename_host(&aliases, header->host, header->boot, findings, err);
    }
    for (size_t i = 0; hosts->counters && i < hosts->counters->n && !rc; i++) {
        struct comms_counted *counted = &hosts->counters->counted[i];
        rc = rename_host(&aliases, counted->host, counted->boot, findings, err);
    }
    for (size_t i = 0; hosts->ports && i < hosts->ports->n && !rc; i++)
        rc = rename_host(&aliases, hosts->ports->port[i].host, unknown, findings, err);
    free(aliases.all);
    return rc;
}
