#include "bench/dose/press.h"

static void stop_at_close(void *what)
{
    press_stop(what);
}

int press_start(struct press *press, struct bench_ctx *ctx, const unsigned *os_cpus, unsigned n,
                team_job *job, void *arg)
{
    int rc = team_open(&press->team, ctx, os_cpus, n);
    if (rc)
        return rc;
    team_begin(&press->team, NULL, n, job, arg);
    press->running = true;
    return bench_at_close(ctx, stop_at_close, press);
}

void press_stop(struct press *press)
{
    if (!press->running)
        return;
    atomic_store(&press->stop, true);
    team_end(&press->team);
    press->running = false;
}
