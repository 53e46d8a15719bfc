/* The last events of all logs, on one axis of time. Pure. */
#ifndef CONTEND_COMMS_VIEW_TIMELINE_H
#define CONTEND_COMMS_VIEW_TIMELINE_H

#include "harness/comms/view/merge.h"

struct comms_moment {
    uint64_t time_ns; /* when it was enqueued, since the first moment, by the clocks of machines */
    uint64_t key;     /* comms_key_unpack; its member means nothing here */
    uint64_t bytes, duration_ns; /* 0 = not timed */
    uint32_t communicator, rank; /* communicator: from 0 */
};

struct comms_timeline {
    size_t n;
    struct comms_moment *moment; /* owned, in the order of time */
    uint64_t dropped;            /* before them: sums have those, the timeline has not */
    uint64_t span_ns;            /* from the first to the last */
};

/* -ENOMEM only. */
int comms_timeline_make(const struct comms_logs *logs, const struct comms *comms,
                        struct comms_timeline *timeline, struct err *err);
void comms_timeline_free(struct comms_timeline *timeline);

#endif
