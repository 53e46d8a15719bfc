#include "kernels/cpu/regions.h"

#include <omp.h>
#include <stddef.h>

unsigned regions_run(struct regions_thread *thread, unsigned threads, uint64_t steps,
                     void (*mark)(void *arg), void *arg)
{
    unsigned team = 0;
#pragma omp parallel num_threads(threads)
    {
        uint64_t rank = (uint64_t)omp_get_thread_num(), n = (uint64_t)omp_get_num_threads();
        uint64_t mine = steps / n + (rank < steps % n);
        if (mark)
            mark(arg);
        busy_run(thread[rank].chains, mine);
        thread[rank].steps += mine;
        if (rank == 0)
            team = (unsigned)n;
    }
    return team;
}
