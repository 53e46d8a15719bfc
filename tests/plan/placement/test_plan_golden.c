/* Plans of some machines, byte for byte. CONTEND_UPDATE_GOLDEN=1 writes the files anew. */
#include <unistd.h>

#include "harness/cmd/common/cmd.h"
#include "harness/plan/placement/plan.h"
#include "tests/lib/fixture_golden.h"
#include "tests/lib/fixture_machines.h"
#include "tests/lib/unit.h"

enum { PATH_SIZE = 512 };

static const struct golden {
    const char *name;    /* tests/golden/plan_<name> */
    const char *machine; /* a description, or one of fixture_machines */
    const char *workers, *gpus;
    const char *more[3]; /* further options; a -P stands for all placements */
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
    {"four_sockets_one_node.txt", "four_sockets_one_node", "4", NULL, {NULL}},
    {"four_sockets_turn.txt", "four_sockets_turn", "4", NULL, {NULL}},
    {"four_sockets_eight_nodes.txt", "four_sockets_eight_nodes", "4", NULL, {NULL}},
    {"cpuset_two_nodes_of_six.txt", "cpuset_two_nodes_of_six", "3", NULL, {NULL}},
    {"cgroup_of_four_cores.txt", "cgroup_of_four_cores", "2", NULL, {NULL}},
    {"hbm_beside_dram.txt", "hbm_beside_dram", "4", NULL, {"--reserve=1"}},
    {"sixteen_gpus.txt", "sixteen_gpus", "2", NULL, {NULL}},
    {"snc4_four_gpus.txt", "snc4_four_gpus", "4", NULL, {NULL}},
    {"nps4_eight_gpus.txt",
     "nps4_eight_gpus",
     "8",
     NULL,
     {"-P", "llc,numa,gpu-local,remote", "--background-workers=1"}},
    {"superchips_gpu_memory.txt", "superchips_gpu_memory", "4", NULL, {"--reserve=2"}},
    {"node_without_memory.txt", "node_without_memory", "2", NULL, {NULL}},
    {"hybrid_6p8e.txt", "hybrid_6p8e", "2", NULL, {"--background-workers=1"}},
    {"hybrid_2p8e2lpe.txt", "hybrid_2p8e2lpe", "2", NULL, {"--background-workers=1"}},
    {"gaps_in_numbers.txt", "gaps_in_numbers", "2", NULL, {NULL}},
    {"cpus_1920.txt", "cpus_1920", "2", NULL, {"-P", "sized,partition,numa,gpu-local"}},
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
    char *argv[16] = {"place", "--workers", (char *)(uintptr_t)golden->workers, "--xml",
                      (char *)(uintptr_t)machine};
    int argc = 5;
    for (int p = 0; p < PLACEMENTS; p++) {
        size_t used = strlen(all);
        (void)snprintf(all + used, sizeof(all) - used, "%s%s", p ? "," : "",
                       placement_infos[p].name);
    }
    if (!golden->more[0] || strcmp(golden->more[0], "-P") != 0) {
        argv[argc++] = "-P";
        argv[argc++] = all;
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

TEST(plan_golden_files)
{
    (void)unsetenv("CUDA_VISIBLE_DEVICES"); /* it changes the commands that are printed */
    for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
        const struct fixture_machine *machine = fixture_machine(goldens[i].machine);
        char path[] = "/tmp/contend-test-XXXXXX.xml";
        if (machine)
            fixture_machine_write(machine, path);
        check_golden(&goldens[i], machine ? path : goldens[i].machine);
        if (machine)
            (void)unlink(path);
    }
}
