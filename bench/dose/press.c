#include "bench/dose/press.h"

static void *conduct(void *arg)
{
    struct press *press = arg;
    (void)team_run(&press->team, NULL, press->team.n, press->job, press->arg);
    return NULL;
}

static void stop_at_close(void *what)
{
    press_stop(what);
}

int press_start(struct press *press, struct bench_ctx *ctx, const unsigned *os_cpus, unsigned n,
                team_job *job, void *arg)
{
    press->job = job;
    press->arg = arg;
    int rc = team_open(&press->team, ctx, os_cpus, n);
    if (!rc)
        rc = -pthread_create(&press->conductor, NULL, conduct, press);
    if (rc)
        return err_sys(ctx->err, rc, "cannot start %u aggressors", n);
    press->running = true;
    return bench_at_close(ctx, stop_at_close, press);
}

void press_stop(struct press *press)
{
    if (!press->running)
        return;
    atomic_store(&press->stop, true);
    (void)pthread_join(press->conductor, NULL);
    press->running = false;
}
