/*
 * Any bytes as what the kernel says of a thread: its syscall and its status file, which are parts
 * with the byte 0x1e between them; and what is left as the memory of a lock, and as a graph of who
 * waits for whom. Read or refused; the circles that are found in it are circles.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/doctor/view_locks.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WAITS_MOST = 64 };

static char *next_text(const uint8_t **data, size_t *size)
{
    size_t length = 0;
    const uint8_t *part = scratch_next_part(data, size, &length);
    char *text = malloc(length + 1);
    if (!text)
        abort();
    if (part && length)
        memcpy(text, part, length);
    text[part ? length : 0] = '\0';
    return text;
}

static void check_status(const char *status)
{
    uint64_t switches = 0;
    uint32_t number = 0;
    unsigned depth;
    (void)view_read_switches(status, &switches);
    if (view_read_number(status, &number, &depth) && (!number || !depth))
        abort();
}

static void check_lock(const struct futex_call *call, const uint8_t *data, size_t size)
{
    uint32_t words[LOCK_WORDS] = {0};
    if (size)
        memcpy(words, data, size < sizeof(words) ? size : sizeof(words));
    struct lock_seen seen = view_read_lock(call, words);
    if ((seen.kind != LOCK_NONE) != (seen.holder > 0))
        abort();
    if (seen.kind != LOCK_NONE && !view_may_be_lock(call))
        abort();
}

/* Each byte is whose lock that thread waits for. */
static void check_graph(const uint8_t *data, size_t size)
{
    struct lock_wait waits[WAITS_MOST] = {{0}}, then[WAITS_MOST];
    size_t n = size < WAITS_MOST ? size : WAITS_MOST;
    for (size_t i = 0; i < n; i++)
        waits[i] = (struct lock_wait){
            .tid = 1 + (int)i, .kind = LOCK_MUTEX, .holder = data[i], .number = data[i]};
    unsigned circles = lock_waits_join(waits, n), largest = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = i, hops = 0;
        if (waits[i].circle < 0)
            continue;
        largest = (unsigned)waits[i].circle + 1 > largest ? (unsigned)waits[i].circle + 1 : largest;
        do {
            if (waits[at].next < 0 || waits[at].circle != waits[i].circle || hops++ > n)
                abort();
            at = (size_t)waits[at].next;
        } while (at != i);
    }
    if (largest != circles)
        abort();
    memcpy(then, waits, sizeof(then));
    if (lock_waits_confirm(then, n, waits, n) != lock_waits_are_stuck(then, n))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct futex_call call;
    char *text = next_text(&data, &size), *status = next_text(&data, &size);
    if (view_read_futex(text, &call)) {
        if (!call.address || call.address % sizeof(uint32_t))
            abort();
        check_lock(&call, data, size);
    }
    check_status(status);
    check_graph(data, size);
    free(text);
    free(status);
    return 0;
}
