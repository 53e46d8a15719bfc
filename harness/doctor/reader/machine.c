#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/doctor/reader/reader_parts.h"
#include "harness/lib/files/proc.h"

static void read_nodes(struct reader *reader)
{
    struct view *view = &reader->view;
    struct bitset nodes;
    (void)proc_read_list(reader->root, &nodes, "/sys/devices/system/node/online");
    (void)proc_read_list(reader->root, &view->memory_nodes, "/sys/devices/system/node/has_memory");
    for (int node = bitset_next(&nodes, 0); node >= 0 && node < VIEW_NODES_MAX;
         node = bitset_next(&nodes, (unsigned)node + 1)) {
        (void)proc_read_list(reader->root, &view->node_cpus[node],
                             "/sys/devices/system/node/node%d/cpulist", node);
        view->nnodes = (size_t)node + 1;
    }
}

int reader_open_machine(struct reader *reader, struct err *err)
{
    char text[4096];
    int once = -1;
    struct view *view = &reader->view;
    view->pressure_share = view->load = NAN;
    view->has_schedstat = reader_read(reader->proc_fd, "self/schedstat", &once, text, sizeof(text));
    if (!view->has_schedstat) /* a fake root has no "self" */
        view->has_schedstat =
            reader_read(reader->proc_fd, "1/schedstat", &once, text, sizeof(text));
    read_nodes(reader);
    return reader_read_machine(reader, true, err);
}

/*
 * A line "cpu3 user nice system idle iowait irq softirq steal guest guest_nice". Counters of one
 * CPU only grow, together as fast as the clock. If they do not, the line belongs to another CPU of
 * this number, as under lxcfs, or the CPU was offline in between: then its time starts at this
 * read.
 */
static void read_cpu(const struct reader *reader, const char *line, bool mark, struct view_cpu *cpu)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
    uint64_t ticks[FIELDS];
    const char *at = line + strcspn(line, " ");
    for (int i = 0; i < FIELDS; i++)
        at = reader_number(at, &ticks[i]);
    const double now[] = {
        (double)ticks[USER],
        (double)ticks[NICE],
        (double)ticks[SYSTEM],
        (double)(ticks[IDLE] + ticks[IOWAIT]),
        (double)(ticks[IRQ] + ticks[SOFTIRQ]),
        (double)ticks[STEAL],
    };
    double *const since[] = {&cpu->user_s, &cpu->nice_s, &cpu->system_s,
                             &cpu->idle_s, &cpu->irq_s,  &cpu->steal_s};
    const double slack = 0.5 * reader->hertz, most = 1.5 * reader->view.wall_s * reader->hertz;
    double forward = 0, back = 0;
    for (size_t i = 0; i < sizeof(now) / sizeof(now[0]); i++) {
        forward += fmax(now[i] - cpu->then[i], 0);
        back += fmax(cpu->then[i] - now[i], 0);
    }
    mark = mark || back > slack || forward > most + slack;
    for (size_t i = 0; i < sizeof(now) / sizeof(now[0]); i++) {
        if (mark)
            cpu->then[i] = now[i];
        *since[i] = fmax(now[i] - cpu->then[i], 0) / reader->hertz;
    }
}

/* The time of a CPU that came online after the mark starts at its first line. */
static struct view_cpu *find_cpu(struct view *view, unsigned os_cpu, bool *is_new)
{
    size_t at = 0;
    while (at < view->ncpus && view->cpus[at].os_cpu < os_cpu)
        at++;
    if (at < view->ncpus && view->cpus[at].os_cpu == os_cpu)
        return &view->cpus[at];
    *is_new = true;
    struct view_cpu *grown = realloc(view->cpus, (view->ncpus + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    view->cpus = grown;
    memmove(&grown[at + 1], &grown[at], (view->ncpus++ - at) * sizeof(*grown));
    grown[at] = (struct view_cpu){.os_cpu = os_cpu};
    return &grown[at];
}

static void drop_offline(struct view *view)
{
    size_t n = 0;
    for (size_t i = 0; i < view->ncpus; i++)
        if (bitset_test(&view->online, view->cpus[i].os_cpu))
            view->cpus[n++] = view->cpus[i];
    view->ncpus = n;
}

static int read_cpus(struct reader *reader, bool mark, struct err *err)
{
    struct view *view = &reader->view;
    char *text = reader_read_long(reader, reader->proc_fd, "stat");
    if (!text)
        return err_set(err, -EIO, "cannot read %.150s/proc/stat", reader->root);
    view->online = (struct bitset){0};
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        uint64_t os_cpu;
        bool is_new = mark;
        if (strncmp(line, "cpu", 3) != 0)
            break;
        if (line[3] < '0' || line[3] > '9')
            continue; /* the sum over all CPUs */
        (void)reader_number(line + 3, &os_cpu);
        if (os_cpu >= BITSET_BITS)
            continue;
        struct view_cpu *cpu = find_cpu(view, (unsigned)os_cpu, &is_new);
        if (!cpu)
            return err_set(err, -ENOMEM, "out of memory for %zu CPUs", view->ncpus + 1);
        bitset_set(&view->online, (unsigned)os_cpu);
        read_cpu(reader, line, is_new, cpu);
    }
    drop_offline(view);
    return 0;
}

int reader_read_machine(struct reader *reader, bool mark, struct err *err)
{
    struct view *view = &reader->view;
    char text[512];
    int once = -1;
    if (reader_read(reader->proc_fd, "pressure/cpu", &reader->pressure_fd, text, sizeof(text))) {
        const char *at = strstr(text, "total=");
        double total_us = at ? strtod(at + strlen("total="), NULL) : NAN;
        if (mark)
            reader->pressure_then_us = total_us;
        view->pressure_share = (total_us - reader->pressure_then_us) / 1e6 / view->wall_s;
    }
    if (reader_read(reader->proc_fd, "loadavg", &once, text, sizeof(text)))
        view->load = strtod(text, NULL);
    return read_cpus(reader, mark, err);
}

void reader_roll_machine(struct reader *reader)
{
    struct view *view = &reader->view;
    reader->pressure_then_us += view->pressure_share * view->wall_s * 1e6;
    for (size_t i = 0; i < view->ncpus; i++) {
        struct view_cpu *cpu = &view->cpus[i];
        const double since[] = {cpu->user_s, cpu->nice_s, cpu->system_s,
                                cpu->idle_s, cpu->irq_s,  cpu->steal_s};
        for (size_t c = 0; c < sizeof(since) / sizeof(since[0]); c++)
            cpu->then[c] += since[c] * reader->hertz;
    }
}
