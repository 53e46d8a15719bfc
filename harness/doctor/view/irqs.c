#include "harness/doctor/view/irqs.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/base/array.h"
#include "harness/lib/base/text.h"
#include "harness/lib/files/proc.h"

/* A second, on one CPU: fewer take nothing that is told (host_checks.h). */
static const double many = 20;

static FILE *open_file(const char *root, const char *path)
{
    char full[PATH_MAX];
    (void)snprintf(full, sizeof(full), "%s%s", root, path);
    return fopen(full, "re");
}

/* "           CPU0       CPU1" */
static int read_heading(const char *line, struct irqs *irqs, struct err *err)
{
    unsigned n = 0;
    for (const char *at = line; (at = strstr(at, "CPU")); at += 3)
        n++;
    irqs->os_cpu = calloc(n + 1, sizeof(*irqs->os_cpu));
    if (!irqs->os_cpu)
        return err_set(err, -ENOMEM, "out of memory for the interrupts of %u CPUs", n);
    for (const char *at = line; (at = strstr(at, "CPU"));)
        irqs->os_cpu[irqs->ncpus++] = (unsigned)strtoul(at += 3, NULL, 10);
    return 0;
}

/* Behind the counts: "PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0"; its name is the last. */
static void copy_device(char *rest, struct irq *irq)
{
    size_t length = strlen(rest);
    while (length && isspace((unsigned char)rest[length - 1]))
        rest[--length] = '\0';
    char *name = rest;
    for (char *at = rest; (at = strstr(at, "  "));)
        name = at += strspn(at, " ");
    proc_copy_text(irq->device, sizeof(irq->device), text_one_line(name));
}

/* " 36:          0    4419178 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0" */
static int read_line(char *line, struct irqs *irqs, struct err *err)
{
    char *at = NULL;
    struct irq irq = {.number = (unsigned)strtoul(line, &at, 10)};
    if (at == line || *at++ != ':')
        return 0;
    struct irq *grown = array_grown(irqs->irq, irqs->n, &irqs->capacity, sizeof(*grown));
    if (grown)
        irqs->irq = grown;
    irq.served = grown ? calloc(irqs->ncpus + 1, sizeof(*irq.served)) : NULL;
    if (!irq.served)
        return err_set(err, -ENOMEM, "out of memory for the interrupts of %u CPUs", irqs->ncpus);
    for (unsigned i = 0; i < irqs->ncpus; i++)
        irq.served[i] = (double)strtoull(at, &at, 10);
    copy_device(at, &irq);
    irqs->irq[irqs->n++] = irq;
    return 0;
}

static int index_of(const struct irqs *irqs, unsigned os_cpu)
{
    for (unsigned i = 0; i < irqs->ncpus; i++)
        if (irqs->os_cpu[i] == os_cpu)
            return (int)i;
    return -1;
}

int irqs_read(const char *root, struct irqs *irqs, struct err *err)
{
    char *line = NULL;
    size_t size = 0;
    int rc = 0;
    *irqs = (struct irqs){0};
    FILE *file = open_file(root, "/proc/interrupts");
    if (file && getline(&line, &size, file) > 0)
        rc = read_heading(line, irqs, err);
    while (file && !rc && irqs->ncpus && getline(&line, &size, file) > 0)
        rc = read_line(line, irqs, err);
    free(line);
    if (file)
        (void)fclose(file);
    return rc;
}

void irqs_free(struct irqs *irqs)
{
    for (size_t i = 0; i < irqs->n; i++)
        free(irqs->irq[i].served);
    free(irqs->irq);
    free(irqs->os_cpu);
    *irqs = (struct irqs){0};
}

static const struct irq *find_irq(const struct irqs *irqs, unsigned number)
{
    for (size_t i = 0; i < irqs->n; i++)
        if (irqs->irq[i].number == number)
            return &irqs->irq[i];
    return NULL;
}

void irqs_subtract(struct irqs *irqs, const struct irqs *before, double seconds)
{
    for (unsigned c = 0; c < irqs->ncpus; c++) {
        int then = index_of(before, irqs->os_cpu[c]);
        for (size_t i = 0; i < irqs->n; i++) {
            const struct irq *same = find_irq(before, irqs->irq[i].number);
            double earlier = same && then >= 0 ? same->served[then] : 0;
            irqs->irq[i].served[c] = fmax(irqs->irq[i].served[c] - earlier, 0) / seconds;
        }
    }
}

void irqs_read_affinity(const char *root, struct irqs *irqs)
{
    for (size_t i = 0; i < irqs->n; i++) {
        struct irq *irq = &irqs->irq[i];
        double most = 0;
        for (unsigned c = 0; c < irqs->ncpus; c++)
            most = fmax(most, irq->served[c]);
        if (most < many)
            continue;
        (void)PROC_TEXT(root, irq->effective, "/proc/irq/%u/effective_affinity_list", irq->number);
    }
}
