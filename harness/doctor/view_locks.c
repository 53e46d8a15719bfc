#include "harness/doctor/view_locks.h"

#include <asm/unistd.h>
#include <linux/futex.h>
#include <string.h>

/* The same number on all architectures; headers may be older. */
enum { CALL_FUTEX = __NR_futex, CALL_FUTEX_WAIT = 455 };
/* Since Linux 5.14, and since 6.7. */
enum { LOCK_PI2 = 13, WAIT2_SIZE = 3, WAIT2_U32 = 2 };

enum { PID_MOST = 1 << 22 };

/* The number behind blanks, decimal or with 0x; NULL: there is none, or it does not fit. */
static const char *read_number(const char *at, uint64_t *value)
{
    unsigned base = 10, digits = 0;
    *value = 0;
    at += strspn(at, " \t");
    if (at[0] == '0' && at[1] == 'x') {
        base = 16;
        at += 2;
    }
    for (;; at++, digits++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
                                                    : 16;
        if (digit >= base)
            break;
        if (*value > (UINT64_MAX - digit) / base)
            return NULL;
        *value = *value * base + digit;
    }
    return digits ? at : NULL;
}

static bool take_futex(const uint64_t *args, struct futex_call *call)
{
    uint32_t op = (uint32_t)args[1];
    switch (op & (uint32_t)FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
        call->way = FUTEX_IN_WAIT;
        break;
    case FUTEX_WAIT_BITSET:
        call->way = FUTEX_IN_WAIT_BITSET;
        break;
    case FUTEX_LOCK_PI:
    case LOCK_PI2:
        call->way = FUTEX_IN_LOCK_PI;
        break;
    default:
        return false;
    }
    call->value = (uint32_t)args[2];
    call->is_private = op & FUTEX_PRIVATE_FLAG;
    return !args[3]; /* the time-out */
}

static bool take_futex_wait(const uint64_t *args, struct futex_call *call)
{
    call->way = FUTEX_IN_WAIT_BITSET;
    call->value = (uint32_t)args[1];
    call->is_private = args[3] & FUTEX_PRIVATE_FLAG;
    return (args[3] & WAIT2_SIZE) == WAIT2_U32 && !args[4];
}

bool view_read_futex(const char *text, struct futex_call *call)
{
    enum { STACK = 6, CODE, NUMBERS };
    uint64_t number, args[NUMBERS];
    *call = (struct futex_call){0};
    const char *at = read_number(text, &number);
    if (!at || (number != CALL_FUTEX && number != CALL_FUTEX_WAIT))
        return false;
    for (int i = 0; i < NUMBERS; i++) {
        at = *at == ' ' ? read_number(at, &args[i]) : NULL;
        if (!at)
            return false;
    }
    call->address = args[0];
    call->stack = args[STACK];
    call->code = args[CODE];
    bool taken = number == CALL_FUTEX ? take_futex(args, call) : take_futex_wait(args, call);
    return taken && call->address && call->address % sizeof(uint32_t) == 0;
}

enum { HELD_AND_WAITED_FOR = 2 }; /* the word of a mutex that says no more */

/* Of glibc's struct __pthread_mutex_s, and the bits of its __kind. */
enum { WORD, COUNT, HOLDER, USERS, TYPE };
enum {
    TYPE_MASK = 3,
    TYPE_RECURSIVE = 1,
    TYPE_ROBUST = 16,
    TYPE_INHERIT = 32,
    TYPE_SHARED = 128,
    TYPE_ELISION = 256 | 512,
    TYPE_KNOWN = TYPE_MASK | TYPE_ROBUST | TYPE_INHERIT | TYPE_SHARED | TYPE_ELISION,
    USERS_MOST = 1 << 20
};

static bool is_thread(uint32_t number)
{
    return number && number <= PID_MOST;
}

static bool is_mutex(const uint32_t *words)
{
    return is_thread(words[HOLDER]) && words[USERS] && words[USERS] <= USERS_MOST &&
           !(words[TYPE] & ~(uint32_t)TYPE_KNOWN);
}

static bool is_plain(const struct futex_call *call, const uint32_t *words)
{
    bool is_recursive = (words[TYPE] & TYPE_MASK) == TYPE_RECURSIVE;
    return call->way == FUTEX_IN_WAIT && call->value == HELD_AND_WAITED_FOR &&
           words[WORD] == HELD_AND_WAITED_FOR && !(words[TYPE] & (TYPE_ROBUST | TYPE_INHERIT)) &&
           is_recursive == (words[COUNT] > 0) && call->is_private == !(words[TYPE] & TYPE_SHARED);
}

static bool is_robust(const struct futex_call *call, const uint32_t *words)
{
    return call->way == FUTEX_IN_WAIT && words[WORD] & FUTEX_WAITERS &&
           call->value == words[WORD] && (words[WORD] & FUTEX_TID_MASK) == words[HOLDER] &&
           (words[TYPE] & (TYPE_ROBUST | TYPE_INHERIT)) == TYPE_ROBUST;
}

/* The C library waits there for what the kernel clears when a thread ends (set_tid_address(2)). */
static bool is_thread_end(const struct futex_call *call, const uint32_t *words)
{
    return call->way != FUTEX_IN_LOCK_PI && !call->is_private && call->value == words[WORD] &&
           is_thread(words[WORD]);
}

struct lock_seen view_read_lock(const struct futex_call *call, const uint32_t words[LOCK_WORDS])
{
    struct lock_seen seen = {.is_shared = !call->is_private};
    uint32_t number = words[WORD] & FUTEX_TID_MASK;
    if (call->way == FUTEX_IN_LOCK_PI) /* its word is the kernel's affair, whatever is behind it */
        seen.kind = is_thread(number) ? LOCK_INHERITING : LOCK_NONE;
    else if (is_mutex(words) && is_plain(call, words))
        seen.kind = LOCK_MUTEX;
    else if (is_mutex(words) && is_robust(call, words))
        seen.kind = LOCK_ROBUST;
    else if (is_thread_end(call, words))
        seen.kind = LOCK_THREAD_END;
    if (seen.kind != LOCK_NONE)
        seen.holder = seen.kind == LOCK_MUTEX ? words[HOLDER] : number;
    return seen;
}

bool view_may_be_refused(const struct futex_call *call, uint32_t word)
{
    return call->way != FUTEX_IN_LOCK_PI && !call->value && !word && call->address >= call->stack &&
           call->address - call->stack < LOCK_STACK_MOST;
}

bool view_is_call(const uint8_t before[LOCK_CALL_BYTES])
{
#ifdef __aarch64__
    uint32_t code = 0; /* of four bytes, the lowest first */
    for (int i = LOCK_CALL_BYTES - 1; i > 0; i--)
        code = code << 8 | before[i];
    return code >> 26 == 0x25 || (code & 0xfefff000) == 0xd63f0000; /* bl; blr and its kin */
#else
    return before[0] == 0xe8; /* call */
#endif
}

uint64_t view_way_back(uint64_t word)
{
    const unsigned address_bits = 48; /* of a process, whatever the kernel could address */
    return word & ((1ull << address_bits) - 1);
}

/* The caller's record, its frame and the way back, is there: frames follow each other upwards. */
static bool may_be_record(uint64_t address, const uint64_t *words)
{
    const uint64_t frame_most = 1 << 20;
    return words[0] > address && words[0] - address < frame_most && words[0] % 16 == 0 &&
           view_way_back(words[1]) % 4 == 0 && words[1];
}

bool view_are_alike(const struct futex_call *one, const uint64_t here[LOCK_FRAME_WORDS],
                    const struct futex_call *other, const uint64_t there[LOCK_FRAME_WORDS],
                    size_t *at)
{
    uint64_t apart = one->code > other->code ? one->code - other->code : other->code - one->code;
    size_t i = 0;
    while (i + 1 < LOCK_FRAME_WORDS && !may_be_record(one->stack + i * sizeof(here[0]), &here[i]))
        i++;
    *at = i;
    return apart < LOCK_NEAR_CODE && i > 0 && i + 1 < LOCK_FRAME_WORDS &&
           may_be_record(other->stack + i * sizeof(there[0]), &there[i]) && here[i - 1] &&
           here[i - 1] == there[i - 1] && one->address < one->stack + (i - 1) * sizeof(here[0]);
}

bool view_may_be_lock(const struct futex_call *call)
{
    bool may_be_robust = call->value & FUTEX_WAITERS;
    bool may_be_end = !call->is_private && is_thread(call->value);
    return call->way == FUTEX_IN_LOCK_PI || call->value == HELD_AND_WAITED_FOR || may_be_robust ||
           may_be_end || view_may_be_refused(call, 0);
}

/* What is behind `label` at the beginning of a line. */
static const char *find_field(const char *status, const char *label)
{
    size_t length = strlen(label);
    for (const char *line = status; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, label, length) == 0)
            return line + length;
    }
    return NULL;
}

bool view_read_switches(const char *status, uint64_t *switches)
{
    const char *own = find_field(status, "voluntary_ctxt_switches:");
    const char *other = find_field(status, "nonvoluntary_ctxt_switches:");
    uint64_t one = 0, two = 0;
    if (!own || !other || !read_number(own, &one) || !read_number(other, &two))
        return false;
    *switches = one + two;
    return true;
}

bool view_read_number(const char *status, uint32_t *number, unsigned *depth)
{
    const char *at = find_field(status, "NSpid:");
    uint64_t value;
    *depth = 0;
    while (at && (at = read_number(at, &value)) && value && value <= PID_MOST) {
        *number = (uint32_t)value;
        (*depth)++;
    }
    return *depth > 0;
}

static int find_wait(const struct lock_wait *waits, size_t n, int tid)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (waits[middle].tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && waits[low].tid == tid ? (int)low : -1;
}

/*
 * On from `first` to what was seen before, or to the end. What is new on that way is marked with
 * it; where the way meets its own mark, a circle begins.
 */
static void follow(struct lock_wait *waits, int first, unsigned *circles)
{
    int at = first;
    while (at >= 0 && waits[at].mark < 0) {
        waits[at].mark = first;
        at = waits[at].next;
    }
    if (at >= 0 && waits[at].mark == first) {
        for (int i = at; waits[i].circle < 0; i = waits[i].next)
            waits[i].circle = waits[i].behind = (int)*circles;
        ++*circles;
    }
    int behind = at >= 0 ? waits[at].behind : -1;
    for (at = first; at >= 0 && waits[at].mark == first && waits[at].circle < 0;
         at = waits[at].next)
        waits[at].behind = behind;
}

unsigned lock_waits_join(struct lock_wait *waits, size_t n)
{
    unsigned circles = 0;
    for (size_t i = 0; i < n; i++) {
        bool waits_for_one = waits[i].kind != LOCK_NONE && waits[i].holder;
        waits[i].next = waits_for_one ? find_wait(waits, n, waits[i].holder) : -1;
        waits[i].circle = waits[i].behind = waits[i].mark = -1;
    }
    for (size_t i = 0; i < n; i++)
        if (waits[i].mark < 0)
            follow(waits, (int)i, &circles);
    return circles;
}

bool lock_wait_is_lost(const struct lock_wait *wait)
{
    return wait->kind == LOCK_MUTEX && !wait->is_shared && !wait->holder;
}

bool lock_waits_are_stuck(const struct lock_wait *waits, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (waits[i].circle >= 0 || lock_wait_is_lost(&waits[i]))
            return true;
    return false;
}

static bool is_same(const struct lock_wait *then, const struct lock_wait *now)
{
    return then->kind == now->kind && then->lock == now->lock && then->number == now->number &&
           then->holder == now->holder && then->switches == now->switches;
}

bool lock_waits_confirm(const struct lock_wait *then, size_t nthen, struct lock_wait *now,
                        size_t nnow)
{
    for (size_t i = 0; i < nnow; i++) {
        int at = find_wait(then, nthen, now[i].tid);
        if (at < 0 || !is_same(&then[at], &now[i]))
            now[i].kind = LOCK_NONE; /* and what was a circle is none without it */
    }
    (void)lock_waits_join(now, nnow);
    return lock_waits_are_stuck(now, nnow);
}
