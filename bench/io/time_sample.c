#include "bench/io/time_sample.h"

#include <errno.h>
#include <stdlib.h>

int time_sample_open(struct time_sample *sample)
{
    *sample = (struct time_sample){.value = calloc(TIME_SAMPLE_MOST, sizeof(double)), .every = 1};
    return sample->value ? 0 : -ENOMEM;
}

/* n is even, so the next value has an even index, too, and is kept. */
static void halve(struct time_sample *sample)
{
    sample->n /= 2;
    sample->every *= 2;
    for (size_t i = 0; i < sample->n; i++)
        sample->value[i] = sample->value[2 * i];
}

void time_sample_add(struct time_sample *sample, double value)
{
    if (sample->skip) {
        sample->skip--;
        return;
    }
    if (sample->n == TIME_SAMPLE_MOST)
        halve(sample);
    sample->value[sample->n++] = value;
    sample->skip = sample->every - 1;
}

void time_sample_close(struct time_sample *sample)
{
    free(sample->value);
    *sample = (struct time_sample){.n = 0};
}
