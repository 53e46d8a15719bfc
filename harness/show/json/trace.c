#include "harness/show/json/trace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "harness/lib/text.h"
#include "harness/verdict/odd.h"

enum { STEPS = 0, HOLD_NS = 20000000 };

struct trace {
    struct strbuf out;
    const struct arm *arm;
    uint64_t origin_ns;
    unsigned pid;
};

/* Microseconds since the origin. */
static double at_us(const struct trace *trace, uint64_t ns)
{
    return ((double)ns - (double)trace->origin_ns) * 1e-3;
}

static void begin_event(struct trace *trace, char phase, unsigned tid)
{
    strbuf_addf(&trace->out, "%s{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u",
                trace->out.length ? ",\n" : "", phase, trace->pid, tid);
}

static void add_span(struct trace *trace, unsigned tid, const char *category, double us,
                     double took_us)
{
    begin_event(trace, 'X', tid);
    strbuf_addf(&trace->out, ",\"cat\":\"%s\",\"ts\":%.3f,\"dur\":%.3f", category, us, took_us);
}

/* Names of benchmarks, placements and stages are letters, so none needs an escape. */
static void name_event(struct trace *trace, unsigned tid, const char *kind, const char *name,
                       int number)
{
    begin_event(trace, 'M', tid);
    strbuf_addf(&trace->out, ",\"name\":\"%s\",\"args\":{\"name\":\"%s", kind, name);
    if (number >= 0)
        strbuf_addf(&trace->out, " %d", number);
    strbuf_adds(&trace->out, "\"}}");
}

static void add_arm(struct trace *trace, const struct result *result,
                    const struct observation *observation)
{
    uint64_t end_ns = observation->start_ns;
    for (unsigned w = 0; w < observation->nworkers; w++)
        end_ns = observation->workers[w].end_ns > end_ns ? observation->workers[w].end_ns : end_ns;
    trace->pid = 0;
    name_event(trace, 0, "process_name", "contend", -1);
    add_span(trace, 0, "arm", at_us(trace, observation->start_ns),
             (double)(end_ns - observation->start_ns) * 1e-3);
    strbuf_addf(&trace->out, ",\"name\":\"%s: %s\",\"args\":{\"device\":\"%s\",\"workers\":%u}}",
                trace->arm->bench->name, statuses_name_arm(result, trace->arm),
                device_name(arm_device(result, trace->arm)), trace->arm->workers);
}

/* Draws the stages in sequence, and cuts a stage that rounding would let exceed the step. */
static void add_stages(struct trace *trace, const struct sample *sample,
                       const struct stage_step *staged)
{
    double us = at_us(trace, sample->start_ns), end_us = us + (double)sample->elapsed_ns * 1e-3;
    const struct bench_stage *stages = trace->arm->bench->stages;
    for (unsigned s = 0; stages[s].name; s++) {
        double took_us = (double)staged->ns[s] * 1e-3;
        took_us = us + took_us < end_us ? took_us : end_us - us;
        if (!(took_us > 0))
            continue;
        add_span(trace, STEPS, "stage", us, took_us);
        strbuf_addf(&trace->out, ",\"name\":\"%s\"}", stages[s].name);
        us += took_us;
    }
}

static void add_steps(struct trace *trace, const struct worker_result *worker)
{
    for (size_t i = 0; i < worker->nsamples; i++) {
        const struct sample *sample = &worker->samples[i];
        bool cut = worker->censored && i + 1 == worker->nsamples;
        add_span(trace, STEPS, "step", at_us(trace, sample->start_ns),
                 (double)sample->elapsed_ns * 1e-3);
        strbuf_addf(&trace->out,
                    ",\"name\":\"step%s\",\"args\":{\"iterations\":%" PRIu64
                    ",\"device_us\":%.3f}}",
                    cut ? ", cut off" : "", sample->iters, (double)sample->device_ns * 1e-3);
        if (i < worker->nstaged && trace->arm->bench->stages)
            add_stages(trace, sample, &worker->staged[i]);
    }
}

/* Index of the thread's next sample within HOLD_NS, in samples sorted by time; `i` = none. */
static size_t next_of(const struct worker_result *worker, size_t i, size_t n)
{
    for (size_t k = i + 1;
         k < n && worker->cpu_samples[k].at_ns - worker->cpu_samples[i].at_ns < HOLD_NS; k++)
        if (worker->cpu_samples[k].thread == worker->cpu_samples[i].thread)
            return k;
    return i;
}

/* Consecutive samples of a thread on the same CPU become one span. */
static void add_cpus(struct trace *trace, const struct worker_result *worker)
{
    size_t n = worker->ncpu_samples < TRACE_VISITS ? worker->ncpu_samples : TRACE_VISITS;
    bool *done = calloc(n + 1, sizeof(*done));
    if (!done) {
        trace->out.failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct cpu_sample_point *first = &worker->cpu_samples[i];
        uint64_t end_ns = first->at_ns + HOLD_NS;
        if (done[i])
            continue;
        for (size_t at = i, next = next_of(worker, at, n); next != at;
             at = next, next = next_of(worker, at, n)) {
            const struct cpu_sample_point *seen = &worker->cpu_samples[next];
            bool stays = seen->os_cpu == first->os_cpu;
            end_ns = seen->at_ns + (stays ? HOLD_NS : 0);
            if (!stays)
                break;
            done[next] = true;
        }
        end_ns = end_ns < worker->end_ns || first->at_ns > worker->end_ns ? end_ns : worker->end_ns;
        add_span(trace, 1 + first->thread, "cpu", at_us(trace, first->at_ns),
                 (double)(end_ns - first->at_ns) * 1e-3);
        strbuf_addf(&trace->out, ",\"name\":\"CPU %u\"}", first->os_cpu);
    }
    free(done);
}

static void add_names(struct trace *trace, const struct worker_result *worker, unsigned number)
{
    unsigned threads = 0;
    for (size_t i = 0; i < worker->ncpu_samples; i++)
        threads =
            worker->cpu_samples[i].thread >= threads ? worker->cpu_samples[i].thread + 1 : threads;
    name_event(trace, STEPS, "process_name", worker->background ? "background worker" : "worker",
               (int)number);
    name_event(trace, STEPS, "thread_name", "steps", -1);
    for (unsigned t = 0; t < threads; t++)
        name_event(trace, 1 + t, "thread_name", "CPUs of thread", (int)t);
}

char *trace_events(const struct result *result, const struct arm *arm,
                   const struct observation *observation, uint64_t origin_ns)
{
    struct trace trace = {.arm = arm, .origin_ns = origin_ns};
    unsigned behind = 0;
    add_arm(&trace, result, observation);
    for (unsigned w = 0; w < observation->nworkers; w++) {
        const struct worker_result *worker = &observation->workers[w];
        unsigned number = worker->background ? behind++ : observation->slot + w;
        trace.pid = (worker->background ? TRACE_BACKGROUND : 1) + number;
        add_names(&trace, worker, number);
        add_steps(&trace, worker);
        add_cpus(&trace, worker);
    }
    return strbuf_take(&trace.out);
}
