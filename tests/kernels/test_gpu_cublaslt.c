/*
 * Which cuBLASLt is loaded, among fake ones that this test builds when it runs
 * (tests/lib/fake_cublaslt.c): no GPU is needed. Libraries are found once a process, so each case
 * runs this program again.
 */

#include "kernels/matmul/gpu_matmul.h"
#include "tests/lib/unit.h"

/* Declared in kernels/matmul/cublaslt.cuh. */
int cublaslt_start(void **handle);

enum { NOT_INITIALIZED = 1, ALLOC_FAILED = 3 };

static char folder[] = "/tmp/contend-test-XXXXXX", self[4096];

/* In the child: prints the library before and after the first two handles. */
static int show(void)
{
    struct err err = {0};
    char version[32];
    void *handle = NULL;
    if (gpu_matmul_load(&err))
        return printf("none\n") < 0;
    (void)printf("%s", gpu_matmul_library(version, sizeof(version)));
    for (int i = 0; i < 2; i++) {
        int status = cublaslt_start(&handle);
        (void)printf(" %d %s", status, gpu_matmul_library(version, sizeof(version)));
    }
    return printf("\n") < 0;
}

static void build(int major, int status)
{
    char command[512];
    put_text(command,
             "cc -shared -fPIC -DVERSION=%d -DSTATUS=%d -o %s/libcublasLt.so.%d "
             "tests/lib/fake_cublaslt.c",
             major * 10000 + 203, status, folder, major);
    int rc = system(command);
    if (rc == 127 << 8)
        skip();
    assert_int_equal(rc, 0);
}

/* The version that matches this build's CUDA comes first. */
static int own(void)
{
    return (int)strtol(CONTEND_CUDA_VERSION, NULL, 10);
}

static int other(void)
{
    return own() == 13 ? 12 : 13;
}

/* Expects that both handles of the child have that status and come from the library of that
 * version. */
static void expect(int status_of_own, int status_of_other, int status, int version)
{
    char command[8192], line[200] = "", said[200];
    build(own(), status_of_own);
    build(other(), status_of_other);
    put_text(command,
             "env -u CONTEND_CUBLASLT -u CUDA_HOME -u CUDA_PATH LD_LIBRARY_PATH='%s' "
             "CONTEND_TEST_SHOWS=1 '%s' test_gpu_cublaslt",
             folder, self);
    FILE *child = popen(command, "r");
    assert_non_null(child);
    assert_non_null(fgets(line, sizeof(line), child));
    assert_int_equal(pclose(child), 0);
    line[strcspn(line, "\n")] = '\0';
    put_text(said, "%d.2.3 %d %d.2.3 %d %d.2.3", own(), status, version, status, version);
    assert_string_equal(line, said);
}

TEST(cublaslt_that_works_is_kept)
{
    expect(0, 0, 0, own());
}

TEST(cublaslt_that_does_not_start_is_followed_by_another)
{
    expect(NOT_INITIALIZED, 0, 0, other());
}

TEST(cublaslt_without_memory_is_not_replaced)
{
    expect(ALLOC_FAILED, 0, ALLOC_FAILED, own());
}

static int remove_folder(void **state)
{
    for (int major = 11; major <= own() || major <= 13; major++) {
        char path[64];
        put_text(path, "%s/libcublasLt.so.%d", folder, major);
        (void)unlink(path);
    }
    return rmdir(folder);
}
AROUND_TESTS(NULL, remove_folder)

BEFORE_TESTS
{
    if (getenv("CONTEND_TEST_SHOWS"))
        exit(show());
    return readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0 || !mkdtemp(folder);
}
