#include "tests/lib/fixture_driver.h"
#include "tests/lib/unit.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

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

static void build_library(const char *path, const char *define)
{
    char *argv[] = {"cc",
                    "-shared",
                    "-fPIC",
                    (char *)(uintptr_t)define,
                    "-o",
                    (char *)(uintptr_t)path,
                    "tests/lib/fake_gpu_driver.c",
                    NULL};
    pid_t child;
    int status = 0;
    if (posix_spawnp(&child, argv[0], NULL, NULL, argv, environ) ||
        waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) == 127) {
        print_message("there is no cc here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

void fixture_driver_check(const char *define, const char *states, int (*check)(void))
{
    char folder[] = "/tmp/contend-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/gpu.so", folder);
    build_library(path, define);
    int rc = fixture_driver_in_child(path, states, check);
    (void)unlink(path);
    (void)rmdir(folder);
    assert_int_equal(rc, 0);
}
