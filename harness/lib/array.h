/* Arrays that double their capacity when full. */
#ifndef CONTEND_LIB_ARRAY_H
#define CONTEND_LIB_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/*
 * Appends an uninitialized element, increments n and returns the element. NULL: out of memory;
 * nothing has changed.
 *
 *   struct row *added = array_add(rows->row, rows->n, rows->capacity);
 *   if (!added)
 *       return err_set(err, -ENOMEM, "out of memory for %zu rows", rows->n + 1);
 *   *added = *row;
 */
#define array_add(array, n, capacity)                                                              \
    ({                                                                                             \
        __typeof__(array) grown_ = array_grown((array), (n), &(capacity), sizeof(*(array)));       \
        if (grown_)                                                                                \
            (array) = grown_;                                                                      \
        grown_ ? &grown_[(n)++] : NULL;                                                            \
    })

/*
 * Returns the array, possibly moved, with room for one more element of `size` bytes after the
 * first `n`, and updates *capacity. NULL: out of memory; the array has not changed.
 */
static inline void *array_grown(void *array, size_t n, size_t *capacity, size_t size)
{
    enum { FIRST = 16 };
    if (n < *capacity)
        return array;
    size_t larger = *capacity ? 2 * *capacity : FIRST;
    void *grown = realloc(array, larger * size);
    if (grown)
        *capacity = larger;
    return grown;
}

#endif
