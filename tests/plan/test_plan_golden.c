/*
 * Plans of some machines, byte for byte. CONTEND_UPDATE_GOLDEN=1 writes the files anew. Those of
 * captured machines are compared where the captures are (see test_plan_properties.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/cmd/cmd.h"
#include "harness/plan/plan.h"
#include "tests/lib/fixture_golden.h"

enum { PATH_SIZE = 512 };

static const char *topologies(void)
{
    const char *folder = getenv("CONTEND_TOPOLOGIES");
    return folder ? folder : "../shared/topologies";
}

static const struct golden {
    const char *name;    /* tests/golden/plan_<name> */
    const char *machine; /* a description, or a file of the shared topologies */
    const char *workers, *gpus;
    const char *more[3]; /* further options */
} goldens[] = {
    {"flat_vm.txt", "package:1 l3:1 core:8 pu:1", "2", "06:00.0,07:00.0", {NULL}},
    {"laptop.txt", "package:1 l3:1 core:4 pu:2", "2", NULL, {NULL}},
    {"two_sockets.txt",
     "package:2 numa:1(memory=64GB) l3:1 core:8 pu:2",
     "4",
     "01:00.0@0,02:00.0@0,81:00.0@1,82:00.0@1",
     {NULL}},
    {"two_sockets.json",
     "package:2 numa:1(memory=64GB) l3:1 core:8 pu:2",
     "2",
     "01:00.0@0,81:00.0@1",
     {"--background-workers=1", "--reserve=1", "--json"}},
    {"chiplets.txt", "package:1 numa:4 l3:2 core:4 pu:2", "3", NULL, {"--background-workers=1"}},
    {"eight_sockets_smt4.txt",
     "package:8 numa:1 core:2 pu:4",
     "8",
     "01:00.0@7,02:00.0@3,03:00.0@0,04:00.0@5",
     {"--mem=interleave", "--threads=2"}},
    {"16em64t.txt", "16em64t-4s2c2t.xml", "4", NULL, {NULL}},
    {"20em64t_hybrid.txt",
     "20em64t-hybrid-1p6c2t+2ca4co1t.xml",
     "2",
     NULL,
     {"--background-workers=1"}},
    {"32amd64_cgroup.txt", "32amd64-4s2n4c-cgroup2.xml", "3", NULL, {NULL}},
    {"40intel64.txt", "40intel64-2g2n4c+pcilocality.xml", "4", NULL, {NULL}},
    {"64amd64.txt", "64amd64-4s2n4ca2co.xml", "4", NULL, {NULL}},
    {"64intel64_heteromem.txt", "64intel64-heteromem.xml", "4", NULL, {"--reserve=1"}},
    {"dgx2.txt", "nvidiaDGX2.xml", "2", NULL, {NULL}},
};

/* What `contend place` prints on stdout, in a new string. */
static char *run_place(int argc, char **argv)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    (void)fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
    int code = place_command.main(NULL, argc, argv);
    (void)fflush(stdout);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    (void)close(saved);
    long size = lseek(fileno(file), 0, SEEK_END);
    char *text = calloc(1, (size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(pread(fileno(file), text, (size_t)size, 0), size);
    (void)fclose(file);
    assert_int_equal(code, EXIT_GOOD);
    return text;
}

static void compare_golden(const char *name, const char *text)
{
    char file[PATH_SIZE];
    (void)snprintf(file, sizeof(file), "plan_%s", name);
    fixture_golden(file, text);
}

static void check_golden(const struct golden *golden, const char *machine)
{
    char all[256] = "";
    char *argv[16] = {"place", "--workers", (char *)(uintptr_t)golden->workers, "--placement",
                      all,     "--xml",     (char *)(uintptr_t)machine};
    int argc = 7;
    for (int p = 0; p < PLACEMENTS; p++) {
        size_t used = strlen(all);
        (void)snprintf(all + used, sizeof(all) - used, "%s%s", p ? "," : "",
                       placement_infos[p].name);
    }
    if (golden->gpus) {
        argv[argc++] = "--fake-gpus";
        argv[argc++] = (char *)(uintptr_t)golden->gpus;
    }
    for (int i = 0; i < 3 && golden->more[i]; i++)
        argv[argc++] = (char *)(uintptr_t)golden->more[i];
    char *text = run_place(argc, argv);
    compare_golden(golden->name, text);
    free(text);
}

static void test_plan_golden_files(void **state)
{
    (void)state;
    (void)unsetenv("CUDA_VISIBLE_DEVICES"); /* it changes the commands that are printed */
    for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
        char path[PATH_SIZE];
        const char *machine = goldens[i].machine;
        if (strstr(machine, ".xml")) {
            (void)snprintf(path, sizeof(path), "%s/%s", topologies(), machine);
            machine = path;
            if (access(path, R_OK) != 0) {
                print_message("%s is not there: its golden file is not compared\n", path);
                continue;
            }
        }
        check_golden(&goldens[i], machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_golden_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
