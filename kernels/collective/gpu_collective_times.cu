#include "kernels/collective/gpu_collective_impl.cuh"

#include <cerrno>
#include <ctime>

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/* Compares both clocks while the stream is idle; repeats it if the host was interrupted. */
static cudaError_t compare_clocks(struct gpu_collective_rank *rank, unsigned which)
{
    enum { TRIES = 10, QUICK_NS = 20000 };
    struct collective_clock_pair *clock_pair = &rank->clock_pairs[which];
    cudaError_t error = cudaSuccess;
    for (unsigned i = 0; i < TRIES && error == cudaSuccess; i++) {
        clock_pair->before_ns = now_ns();
        error = cudaEventRecord(rank->clock_event[which], rank->stream);
        while (error == cudaSuccess &&
               (error = cudaEventQuery(rank->clock_event[which])) == cudaErrorNotReady)
            error = cudaSuccess;
        clock_pair->after_ns = now_ns();
        if (clock_pair->after_ns - clock_pair->before_ns <= QUICK_NS)
            break;
    }
    return error;
}

static int compare_all_clocks(struct gpu_collective *gc, unsigned which, struct err *err)
{
    int rc = 0;
    for (unsigned k = 0; k < gc->local && !rc; k++)
        rc = gpu_collective_cuda(gc, k, compare_clocks(&gc->rank[k], which),
                                 "cannot compare its clock", err);
    return rc;
}

static int record_all(struct gpu_collective *gc, unsigned i, bool is_end, struct err *err)
{
    int rc = 0;
    for (unsigned k = 0; k < gc->local && !rc; k++) {
        struct gpu_collective_rank *rank = &gc->rank[k];
        cudaEvent_t event = is_end ? rank->end[i] : rank->begin[i];
        rc = gpu_collective_cuda(gc, k, cudaEventRecord(event, rank->stream),
                                 "cannot record an event", err);
    }
    return rc;
}

static int enqueue_timed(struct gpu_collective *gc, unsigned iters, struct err *err)
{
    int rc = 0;
    for (unsigned i = 0; i < iters && !rc; i++) {
        rc = record_all(gc, i, false, err);
        if (!rc)
            rc = gpu_collective_issue(gc, i, err);
        gc->launched_ns[i] = now_ns();
        if (!rc)
            rc = record_all(gc, i, true, err);
        if (!rc && gc->call.queue && (i + 1) % gc->call.queue == 0)
            rc = gpu_collective_wait(gc, err);
    }
    return rc;
}

/* *us: time of an event on the device's clock, since the first comparison. */
static cudaError_t read_us(const struct gpu_collective_rank *rank, cudaEvent_t event, double *us)
{
    float ms = 0;
    cudaError_t error = cudaEventElapsedTime(&ms, rank->clock_event[0], event);
    *us = 1e3 * ms;
    return error;
}

static cudaError_t read_times(const struct gpu_collective *gc, struct gpu_collective_rank *rank,
                              unsigned iters, float *busy_us, float *period_us)
{
    cudaError_t error = read_us(rank, rank->clock_event[1], &rank->clock_pairs[1].device_us);
    rank->clock_pairs[0].device_us = 0;
    for (unsigned i = 0; i < iters && error == cudaSuccess; i++) {
        float busy_ms = 0, period_ms = 0;
        double begin_us = 0;
        error = read_us(rank, rank->begin[i], &begin_us);
        if (error == cudaSuccess)
            error = cudaEventElapsedTime(&busy_ms, rank->begin[i], rank->end[i]);
        if (error == cudaSuccess)
            error = cudaEventElapsedTime(&period_ms, i ? rank->end[i - 1] : rank->begin[i],
                                         rank->end[i]);
        double lag_us = collective_lag_us(rank->clock_pairs, gc->launched_ns[i], begin_us,
                                          begin_us + 1e3 * busy_ms);
        busy_us[i] = 1e3f * busy_ms - static_cast<float>(lag_us);
        period_us[i] = 1e3f * period_ms;
    }
    return error;
}

int gpu_collective_time_each(struct gpu_collective *gc, unsigned iters, float *busy_us,
                             float *period_us, struct err *err)
{
    if (iters > gc->times_most) {
        return err_set(err, -EINVAL, "%u operations to time, at most %u", iters, gc->times_most);
    }
    int rc = compare_all_clocks(gc, 0, err);
    if (!rc)
        rc = enqueue_timed(gc, iters, err);
    if (!rc)
        rc = gpu_collective_wait(gc, err);
    if (!rc)
        rc = compare_all_clocks(gc, 1, err);
    for (unsigned k = 0; k < gc->local && !rc; k++)
        rc = gpu_collective_cuda(gc, k,
                                 read_times(gc, &gc->rank[k], iters, busy_us + (size_t)k * iters,
                                            period_us + (size_t)k * iters),
                                 "time between events", err);
    return rc;
}
