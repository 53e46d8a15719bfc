#include "harness/doctor/doctor_meter.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <time.h>

#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/log.h"

const double meter_settle_s = 1, meter_shortest_s = 1.5;

/* Steps or numbers that suffice for the rate of a worker: starts differ by more than this error. */
enum { STEPS_ENOUGH = 20 };

int meter_rest(double seconds, struct signals *signals, struct err *err)
{
    const uint64_t end_ns = clock_now_ns() + (uint64_t)(seconds * 1e9);
    for (uint64_t now_ns = clock_now_ns(); now_ns < end_ns; now_ns = clock_now_ns()) {
        const uint64_t left_ns = end_ns - now_ns;
        const struct timespec left = {(time_t)(left_ns / 1000000000), (long)(left_ns % 1000000000)};
        struct pollfd signal = {.fd = signals->fd, .events = POLLIN};
        (void)ppoll(&signal, 1, &left, NULL);
        if (signals_take(signals) || signals->stop_requested)
            return err_set(err, -EINTR, "interrupted");
    }
    return 0;
}

int meter_open(const struct opt_texts *texts, bool starts_job, bool less_is_better,
               struct signals *signals, struct meter *meter, struct err *err)
{
    *meter = (struct meter){0};
    if (texts->n > METER_MOST)
        return err_set(err, -EINVAL, "--verify at most %d times", METER_MOST);
    for (size_t i = 0; i < texts->n; i++) {
        struct metric *metric = &meter->all[meter->n++];
        int rc = metric_parse(texts->text[i], starts_job, metric, err);
        if (rc)
            return rc;
        bool is_number = metric->kind == METRIC_FILE || metric->kind == METRIC_RATE;
        if (metric->kind != meter->all[0].kind)
            return err_set(err, -EINVAL,
                           "'%.60s' and '%.60s' cannot be summed: give all workers one kind of "
                           "metric",
                           texts->text[0], texts->text[i]);
        if (less_is_better && !is_number)
            return err_set(err, -EINVAL, "--less-is-better needs --verify file: or rate:");
        metric->is_cost = less_is_better;
        metric->signals = signals;
    }
    return 0;
}

void meter_free(struct meter *meter)
{
    for (size_t i = 0; i < meter->n; i++)
        metric_free(&meter->all[i]);
    meter->n = 0;
}

static int look(struct meter *meter, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < meter->n && !rc; i++)
        rc = metric_look(&meter->all[i], err);
    return rc;
}

static int watch_until(struct meter *meter, double until_s, struct signals *signals,
                       struct err *err)
{
    double period_s = metric_period_s(&meter->all[0]);
    int rc = 0;
    for (double left_s = until_s - clock_now_s(); !rc && left_s > 0;
         left_s = until_s - clock_now_s()) {
        rc = meter_rest(fmin(period_s, left_s), signals, err);
        if (!rc)
            rc = look(meter, err);
        progress_tick();
    }
    return rc;
}

static int sum_rates(const struct meter *meter, double from_s, double to_s, double *rate,
                     struct err *err)
{
    *rate = 0;
    for (size_t i = 0; i < meter->n; i++)
        *rate += metric_rate(&meter->all[i], from_s, to_s);
    if (!(*rate > 0))
        return err_set(err, -ENODATA,
                       "the job reported too little in a block of %.1f s: it takes two steps or "
                       "numbers; measure longer, such as --block %.0f --max-time %.0f",
                       to_s - from_s + meter_settle_s, 5 * (to_s - from_s), 60 * (to_s - from_s));
    return 0;
}

static bool has_enough(const struct meter *meter, double from_s, double to_s)
{
    bool enough = true;
    for (size_t i = 0; i < meter->n; i++)
        enough &= gain_count(meter->all[i].samples, meter->all[i].n, from_s, to_s) >= STEPS_ENOUGH;
    return enough;
}

int meter_measure(struct meter *meter, double least_s, double most_s, struct reader *reader,
                  struct signals *signals, double *rate, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < meter->n && !rc; i++)
        rc = metric_begin(&meter->all[i], err);
    double begin_s = clock_now_s(), from_s = begin_s + meter_settle_s, to_s = begin_s + least_s;
    if (!rc)
        rc = watch_until(meter, from_s, signals, err);
    if (!rc)
        rc = reader_mark(reader, err);
    if (!rc)
        rc = watch_until(meter, to_s, signals, err);
    while (!rc && to_s < begin_s + most_s && !has_enough(meter, from_s, to_s)) {
        to_s = fmin(to_s + metric_period_s(&meter->all[0]), begin_s + most_s);
        rc = watch_until(meter, to_s, signals, err);
    }
    if (!rc)
        rc = reader_tick(reader, READER_WHOLE, err);
    return rc ? rc : sum_rates(meter, from_s, to_s, rate, err);
}

int meter_await(struct meter *meter, double until_s, bool (*alive)(void *arg), void *arg,
                struct signals *signals, struct err *err)
{
    struct err why = {.msg = "it reported nothing"};
    for (;;) {
        const bool runs = alive(arg); /* comes first: a job that ends may have reported before */
        size_t nready = 0;
        for (size_t i = 0; i < meter->n; i++)
            nready += !metric_look(&meter->all[i], &why) && metric_has_progress(&meter->all[i]);
        if (nready == meter->n)
            return 0;
        if (!runs)
            return err_set(err, -ECHILD, "the job ended before it reported its speed (%.120s)",
                           why.msg);
        if (clock_now_s() >= until_s)
            return err_set(
                err, -ETIME,
                "the job did not report its speed in time (%.100s); allow more by --max-time",
                why.msg);
        int rc = meter_rest(metric_period_s(&meter->all[0]), signals, err);
        if (rc)
            return rc;
    }
}
