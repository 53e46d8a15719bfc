/*
 * Who came late to an operation because its CPU did: the device begins to wait for it when its
 * stream is free, which it notes itself, and the host, preempted inside the call that launches it,
 * may be done with the launch long after that. Pure.
 *
 *   device:  begin -------- waits for the launch ------- | kernel | end
 *   host:    call ----------- preempted ---------------- launched
 *
 * The two clocks are compared before the first operation and behind the last one.
 */
#ifndef CONTEND_KERNELS_COLLECTIVE_COLLECTIVE_LAG_H
#define CONTEND_KERNELS_COLLECTIVE_COLLECTIVE_LAG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* On the device's clock it was device_us when the host's was between before_ns and after_ns. */
struct collective_look {
    uint64_t before_ns, after_ns;
    double device_us;
};

/*
 * Time from begin_us, on the device's clock, to when the host had launched the operation, less 20
 * us, which a launch takes, or less what the clocks cannot tell. 0 where the operation had ended by
 * then: the host was held up behind the launch.
 */
double collective_lag_us(const struct collective_look looks[2], uint64_t launched_ns,
                         double begin_us, double end_us);

#ifdef __cplusplus
}
#endif

#endif
