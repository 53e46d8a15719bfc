/* Arrays that grow as they are filled: twice as large each time. */
#ifndef CONTEND_LIB_BASE_ARRAY_H
#define CONTEND_LIB_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/*
 * A place for one element more, which is counted; NULL: no memory, and all stays as it was.
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
 * The array with room for one element more than the `n` of `size` bytes that it holds, perhaps at
 * another place, and *capacity with it. NULL: no memory, and the array stays as it was.
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
