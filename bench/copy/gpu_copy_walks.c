#include "bench/copy/gpu_copy_walks.h"

#ifdef CONTEND_HAVE_CUDA

#include <errno.h>
#include <stdlib.h>

#include "bench/registry.h"
#include "kernels/gpu/gpu_chase.h"

int copy_walks_open(struct copy_walks *walks, const struct copy_shape *shape,
                    const struct copy_filter *filter, uint64_t seed, struct err *err)
{
    *walks = (struct copy_walks){.shape = shape, .seed = seed};
    walks->n = copy_chases(shape, filter, NULL, 0);
    walks->chases = calloc(walks->n + 1, sizeof(*walks->chases));
    walks->ns = calloc(walks->n + 1, sizeof(*walks->ns));
    if (!walks->chases || !walks->ns)
        return err_set(err, -ENOMEM, "cannot allocate %zu chains of loads", walks->n);
    (void)copy_chases(shape, filter, walks->chases, walks->n);
    return 0;
}

static bool has_gpus(const struct gpu_set *set, const struct copy_chase *chase)
{
    return gpu_set_has(set, chase->gpu) &&
           (chase->mem != CHASE_PEER || gpu_set_has(set, chase->peer));
}

/* The chain uses the memory that copies write to. */
static void *memory_of(const struct copy_job *job, const struct copy_chase *chase)
{
    if (chase->mem == CHASE_HOST)
        return copy_host_to(job->host, COPY_PINNED, chase->gpu, job->host->shape->home[chase->gpu]);
    return gpu_copy_target(job->copy, chase->mem == CHASE_PEER ? chase->peer : chase->gpu);
}

struct walk {
    struct copy_job *job;
    const struct copy_chase *chase;
    uint64_t seed;
    double ns;
};

static void walk_run(void *any_walk)
{
    struct walk *walk = any_walk;
    struct copy_job *job = walk->job;
    job->rc =
        gpu_chase(job->set->machine->gpus[walk->chase->gpu].pci_bdf, memory_of(job, walk->chase),
                  copy_host_bytes(job->host, COPY_PINNED), walk->seed, &walk->ns, &job->err);
}

void copy_walks_measure(struct copy_walks *walks, size_t i, struct copy_job *job, struct team *team,
                        struct gpu_set *set)
{
    const struct copy_chase *chase = &walks->chases[i];
    struct walk walk = {.job = job, .chase = chase, .seed = walks->seed};
    if (!has_gpus(set, chase))
        return;
    team_call(team, walks->shape->home[chase->gpu], walk_run, &walk);
    walks->ns[i] = walk.ns;
    if (!job->rc)
        return;
    const struct dims at = copy_chase_dims(walks->shape, chase);
    (void)gpu_error_of(job->rc, dims_format(&bench_gpu_copy, &at), &job->err);
    set->why = job->err;
    (void)gpu_set_drop(set, chase->gpu, job->rc);
}

void copy_walks_emit(struct bench_ctx *ctx, const struct copy_walks *walks, size_t i,
                     unsigned metric, const struct gpu_set *set)
{
    if (has_gpus(set, &walks->chases[i]))
        bench_emit(ctx, metric, walks->ns[i], copy_chase_dims(walks->shape, &walks->chases[i]));
}

void copy_walks_close(struct copy_walks *walks)
{
    free(walks->ns);
    free(walks->chases);
    *walks = (struct copy_walks){0};
}

#endif
