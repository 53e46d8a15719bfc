#include "harness/comms/cause.h"

#include <math.h>

#include "harness/lib/text.h"

/* ---- the parts of a rank's time ---- */

static double per(uint64_t from, uint64_t to, double ns)
{
    return to > from ? (double)(to - from) / ns : 0;
}

/* Newer kernels count the time of a quota as sleep, older ones as time in the run queue. */
static void split(struct comms_spent *spent, double on_cpu, double queue, double throttled)
{
    double *share = spent->share, all = fmax(1, on_cpu + queue); /* two threads may run at once */
    share[COMMS_ON_CPU] = on_cpu / all;
    share[COMMS_IN_QUEUE] = queue / all;
    share[COMMS_ASLEEP] = fmax(0, 1 - share[COMMS_ON_CPU] - share[COMMS_IN_QUEUE]);
    share[COMMS_THROTTLED] = fmin(throttled, share[COMMS_IN_QUEUE] + share[COMMS_ASLEEP]);
    double in_queue = fmin(share[COMMS_THROTTLED], share[COMMS_IN_QUEUE]);
    share[COMMS_IN_QUEUE] -= in_queue;
    share[COMMS_ASLEEP] -= share[COMMS_THROTTLED] - in_queue;
}

/* The thread with most of the member's looks, if it has more than half (Boyer and Moore, MJRTY,
 * 1991); else one of them. */
struct comms_spent comms_spent_find(const struct comms_log *log, uint32_t member, uint64_t begin_ns,
                                    uint64_t end_ns)
{
    enum { LOOKS_LEAST = 10 };
    const struct comms_look *first = NULL, *last = NULL;
    struct comms_spent spent = {0};
    uint32_t tid = 0;
    int votes = 0, n = 0;
    for (const struct comms_look *look = log->look; look < log->look + log->nlooks; look++) {
        tid = votes || look->member != member ? tid : look->tid;
        if (look->member == member)
            votes += look->tid == tid ? 1 : -1;
    }
    for (const struct comms_look *look = log->look; look < log->look + log->nlooks; look++) {
        if (look->tid != tid || look->time_ns < begin_ns || look->time_ns > end_ns)
            continue;
        first = n++ ? first : look;
        last = look;
    }
    if (n < LOOKS_LEAST || last->time_ns <= first->time_ns)
        return spent;
    const double ns = (double)(last->time_ns - first->time_ns);
    spent.seconds = ns * 1e-9;
    spent.cpus = last->cpus;
    spent.cpus_used = per(first->process_ns, last->process_ns, ns);
    spent.major_faults = per(first->major_faults, last->major_faults, spent.seconds);
    spent.read_bytes = per(first->read_bytes, last->read_bytes, spent.seconds);
    split(&spent, per(first->cpu_ns, last->cpu_ns, ns), per(first->queue_ns, last->queue_ns, ns),
          per(first->throttled_ns, last->throttled_ns, ns));
    return spent;
}

/* ---- the cause ---- */

/* Extra time below these shares, of the time and of what the rank is behind, is chance. A rank that
 * is behind at each of several calls of a step is behind once, so the second one is small. */
static const double least_of_time = 0.005, least_of_behind = 0.15;
/* The largest part is the cause from this share of the extra time on. */
static const double most_of_extra = 0.5;
/* Only a part with more than this share of the time can hide a wait. */
static const double nearly_only = 0.8;

struct comms_cause comms_cause_find(const struct comms_spent *late, const struct comms_spent *first,
                                    double behind)
{
    struct comms_cause cause = {COMMS_PARTS, NAN};
    enum comms_part only = COMMS_PARTS;
    double extra = 0, most = 0;
    if (!(late->seconds > 0) || !(first->seconds > 0))
        return cause;
    for (int part = 0; part < COMMS_PARTS; part++) {
        double more = fmax(0, late->share[part] - first->share[part]);
        extra += more;
        cause.part = more > most ? (enum comms_part)part : cause.part;
        most = fmax(most, more);
        only = late->share[part] > nearly_only ? (enum comms_part)part : only;
    }
    if (extra < least_of_time || extra < least_of_behind * behind)
        return (struct comms_cause){only, NAN};
    cause.of_extra = most / extra;
    cause.part = cause.of_extra < most_of_extra ? COMMS_PARTS : cause.part;
    return cause;
}

const char *comms_cause_name(enum comms_part part)
{
    static const char *const names[] = {"cpu", "run_queue", "throttled", "sleep", ""};
    return names[part];
}

/* ---- for people ---- */

static const char *detail(enum comms_part part, const struct comms_spent *late,
                          const struct comms_spent *first)
{
    /* Disks answer within 20 ms, and read over 10 MB/s. */
    const double nearly_all = 0.85, fault_s = 0.02, disk_rate = 1e7;
    const double asleep = late->share[COMMS_ASLEEP], read = late->read_bytes - first->read_bytes;
    if (part == COMMS_ON_CPU)
        return ": more work, or it spins for the GPU";
    if (part == COMMS_THROTTLED)
        return "";
    if (late->cpus && late->cpus_used >= nearly_all * late->cpus)
        return str_fmt("; its own threads use all of its %u CPU%s", late->cpus,
                       late->cpus == 1 ? "" : "s");
    if (part == COMMS_IN_QUEUE)
        return "; other processes use its CPUs";
    if ((late->major_faults - first->major_faults) * fault_s > asleep)
        return str_fmt("; %.3g page faults a second read from disk or swap", late->major_faults);
    if (read > disk_rate * asleep)
        return str_fmt("; it reads %sB/s from disk", units_si(read));
    return ": for I/O, a lock, another process or the GPU";
}

const char *comms_cause_text(const struct comms_cause *cause, const struct comms_spent *late,
                             const struct comms_spent *first, uint32_t first_rank)
{
    static const char *const does[] = {"runs on a CPU for", "waits in the run queue for",
                                       "is stopped by a CPU quota for", "sleeps for"};
    const char *extra = isnan(cause->of_extra)
                            ? ""
                            : str_fmt(" (%s of its extra time)", text_percent(cause->of_extra));
    return str_fmt("%s %s of its time, rank %u%s for %s%s%s", does[cause->part],
                   text_percent(late->share[cause->part]), first_rank,
                   extra[0] ? "" : ", which waits,", text_percent(first->share[cause->part]), extra,
                   detail(cause->part, late, first));
}
