/*
 * When requests come, drawn from a seed before any is served: whoever serves them cannot delay the
 * next ones, as a client would that waits for its answer. PURE
 *
 * Poisson arrivals have independent gaps of -ln(u) / rate; bursts are `burst` requests at once,
 * with gaps of -ln(u) burst / rate between them. One seed draws the same gaps at every rate, only
 * shorter or longer, so that what differs between rates is the rate.
 */
#ifndef CONTEND_BENCH_FEED_ARRIVALS_H
#define CONTEND_BENCH_FEED_ARRIVALS_H

#include <stddef.h>
#include <stdint.h>

enum arrivals_pattern { ARRIVALS_POISSON, ARRIVALS_BURSTS, ARRIVALS_PATTERNS };

struct arrivals_params {
    enum arrivals_pattern pattern;
    double rate;    /* requests a second, above 0 */
    uint64_t burst; /* of ARRIVALS_BURSTS: requests that come at once, 1 or more */
    uint64_t seed;
    uint64_t span_ns;
};

/*
 * The times from 0 to before span_ns, in order, in ns; the return value is how many there are. At
 * most `most` are written, and `most` + 1 is returned where there are more; NULL with `most`
 * large counts them.
 */
size_t arrivals_draw(const struct arrivals_params *params, uint64_t *at_ns, size_t most);

#endif
