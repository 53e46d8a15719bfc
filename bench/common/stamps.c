#include "bench/common/stamps.h"

#include <errno.h>
#include <stdlib.h>

int stamps_open(struct stamps *stamps)
{
    *stamps = (struct stamps){.value = calloc(STAMPS_MOST, sizeof(double)), .every = 1};
    return stamps->value ? 0 : -ENOMEM;
}

/* n is even, so the next value has an even index, too, and is kept. */
static void halve(struct stamps *stamps)
{
    stamps->n /= 2;
    stamps->every *= 2;
    for (size_t i = 0; i < stamps->n; i++)
        stamps->value[i] = stamps->value[2 * i];
}

void stamps_add(struct stamps *stamps, double value)
{
    if (stamps->skip) {
        stamps->skip--;
        return;
    }
    if (stamps->n == STAMPS_MOST)
        halve(stamps);
    stamps->value[stamps->n++] = value;
    stamps->skip = stamps->every - 1;
}

void stamps_close(struct stamps *stamps)
{
    free(stamps->value);
    *stamps = (struct stamps){.n = 0};
}
