/* Stands in for every test_gpu_*.c in a build without CUDA. */
#include <stdio.h>

int main(void)
{
    enum { SKIPPED = 77 };
    (void)printf("skipped: built without CUDA\n");
    return SKIPPED;
}
