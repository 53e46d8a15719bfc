/* Arrays that grow as they are filled: twice as large each time. */
#ifndef CONTEND_LIB_BASE_ARRAY_H
#define CONTEND_LIB_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/*
 * The array with room for one element more than the `n` of `size` bytes that it holds, perhaps at
 * another place, and *capacity with it. NULL: no memory, and the array stays as it was.
 *
 *   struct row *grown = array_grown(rows->row, rows->n, &rows->capacity, sizeof(*grown));
 *   if (!grown)
 *       return err_set(err, -ENOMEM, "out of memory for %zu rows", rows->n + 1);
 *   rows->row = grown;
 *   grown[rows->n++] = *row;
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
