#include "bench/feed/arrivals.h"

#include <math.h>

#include "harness/lib/random.h"

/* In (0, 1], so that its logarithm is finite. */
static double draw_unit(uint64_t *state)
{
    return random_share(state) + 0x1p-53;
}

size_t arrivals_draw(const struct arrivals_params *params, uint64_t *at_ns, size_t most)
{
    uint64_t at_once = params->pattern == ARRIVALS_BURSTS ? params->burst : 1;
    uint64_t state = params->seed;
    double gap_ns = 1e9 * (double)at_once / params->rate, now_ns = 0;
    size_t n = 0;
    for (;;) {
        now_ns -= gap_ns * log(draw_unit(&state));
        if (!(now_ns < (double)params->span_ns))
            return n;
        for (uint64_t i = 0; i < at_once; i++, n++) {
            if (n == most)
                return most + 1;
            if (at_ns)
                at_ns[n] = (uint64_t)now_ns;
        }
    }
}
