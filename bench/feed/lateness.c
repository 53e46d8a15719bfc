#include "bench/feed/lateness.h"

void lateness_add(struct lateness *ranks, unsigned n, const uint64_t *arrived_ns, size_t steps)
{
    for (size_t i = 0; i < steps; i++) {
        uint64_t first_ns = arrived_ns[i], last_ns = arrived_ns[i];
        unsigned last = 0;
        for (unsigned r = 1; r < n; r++) {
            uint64_t at_ns = arrived_ns[r * steps + i];
            first_ns = at_ns < first_ns ? at_ns : first_ns;
            if (at_ns > last_ns) {
                last_ns = at_ns;
                last = r;
            }
        }
        ranks[last].last++;
        ranks[last].late_ns += last_ns - first_ns;
        for (unsigned r = 0; r < n; r++)
            ranks[r].wait_ns += last_ns - arrived_ns[r * steps + i];
    }
}
