#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/doctor/reader/reader_parts.h"
#include "harness/lib/sys/proc.h"

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
 * Counters of one CPU only grow, together as fast as the clock. If they do not, the line belongs to
 * another CPU of this number, as under lxcfs, or the CPU was offline in between: then its time
 * starts at this read.
 */
static void note_cpu(const double now_s[PROC_TIMES], double wall_s, bool mark, struct view_cpu *cpu)
{
    double *const since[] = {&cpu->user_s, &cpu->nice_s, &cpu->system_s,
                             &cpu->idle_s, &cpu->irq_s,  &cpu->steal_s};
    static const double slack_s = 0.5;
    double forward_s = 0, back_s = 0;
    for (int i = 0; i < PROC_TIMES; i++) {
        forward_s += fmax(now_s[i] - cpu->then_s[i], 0);
        back_s += fmax(cpu->then_s[i] - now_s[i], 0);
    }
    mark = mark || back_s > slack_s || forward_s > 1.5 * wall_s + slack_s;
    for (int i = 0; i < PROC_TIMES; i++) {
        if (mark)
            cpu->then_s[i] = now_s[i];
        *since[i] = fmax(now_s[i] - cpu->then_s[i], 0);
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
        int os_cpu;
        double now_s[PROC_TIMES];
        bool is_new = mark;
        if (!proc_parse_cpu(line, &os_cpu, now_s))
            break;
        if (os_cpu < 0 || os_cpu >= BITSET_BITS)
            continue; /* -1: the sum over all CPUs */
        struct view_cpu *cpu = find_cpu(view, (unsigned)os_cpu, &is_new);
        if (!cpu)
            return err_set(err, -ENOMEM, "out of memory for %zu CPUs", view->ncpus + 1);
        bitset_set(&view->online, (unsigned)os_cpu);
        note_cpu(now_s, view->wall_s, is_new, cpu);
    }
    drop_offline(view);
    return 0;
}

int reader_read_machine(struct reader *reader, bool mark, struct err *err)
{
    struct view *view = &reader->view;
    char text[512];
    int once = -1;
    double pressure_s = proc_read_pressure_s(reader->root, "/proc/pressure/cpu");
    if (mark)
        reader->pressure_then_s = pressure_s;
    view->pressure_share = (pressure_s - reader->pressure_then_s) / view->wall_s;
    if (reader_read(reader->proc_fd, "loadavg", &once, text, sizeof(text)))
        view->load = strtod(text, NULL);
    return read_cpus(reader, mark, err);
}

void reader_roll_machine(struct reader *reader)
{
    struct view *view = &reader->view;
    reader->pressure_then_s += view->pressure_share * view->wall_s;
    for (size_t i = 0; i < view->ncpus; i++) {
        struct view_cpu *cpu = &view->cpus[i];
        const double since_s[] = {cpu->user_s, cpu->nice_s, cpu->system_s,
                                  cpu->idle_s, cpu->irq_s,  cpu->steal_s};
        for (int c = 0; c < PROC_TIMES; c++)
            cpu->then_s[c] += since_s[c];
    }
}
