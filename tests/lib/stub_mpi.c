/* In place of an MPI library: ranks poll a shared page until all have arrived, as MPI_Barrier does.
 * As in Open MPI, OMPI_MCA_mpi_yield_when_idle lets them yield meanwhile. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

struct stub_page {
    atomic_int arrived, turn;
};

/* Returns true in the rank that came last. */
int stub_barrier(struct stub_page *page, int nranks);

int stub_barrier(struct stub_page *page, int nranks)
{
    const char *yields = getenv("OMPI_MCA_mpi_yield_when_idle");
    const int now = atomic_load(&page->turn);
    if (atomic_fetch_add(&page->arrived, 1) == nranks - 1) {
        atomic_store(&page->arrived, 0);
        atomic_fetch_add(&page->turn, 1);
        return 1;
    }
    while (atomic_load(&page->turn) == now)
        if (yields)
            (void)sched_yield();
    return 0;
}
