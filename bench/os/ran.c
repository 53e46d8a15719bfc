#include "bench/os/ran.h"

#include <stddef.h>

#include "harness/lib/sys/clock.h"
#include "kernels/cpu/busy.h"

void ran_busy(const struct ran *ran, uint64_t *ns, uint64_t cpu_ns, uint64_t end_ns)
{
    enum { BURST = 256 }; /* about a microsecond */
    uint64_t chains[BUSY_CHAINS] = {1};
    uint64_t first_ns = clock_thread_cpu_ns(), last_ns = first_ns, used_ns, now_ns;
    do {
        busy_run(chains, BURST);
        now_ns = clock_now_ns();
        used_ns = clock_thread_cpu_ns();
        uint64_t bin = (now_ns - ran->start_ns) / ran->bin_ns;
        if (ns && bin < ran->nbins)
            ns[bin] += used_ns - last_ns;
        last_ns = used_ns;
    } while (used_ns - first_ns < cpu_ns && now_ns < end_ns);
}
