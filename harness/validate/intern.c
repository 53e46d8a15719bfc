#include "harness/validate/intern.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"

struct intern_entry {
    size_t at, length; /* in struct intern's text */
    uint64_t hash;
};

/*
 * Multiplicative hashing (Knuth 1973, 6.4), eight bytes at a time: keys are a hundred bytes long,
 * and a large fleet has millions of them.
 */
static uint64_t hash_of(const char *text, size_t length)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = length, word;
    for (size_t left = length, step; left; left -= step, text += step) {
        step = left < sizeof(word) ? left : sizeof(word);
        word = 0;
        memcpy(&word, text, step);
        hash = (hash ^ word) * golden;
        hash ^= hash >> 32;
    }
    return hash;
}

/* The slot of the string, or a free slot for it: half of the slots are always free. */
static size_t find_slot(const struct intern *intern, const char *text, size_t length, uint64_t hash)
{
    size_t slot = (size_t)hash & (intern->nslots - 1);
    for (;; slot = (slot + 1) & (intern->nslots - 1)) {
        if (!intern->slots[slot])
            return slot;
        const struct intern_entry *entry = &intern->entries[intern->slots[slot] - 1];
        if (entry->hash == hash && entry->length == length &&
            memcmp(intern->text + entry->at, text, length) == 0)
            return slot;
    }
}

/* Grows the hash slots, so that at most half are used. */
static bool grow_slots(struct intern *intern)
{
    enum { FIRST = 64 };
    if (2 * ((size_t)intern->n + 1) <= intern->nslots)
        return true;
    size_t nslots = intern->nslots ? 2 * intern->nslots : FIRST;
    uint32_t *slots = calloc(nslots, sizeof(*slots));
    if (!slots)
        return false;
    for (uint32_t i = 0; i < intern->n; i++) {
        size_t slot = (size_t)intern->entries[i].hash & (nslots - 1);
        while (slots[slot])
            slot = (slot + 1) & (nslots - 1);
        slots[slot] = i + 1;
    }
    free(intern->slots);
    intern->slots = slots;
    intern->nslots = nslots;
    return true;
}

static bool make_text(struct intern *intern, size_t length)
{
    enum { FIRST = 4096 };
    size_t larger = intern->text_capacity ? intern->text_capacity : FIRST;
    if (intern->used + length + 1 <= intern->text_capacity)
        return true;
    while (larger < intern->used + length + 1)
        larger *= 2;
    char *text = realloc(intern->text, larger);
    if (!text)
        return false;
    intern->text = text;
    intern->text_capacity = larger;
    return true;
}

int intern_add(struct intern *intern, const char *text, size_t length, uint32_t *number,
               struct err *err)
{
    uint64_t hash = hash_of(text, length);
    if (!grow_slots(intern) || !make_text(intern, length))
        return err_set(err, -ENOMEM, "out of memory for %u names", intern->n + 1);
    size_t slot = find_slot(intern, text, length, hash);
    if (intern->slots[slot]) {
        *number = intern->slots[slot] - 1;
        return 0;
    }
    struct intern_entry *added = array_add(intern->entries, intern->n, intern->capacity);
    if (!added)
        return err_set(err, -ENOMEM, "out of memory for %u names", intern->n + 1);
    *added = (struct intern_entry){intern->used, length, hash};
    memcpy(intern->text + intern->used, text, length);
    intern->text[intern->used + length] = '\0';
    intern->used += length + 1;
    *number = intern->n - 1;
    intern->slots[slot] = intern->n;
    return 0;
}

uint32_t intern_find(const struct intern *intern, const char *text, size_t length)
{
    if (!intern->n)
        return INTERN_NONE;
    size_t slot = find_slot(intern, text, length, hash_of(text, length));
    return intern->slots[slot] ? intern->slots[slot] - 1 : INTERN_NONE;
}

const char *intern_text(const struct intern *intern, uint32_t number)
{
    return intern->text + intern->entries[number].at;
}

void intern_free(struct intern *intern)
{
    free(intern->entries);
    free(intern->text);
    free(intern->slots);
    *intern = (struct intern){0};
}
