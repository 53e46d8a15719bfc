#include "tests/lib/fixture_driver.h"
#include "tests/lib/unit.h"

#include <sys/wait.h>

int fixture_driver_in_child(const char *library, const char *states, int (*check)(void))
{
    int status;
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)setenv("CONTEND_LIBCUDA", library, 1);
        (void)setenv("CONTEND_LIBNVML", library, 1);
        (void)setenv("FAKE_GPU", states ? states : "", 1);
        (void)unsetenv("CUDA_VISIBLE_DEVICES");
        int line = check();
        if (line)
            (void)fprintf(stderr, "line %d failed\n", line);
        (void)fflush(NULL);
        _exit(line != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void fixture_driver_check(const char *variant, const char *states, int (*check)(void))
{
    char path[4096];
    put_text(path, "%s/tests/fake_driver_%s/libcuda.so.1", getenv("CONTEND_BUILD_DIR"), variant);
    assert_int_equal(fixture_driver_in_child(path, states, check), 0);
}
