#include "kernels/cpu/regions.h"

#include <omp.h>

void regions_share(struct regions_thread *thread, unsigned rank, unsigned team, uint64_t steps)
{
    uint64_t mine = steps / team + (rank < steps % team);
    busy_run(thread[rank].chains, mine);
    thread[rank].steps += mine;
}

unsigned regions_run(struct regions_thread *thread, unsigned threads, uint64_t steps,
                     void (*mark)(void *arg), void *arg)
{
    unsigned team = 0;
#pragma omp parallel num_threads(threads)
    {
        unsigned rank = (unsigned)omp_get_thread_num(), n = (unsigned)omp_get_num_threads();
        if (mark)
            mark(arg);
        regions_share(thread, rank, n, steps);
        if (rank == 0)
            team = n;
    }
    return team;
}
