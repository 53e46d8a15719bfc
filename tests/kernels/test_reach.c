/* Which GPUs and drivers a build serves, and its message about others. */
#include "kernels/gpu/gpu_common.h"
#include "tests/lib/unit.h"

/* The architectures that -arch=all-major gives in nvcc 13 and 12. */
static const int of_13[] = {750, 800, 900, 1000, 1100, 1200};
static const int of_12[] = {900, 500, 600, 700, 800};

TEST(reach_old_gpus_are_a_stated_skip)
{
    struct err err = {0};
    assert_int_equal(gpu_reach_check(70, of_13, 6, 13000, &err), -ENOTSUP);
    assert_string_equal(err.msg,
                        "it has compute capability 7.0, and this program, built with CUDA "
                        "13.0, serves 7.5 and later; a build with an older CUDA may serve it");
    assert_int_equal(gpu_reach_check(60, of_13, 6, 13000, &err), -ENOTSUP);
    assert_int_equal(gpu_reach_check(37, of_12, 5, 12090, &err), -ENOTSUP);
}

TEST(reach_covers_what_there_is_code_for_and_newer)
{
    static const int served[] = {75, 80, 86, 89, 90, 100, 103, 120, 121, 130};
    struct err err = {0};
    for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); i++)
        assert_int_equal(gpu_reach_check(served[i], of_13, 6, 13000, &err), 0);
    assert_int_equal(gpu_reach_check(50, of_12, 5, 12090, &err), 0);
    assert_int_equal(gpu_reach_check(70, of_12, 5, 12090, &err), 0);
    assert_string_equal(err.msg, "");
}

TEST(reach_names_the_driver_that_a_build_needs)
{
    struct err err = {0};
    assert_int_equal(gpu_reach_refuse_driver(12040, 13000, &err), -ENOTSUP);
    assert_string_equal(
        err.msg,
        "the NVIDIA driver knows CUDA 12.4 at most, and this program was built with 13.0, which "
        "needs driver 580 or later: a build with CUDA 12 serves it");
    assert_int_equal(gpu_reach_driver(12090), 525);
    assert_int_equal(gpu_reach_driver(11080), 450);
    assert_int_equal(gpu_reach_driver(14000), 0);
    assert_int_equal(gpu_reach_refuse_driver(13000, 14000, &err), -ENOTSUP);
    assert_string_equal(
        err.msg, "the NVIDIA driver knows CUDA 13.0 at most, and this program was built with 14.0");
}
