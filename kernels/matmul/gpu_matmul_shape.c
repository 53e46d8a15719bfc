#include "kernels/matmul/gpu_matmul_shape.h"

#include <stdio.h>

const char *matmul_layout_name(enum matmul_layout layout)
{
    static const char *const names[MATMUL_LAYOUTS] = {"nn", "nt", "tn", "tt"};
    return names[layout];
}

double matmul_flops(const struct matmul_shape *shape)
{
    return 2.0 * (double)shape->m * (double)shape->n * (double)shape->k;
}

char *matmul_shape_text(const struct matmul_shape *shape, char *buf, size_t size)
{
    (void)snprintf(buf, size, "m %zu, n %zu, k %zu, %s", shape->m, shape->n, shape->k,
                   matmul_layout_name(shape->layout));
    return buf;
}
