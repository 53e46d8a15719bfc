#include "bench/gpu/gpu_set.h"

#include <string.h>

#include "bench/gpu/gpu.h"
#include "harness/lib/sys/log.h"

void gpu_set_init(struct gpu_set *set, const struct bench_machine *machine)
{
    memset(set, 0, sizeof(*set));
    set->machine = machine;
    set->n = machine->ngpus < GPU_SET_MAX ? machine->ngpus : GPU_SET_MAX;
}

unsigned gpu_set_left(const struct gpu_set *set)
{
    unsigned left = 0;
    for (unsigned gpu = 0; gpu < set->n; gpu++)
        left += gpu_set_has(set, gpu);
    return left;
}

bool gpu_set_runs(const struct gpu_set *set, const struct gpu_group *group)
{
    return group->all ? gpu_set_left(set) > 1 : gpu_set_has(set, group->first);
}

int gpu_set_drop(struct gpu_set *set, unsigned gpu, int rc)
{
    if (!rc || !gpu_set_has(set, gpu))
        return rc;
    set->dropped[gpu] = set->why;
    (void)gpu_error_of(rc, gpu_name(set->machine, set->machine->gpus[gpu].pci_bdf),
                       &set->dropped[gpu]);
    log_warn("left out: %s", set->dropped[gpu].msg);
    return rc;
}

int gpu_set_check(const struct gpu_set *set, struct err *err)
{
    if (gpu_set_left(set) > 0 || set->n == 0)
        return 0;
    return err_set(err, set->dropped[0].code, "%s", set->dropped[0].msg);
}

void gpu_set_emit(struct bench_ctx *ctx, const struct gpu_set *set, unsigned metric,
                  unsigned by_gpu)
{
    for (unsigned gpu = 0; gpu < set->n; gpu++)
        if (!gpu_set_has(set, gpu))
            (void)bench_emit_absent(ctx, metric, &set->dropped[gpu], DIMS({by_gpu, gpu}));
}

#ifdef CONTEND_HAVE_CUDA

#include "kernels/gpu/gpu_common.h"

void gpu_set_open(struct gpu_set *set, const struct bench_machine *machine)
{
    gpu_set_init(set, machine);
    for (unsigned gpu = 0; gpu < set->n; gpu++) {
        int rc = gpu_check(machine->gpus[gpu].pci_bdf, &set->why);
        (void)gpu_set_drop(set, gpu, rc);
    }
}

#endif
