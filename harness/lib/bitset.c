#include "harness/lib/bitset.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"

void bitset_set(struct bitset *set, unsigned bit)
{
    set->word[bit / 64] |= UINT64_C(1) << (bit % 64);
}

void bitset_clear(struct bitset *set, unsigned bit)
{
    set->word[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

bool bitset_test(const struct bitset *set, unsigned bit)
{
    return bit < BITSET_BITS && (set->word[bit / 64] >> (bit % 64) & 1);
}

unsigned bitset_count(const struct bitset *set)
{
    unsigned count = 0;
    for (size_t w = 0; w < BITSET_WORDS; w++)
        count += (unsigned)__builtin_popcountll(set->word[w]);
    return count;
}

bool bitset_empty(const struct bitset *set)
{
    return bitset_next(set, 0) < 0;
}

bool bitset_equal(const struct bitset *a, const struct bitset *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

bool bitset_subset(const struct bitset *part, const struct bitset *whole)
{
    for (size_t w = 0; w < BITSET_WORDS; w++)
        if (part->word[w] & ~whole->word[w])
            return false;
    return true;
}

bool bitset_intersects(const struct bitset *a, const struct bitset *b)
{
    for (size_t w = 0; w < BITSET_WORDS; w++)
        if (a->word[w] & b->word[w])
            return true;
    return false;
}

void bitset_or(struct bitset *into, const struct bitset *other)
{
    for (size_t w = 0; w < BITSET_WORDS; w++)
        into->word[w] |= other->word[w];
}

void bitset_and(struct bitset *into, const struct bitset *other)
{
    for (size_t w = 0; w < BITSET_WORDS; w++)
        into->word[w] &= other->word[w];
}

void bitset_andnot(struct bitset *into, const struct bitset *other)
{
    for (size_t w = 0; w < BITSET_WORDS; w++)
        into->word[w] &= ~other->word[w];
}

int bitset_next(const struct bitset *set, unsigned from)
{
    if (from >= BITSET_BITS)
        return -1;
    size_t w = from / 64;
    uint64_t bits = set->word[w] & (~UINT64_C(0) << (from % 64));
    while (!bits) {
        if (++w == BITSET_WORDS)
            return -1;
        bits = set->word[w];
    }
    return (int)(w * 64 + (unsigned)__builtin_ctzll(bits));
}

/* Reads one decimal member at *at and moves *at past it; false: no number, or out of range. */
static bool parse_member(const char **at, unsigned *member)
{
    if (!isdigit((unsigned char)**at))
        return false;
    char *end;
    errno = 0;
    unsigned long value = strtoul(*at, &end, 10);
    if (errno || value >= BITSET_BITS)
        return false;
    *at = end;
    *member = (unsigned)value;
    return true;
}

int bitset_parse(const char *text, struct bitset *set, struct err *err)
{
    memset(set, 0, sizeof(*set));
    const char *at = text;
    for (;;) {
        unsigned first, last;
        if (!parse_member(&at, &first))
            break;
        last = first;
        if (*at == '-') {
            at++;
            if (!parse_member(&at, &last) || last < first)
                break;
        }
        for (unsigned i = first; i <= last; i++)
            bitset_set(set, i);
        if (*at == '\0')
            return 0;
        if (*at++ != ',')
            break;
    }
    memset(set, 0, sizeof(*set));
    return err_set(err, -EINVAL,
                   "'%.80s' is not a list of numbers below %d such as 0-3,8 (ranges ascending)",
                   text, BITSET_BITS);
}

const char *bitset_format(const struct bitset *set)
{
    const char *list = "";
    for (int first = bitset_next(set, 0); first >= 0;) {
        int last = first;
        while (bitset_test(set, (unsigned)last + 1))
            last++;
        str_add(&list, ",", last == first ? "%d" : "%d-%d", first, last);
        first = bitset_next(set, (unsigned)last + 1);
    }
    return list;
}
