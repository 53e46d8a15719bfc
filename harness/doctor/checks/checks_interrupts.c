/* Interrupts on CPUs of workers. Declared in host_checks.h. Pure. */
#include <math.h>
#include <stdio.h>

#include "harness/doctor/check/host_checks.h"

/* The cost of one, s: see the header. */
static const double least_s = 2e-6, most_s = 50e-6;
/* Share of one CPU from which an interrupt is named beside others. */
static const double named_least = 0.1 * HOST_LEAST;

static double all_served(const struct irqs *irqs, unsigned c)
{
    double sum = 0;
    for (size_t i = 0; i < irqs->n; i++)
        sum += irqs->irq[i].served[c];
    return sum;
}

/* The cost of one interrupt, s, of those that `c`, an index, serves. */
static double cost_s(const struct view *view, const struct irqs *irqs, unsigned c)
{
    double all = all_served(irqs, c), handling_s = 0;
    for (size_t i = 0; i < view->ncpus; i++)
        if (view->cpus[i].os_cpu == irqs->os_cpu[c])
            handling_s = view->cpus[i].irq_s / view->wall_s;
    return fmin(fmax(all > 0 ? handling_s / all : 0, least_s), most_s);
}

/* CPU time that it takes from these CPUs a second. */
static double taken_cpus(const struct view *view, const struct irqs *irqs, const struct irq *irq,
                         const struct bitset *cpus)
{
    double sum = 0;
    for (unsigned c = 0; c < irqs->ncpus; c++)
        if (irq->served[c] > 0 && bitset_test(cpus, irqs->os_cpu[c]))
            sum += irq->served[c] * cost_s(view, irqs, c);
    return sum;
}

struct named {
    char names[160], numbers[100], effective[64];
    struct bitset cpus; /* of workers, that serve them */
    double taken, a_second;
};

static void name_irq(const struct view *view, const struct irq *irq, const struct bitset *cpus,
                     struct named *named)
{
    const struct irqs *irqs = &view->host->irqs;
    double taken = taken_cpus(view, irqs, irq, cpus);
    if (taken < named_least || !check_append(named->numbers, sizeof(named->numbers), "%s%u",
                                             named->numbers[0] ? " " : "", irq->number))
        return;
    (void)check_append(named->names, sizeof(named->names), "%s%u (%s)", named->names[0] ? ", " : "",
                       irq->number, irq->device);
    if (!named->effective[0])
        (void)snprintf(named->effective, sizeof(named->effective), "%s", irq->effective);
    named->taken += taken;
    for (unsigned c = 0; c < irqs->ncpus; c++)
        if (irq->served[c] > 0 && bitset_test(cpus, irqs->os_cpu[c])) {
            named->a_second += irq->served[c];
            bitset_set(&named->cpus, irqs->os_cpu[c]);
        }
}

/* The worst of them, and how much it loses. */
static double worst_cpu(const struct view *view, const struct bitset *cpus, unsigned *os_cpu)
{
    const struct irqs *irqs = &view->host->irqs;
    double worst = 0;
    for (unsigned c = 0; c < irqs->ncpus; c++) {
        double lost = all_served(irqs, c) * cost_s(view, irqs, c);
        if (!bitset_test(cpus, irqs->os_cpu[c]) || lost <= worst)
            continue;
        worst = lost;
        *os_cpu = irqs->os_cpu[c];
    }
    return worst;
}

void check_interrupts(struct checker *checker)
{
    const struct view *view = checker->view;
    const struct view_process *who[FOUND_PIDS_MAX];
    struct bitset cpus = {0}, elsewhere = view->online;
    struct named named = {0};
    char list[128], command[360], evidence[200];
    unsigned os_cpu = 0;
    if (!view->host)
        return;
    host_worker_cpus(view, &cpus);
    bitset_andnot(&elsewhere, &cpus);
    double worst = worst_cpu(view, &cpus, &os_cpu);
    if (worst < HOST_LEAST || bitset_empty(&elsewhere))
        return;
    for (size_t i = 0; i < view->host->irqs.n; i++)
        name_irq(view, &view->host->irqs.irq[i], &cpus, &named);
    size_t nwho = host_who_is_on(checker, &named.cpus, who);
    (void)snprintf(command, sizeof(command),
                   "for i in %s; do echo %s | %stee /proc/irq/$i/smp_affinity_list; done",
                   named.numbers, bitset_format(&elsewhere, list, sizeof(list)), check_root(view));
    (void)snprintf(evidence, sizeof(evidence), "%.0f interrupts/s; CPU %u loses %.1f%%%s%s",
                   named.a_second, os_cpu, 100 * worst,
                   named.effective[0] ? "; effective affinity " : "", named.effective);
    const struct said said =
        said_bad(host_share(checker, named.taken), who, nwho, evidence, command);
    checker_report(
        checker, &said,
        "interrupts of devices use its CPUs, though other CPUs have no workers: %s (%s). "
        "irqbalance, if it runs, moves them back, unless IRQBALANCE_BANNED_CPULIST has these CPUs.",
        named.names, evidence);
}
