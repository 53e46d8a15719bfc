/* Stands in for every test_gpu_*.c in a build without CUDA. */
#include <stdio.h>

int main(void)
{
    enum { SKIPPED = 77 };
    (void)printf("SKIP: needs nvcc, when it is built\n");
    return SKIPPED;
}
