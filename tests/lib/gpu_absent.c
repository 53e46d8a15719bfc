/* Stands in for every test_gpu_*.c in a build without CUDA, before the main of unit.c. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void skip_all(void)
{
    enum { SKIPPED = 77 };
    (void)printf("SKIP: needs nvcc, when it is built\n");
    exit(SKIPPED);
}
