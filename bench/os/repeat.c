#include "bench/os/repeat.h"

#include "harness/lib/stats.h"

enum { WARM_SHARE = 4 };

static const uint64_t batch_least_ns = 100000;

const size_t working_set_sizes[WORKING_SETS] = {0, 16 << 10, 256 << 10, WORKING_SET_MOST};

const char *const working_set_names[] = {"all", "0", "16K", "256K", "4M", NULL};

double repeat_time(struct repeat *repeat, repeat_batch *batch, void *arg)
{
    uint64_t least_ns = repeat->slice_ns / REPEAT_BATCHES, spent_ns = 0, n = 1, took_ns = 1;
    least_ns = least_ns < batch_least_ns ? batch_least_ns : least_ns;
    repeat->nbatches = 0;
    repeat->items = 0;
    while (spent_ns < repeat->slice_ns / WARM_SHARE && took_ns) {
        took_ns = batch(arg, n);
        spent_ns += took_ns;
        n *= took_ns < least_ns ? 2 : 1;
    }
    while (took_ns && repeat->nbatches < REPEAT_BATCHES &&
           (spent_ns < repeat->slice_ns || !repeat->nbatches)) {
        took_ns = batch(arg, n);
        spent_ns += took_ns;
        if (!took_ns)
            break;
        repeat->items += n;
        repeat->us[repeat->nbatches++] = (double)took_ns / 1e3 / (double)n;
    }
    return stats_sort_median(repeat->us, repeat->nbatches);
}
