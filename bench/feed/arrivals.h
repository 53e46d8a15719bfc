/*
 * Arrival times of requests, drawn from a seed before any request is served. So a slow server
 * does not delay later requests, as it would with clients that wait for their answers. PURE
 *
 * Poisson arrivals have independent gaps of -ln(u) / rate; bursts are `burst` requests at once,
 * with gaps of -ln(u) burst / rate between bursts. A seed draws the same gaps at every rate, scaled
 * by 1 / rate, so that only the rate differs.
 */
#ifndef CONTEND_BENCH_FEED_ARRIVALS_H
#define CONTEND_BENCH_FEED_ARRIVALS_H

#include <stddef.h>
#include <stdint.h>

enum arrivals_pattern { ARRIVALS_POISSON, ARRIVALS_BURSTS, ARRIVALS_PATTERNS };

struct arrivals_params {
    enum arrivals_pattern pattern;
    double rate;    /* requests a second, above 0 */
    uint64_t burst; /* ARRIVALS_BURSTS only: requests that come at once, 1 or more */
    uint64_t seed;
    uint64_t span_ns;
};

/*
 * Writes the arrival times in [0, span_ns), in order, in ns, and returns their number. Writes at
 * most `most` times; returns `most` + 1 if there are more. With at_ns NULL it only counts.
 */
size_t arrivals_draw(const struct arrivals_params *params, uint64_t *at_ns, size_t most);

#endif
