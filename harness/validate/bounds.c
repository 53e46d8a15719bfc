#include "harness/validate/bounds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"

int bounds_add(struct bounds *bounds, const struct bound *bound, struct err *err)
{
    char *key = strdup(bound->key);
    struct bound *added = key ? array_add(bounds->all, bounds->n, bounds->capacity) : NULL;
    if (!added) {
        free(key);
        return err_set(err, -ENOMEM, "out of memory for %zu bounds", bounds->n + 1);
    }
    *added = *bound;
    added->key = key;
    return 0;
}

int bounds_leave_out(struct bounds *bounds, const char *machine, const char *reason,
                     struct err *err)
{
    struct bounds_left_out *added =
        array_add(bounds->left_out, bounds->nleft_out, bounds->left_out_capacity);
    if (!added)
        return err_set(err, -ENOMEM, "out of memory for %zu machines", bounds->nleft_out + 1);
    (void)snprintf(added->machine, sizeof(added->machine), "%s", machine);
    (void)snprintf(added->reason, sizeof(added->reason), "%s", reason);
    return 0;
}

void bounds_free(struct bounds *bounds)
{
    for (size_t i = 0; i < bounds->n; i++)
        free(bounds->all[i].key);
    free(bounds->all);
    free(bounds->left_out);
    free(bounds->kind);
    *bounds = (struct bounds){0};
}
