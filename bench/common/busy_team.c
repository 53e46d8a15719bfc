#include "bench/common/busy_team.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/common/team.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/busy.h"

enum { BURST = 2048 }; /* steps between checks of `stop`: microseconds */

static const uint64_t start_limit_ns = 5000000000;

struct busy_thread {
    _Alignas(128) uint64_t chains[BUSY_CHAINS];
    uint64_t steps;
    uint64_t cpu_ns, wall_ns;    /* sums over all starts */
    _Atomic unsigned generation; /* the last start in which it ran */
};

struct busy_team_state {
    struct team team;
    bool running;
    unsigned generation;
    const struct bench_machine *machine;
    _Alignas(128) _Atomic bool stop;
    struct busy_thread threads[];
};

int busy_team_open(struct busy_team *busy, const struct bench_ctx *ctx)
{
    unsigned n = ctx->machine->ncpus;
    size_t size = sizeof(struct busy_team_state) + n * sizeof(struct busy_thread);
    size = (size + 127) / 128 * 128;
    struct busy_team_state *state = aligned_alloc(128, size);
    busy->state = state;
    if (!state)
        return err_set(ctx->err, -ENOMEM, "cannot allocate %u threads' state", n);
    memset(state, 0, size);
    state->machine = ctx->machine;
    for (unsigned i = 0; i < n; i++)
        busy_begin(state->threads[i].chains, (uint64_t)i * BUSY_CHAINS);
    return team_start(&state->team, ctx, NULL, n);
}

static void compute(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    struct busy_team_state *state = arg;
    struct busy_thread *self = &state->threads[rank];
    uint64_t cpu_ns = clock_thread_cpu_ns(), wall_ns = clock_now_ns();
    do {
        busy_run(self->chains, BURST);
        self->steps += BURST;
        atomic_store_explicit(&self->generation, state->generation, memory_order_relaxed);
    } while (!atomic_load_explicit(&state->stop, memory_order_relaxed));
    self->cpu_ns += clock_thread_cpu_ns() - cpu_ns;
    self->wall_ns += clock_now_ns() - wall_ns;
}

static bool has_started(const struct busy_team_state *state, unsigned thread)
{
    return atomic_load(&state->threads[thread].generation) == state->generation;
}

int busy_team_start(struct busy_team *busy, struct err *err)
{
    struct busy_team_state *state = busy->state;
    const struct timespec nap = {.tv_nsec = 100000};
    atomic_store(&state->stop, false);
    state->generation++;
    team_begin(&state->team, NULL, state->team.n, compute, state);
    state->running = true;
    uint64_t end_ns = clock_now_ns() + start_limit_ns;
    for (unsigned i = 0; i < state->team.n; i++)
        while (!has_started(state, i)) {
            if (clock_now_ns() > end_ns) {
                busy_team_end(busy);
                return err_set(err, -ETIMEDOUT, "the load on CPU %u did not get to run",
                               state->machine->cpus[i].os_cpu);
            }
            (void)nanosleep(&nap, NULL);
        }
    return 0;
}

void busy_team_end(struct busy_team *busy)
{
    struct busy_team_state *state = busy->state;
    if (!state || !state->running)
        return;
    atomic_store(&state->stop, true);
    team_end(&state->team);
    state->running = false;
}

double busy_team_share(const struct busy_team *busy)
{
    double cpu_ns = 0, wall_ns = 0;
    for (unsigned i = 0; busy->state && i < busy->state->team.n; i++) {
        cpu_ns += (double)busy->state->threads[i].cpu_ns;
        wall_ns += (double)busy->state->threads[i].wall_ns;
    }
    return wall_ns > 0 ? cpu_ns / wall_ns : (double)NAN;
}

int busy_team_check(const struct busy_team *busy, struct err *err)
{
    const struct busy_team_state *state = busy->state;
    for (unsigned i = 0; i < state->team.n; i++)
        if (!busy_is_right(state->threads[i].chains, (uint64_t)i * BUSY_CHAINS,
                           state->threads[i].steps))
            return err_set(err, -EBADMSG, "the load on CPU %u computed a wrong number",
                           state->machine->cpus[i].os_cpu);
    return 0;
}

void busy_team_close(struct busy_team *busy)
{
    struct busy_team_state *state = busy->state;
    if (!state)
        return;
    busy_team_end(busy);
    team_stop(&state->team);
    free(state);
    busy->state = NULL;
}
