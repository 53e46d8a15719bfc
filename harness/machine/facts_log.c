/*
 * Kernel log lines, and counters of memory controllers. Declared in facts.h. Xids as the driver
 * prints them: "NVRM: Xid (PCI:0000:3b:00): 79, pid=..., GPU has fallen off the bus." (NVIDIA, "XID
 * Errors"); SXids: "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, ..." (NVIDIA,
 * "Fabric Manager for HGX", appendix D).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

#include "harness/lib/array.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/text.h"
#include "harness/machine/facts.h"

enum { LOG_MOST = 64 << 20, RECORD_MOST = 8192, KLOG_READ_ALL = 3, KLOG_SIZE = 10 };

/* Texts that identify the kind of a line; the first match counts. */
static const struct pattern {
    const char *text, *also; /* also: NULL = any line with `text` */
    enum facts_event_kind kind;
} patterns[] = {
    {"SXid (PCI:", NULL, EVENT_SXID},
    {"NVRM: Xid (PCI:", NULL, EVENT_XID},
    {"AER: ", "ncorrect", EVENT_AER_UNCORRECTED},
    {"AER: ", "Corrected error", EVENT_AER_CORRECTED},
    {"AER: ", "Correctable error", EVENT_AER_CORRECTED},
    {"[Hardware Error]: Machine check", NULL, EVENT_MACHINE_CHECK},
    {"[Hardware Error]: CPU", "Machine Check", EVENT_MACHINE_CHECK},
    {"mce: [Hardware Error]", NULL, EVENT_MACHINE_CHECK},
    /* "Memory cgroup out of memory": a container met its own limit, not the machine's. */
    {"Out of memory: Kill", NULL, EVENT_OUT_OF_MEMORY},
};

static const struct pattern *classify(const char *line)
{
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
        if (strstr(line, patterns[i].text) && (!patterns[i].also || strstr(line, patterns[i].also)))
            return &patterns[i];
    return NULL;
}

/* "(PCI:0000:3b:00): 79, ..." -> address and number. */
static void read_xid(const char *line, struct facts_event *event)
{
    const char *at = strstr(line, "(PCI:");
    if (!at)
        return;
    at += strlen("(PCI:");
    (void)snprintf(event->unit, sizeof(event->unit), "%.*s", (int)strcspn(at, ")"), at);
    at = strchr(at, ')');
    if (at && sscanf(at, "): %d", &event->number) != 1)
        event->number = 0;
}

/* "pcieport 0000:00:01.0: AER: ..." -> the first address before "AER: ". */
static void read_aer(const char *line, struct facts_event *event)
{
    unsigned domain, bus, device, function;
    const char *end = strstr(line, "AER: ");
    for (const char *at = line; end && at < end; at++) {
        int used = 0;
        if (sscanf(at, "%4x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) == 4 &&
            used == 12) {
            (void)snprintf(event->unit, sizeof(event->unit), "%.12s", at);
            return;
        }
    }
}

static bool is_same(const struct facts_event *a, const struct facts_event *b)
{
    return a->kind == b->kind && a->number == b->number && strcmp(a->unit, b->unit) == 0;
}

static int put_line(const char *line, double at_s, size_t *capacity, struct facts *facts)
{
    const struct pattern *pattern = classify(line);
    if (!pattern)
        return 0;
    struct facts_event event = {.kind = pattern->kind, .count = 1, .first_s = at_s, .last_s = at_s};
    (void)snprintf(event.line, sizeof(event.line), "%s", line);
    if (event.kind == EVENT_XID || event.kind == EVENT_SXID)
        read_xid(line, &event);
    else if (event.kind == EVENT_AER_CORRECTED || event.kind == EVENT_AER_UNCORRECTED)
        read_aer(line, &event);
    (void)text_one_line(event.line);
    (void)text_one_line(event.unit);
    for (size_t i = 0; i < facts->nevents; i++)
        if (is_same(&facts->events[i], &event)) {
            facts->events[i].count++;
            facts->events[i].last_s = at_s;
            return 0;
        }
    struct facts_event *added = array_add(facts->events, facts->nevents, *capacity);
    if (!added)
        return -ENOMEM;
    *added = event;
    return 0;
}

/* "6,1234,98765432,-;message" of /dev/kmsg, or "<6>[   98.765432] message" of syslog(2). */
static int put_record(char *line, size_t *capacity, struct facts *facts)
{
    unsigned long long level, sequence, at_us;
    double at_s = NAN;
    char *text = strchr(line, ';');
    if (text && sscanf(line, "%llu,%llu,%llu", &level, &sequence, &at_us) == 3)
        return put_line(text + 1, (double)at_us / 1e6, capacity, facts);
    text = strchr(line, ']');
    if (sscanf(line, "<%*d>[%lf]", &at_s) == 1 && text)
        return put_line(text + 1, at_s, capacity, facts);
    return 0;
}

static int put_records(char *text, size_t *capacity, struct facts *facts)
{
    int rc = 0;
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line && !rc; line = strtok_r(NULL, "\n", &save))
        rc = put_record(line, capacity, facts);
    return rc;
}

/* A read of /dev/kmsg returns one record, or -EPIPE if the next one was overwritten meanwhile. */
static int read_kmsg(int fd, struct facts *facts)
{
    char text[RECORD_MOST + 1];
    size_t capacity = 0, total = 0;
    int rc = 0;
    while (!rc && total < LOG_MOST) {
        ssize_t n = read(fd, text, RECORD_MOST);
        if (n < 0 && (errno == EPIPE || errno == EINTR))
            continue;
        if (n <= 0)
            break;
        text[n] = '\0';
        total += (size_t)n;
        rc = put_records(text, &capacity, facts);
    }
    return rc;
}

/* For containers without /dev/kmsg. */
static int read_syslog(struct facts *facts)
{
    size_t capacity = 0;
    int size = klogctl(KLOG_SIZE, NULL, 0);
    if (size <= 0 || size > LOG_MOST) {
        facts->log = FACTS_DENIED;
        return 0;
    }
    char *text = calloc(1, (size_t)size + 1);
    if (!text)
        return -ENOMEM;
    int n = klogctl(KLOG_READ_ALL, text, size);
    facts->log = n < 0 ? FACTS_DENIED : FACTS_READ;
    int rc = n > 0 ? put_records(text, &capacity, facts) : 0;
    free(text);
    return rc;
}

int facts_read_log(const char *root, struct facts *facts, struct err *err)
{
    char path[PATH_MAX];
    int rc = 0;
    (void)snprintf(path, sizeof(path), "%s/dev/kmsg", root);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        facts->log = FACTS_READ;
        rc = read_kmsg(fd, facts);
        (void)close(fd);
    } else if (root[0]) {
        facts->log = errno == EACCES || errno == EPERM ? FACTS_DENIED : FACTS_ABSENT;
    } else {
        rc = read_syslog(facts);
    }
    return rc ? err_set(err, rc, "no memory for the kernel's log") : 0;
}

static int64_t read_count(const char *root, const char *folder, const char *name)
{
    double count = proc_read_number(root, "%s/%s", folder, name);
    return isnan(count) || count < 0 ? -1 : (int64_t)count;
}

static int add_edac(const struct facts_edac *edac, size_t *capacity, struct facts *facts)
{
    struct facts_edac *added = array_add(facts->edacs, facts->nedac, *capacity);
    if (!added)
        return -ENOMEM;
    *added = *edac;
    return 0;
}

/* Adds the modules of a controller that have errors. */
static int read_modules(const char *root, const char *controller, size_t *capacity,
                        struct facts *facts)
{
    char label[64];
    const char *folder;
    int rc = 0;
    const char *path = str_fmt("%s%s", root, controller);
    DIR *dir = opendir(path);
    for (struct dirent *entry; !rc && dir && (entry = readdir(dir));) {
        if (strncmp(entry->d_name, "dimm", 4) != 0 && strncmp(entry->d_name, "rank", 4) != 0)
            continue;
        folder = str_fmt("%s/%s", controller, entry->d_name);
        struct facts_edac edac = {.corrected = read_count(root, folder, "dimm_ce_count"),
                                  .uncorrected = read_count(root, folder, "dimm_ue_count")};
        bool named = PROC_TEXT(root, label, "%s/dimm_label", folder) && label[0];
        (void)snprintf(edac.name, sizeof(edac.name), "%.63s", named ? label : entry->d_name);
        (void)text_one_line(edac.name);
        if (edac.corrected > 0 || edac.uncorrected > 0)
            rc = add_edac(&edac, capacity, facts);
    }
    if (dir)
        (void)closedir(dir);
    return rc;
}

int facts_read_edac(const char *root, struct facts *facts, struct err *err)
{
    static const char folder[] = "/sys/devices/system/edac/mc";
    const char *controller;
    size_t capacity = 0;
    int rc = 0;
    const char *path = str_fmt("%s%s", root, folder);
    DIR *dir = opendir(path);
    for (struct dirent *entry; !rc && dir && (entry = readdir(dir));) {
        if (strncmp(entry->d_name, "mc", 2) != 0 || !strpbrk(entry->d_name, "0123456789"))
            continue;
        controller = str_fmt("%s/%.64s", folder, entry->d_name);
        struct facts_edac edac = {.corrected = read_count(root, controller, "ce_count"),
                                  .uncorrected = read_count(root, controller, "ue_count")};
        (void)snprintf(edac.name, sizeof(edac.name), "%.63s", entry->d_name);
        facts->edac = FACTS_READ;
        size_t before = facts->nedac;
        rc = read_modules(root, controller, &capacity, facts);
        if (!rc && facts->nedac == before) /* no module has errors: the controller's counters */
            rc = add_edac(&edac, &capacity, facts);
    }
    if (dir)
        (void)closedir(dir);
    return rc ? err_set(err, rc, "no memory for the counters of memory errors") : 0;
}
