/*
 * How late a rank comes to an operation because its CPU is late. The device records when its stream
 * is free for the operation. A host that is preempted inside the launching call may complete the
 * launch long after that. Pure: reads no clock.
 *
 *   device:  begin -------- waits for the launch ------- | kernel | end
 *   host:    call ----------- preempted ---------------- launched
 *
 * The two clocks are compared before the first operation and after the last one.
 */
#ifndef CONTEND_KERNELS_COLLECTIVE_COLLECTIVE_LAG_H
#define CONTEND_KERNELS_COLLECTIVE_COLLECTIVE_LAG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One comparison of clocks: the device's read device_us between before_ns and after_ns (host). */
struct collective_clock_pair {
    uint64_t before_ns, after_ns;
    double device_us;
};

/*
 * Time from begin_us (device's clock) until the host had launched the operation, less 20 us for a
 * normal launch, or less the uncertainty of the clocks if that is larger; at least 0. 0 also if the
 * operation had ended by then: the host was preempted after the launch.
 */
double collective_lag_us(const struct collective_clock_pair clock_pairs[2], uint64_t launched_ns,
                         double begin_us, double end_us);

#ifdef __cplusplus
}
#endif

#endif
