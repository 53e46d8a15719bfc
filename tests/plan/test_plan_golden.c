/* Plans of some machines, byte for byte. CONTEND_UPDATE_GOLDEN=1 writes the files anew. */
#include <ctype.h>

#include "harness/cmd/common/cmd.h"
#include "harness/plan/plan.h"
#include "tests/lib/fixture_golden.h"
#include "tests/lib/fixture_machines.h"
#include "tests/lib/unit.h"

enum { PATH_SIZE = 512 };

/* Everything that `place` prints; or workers, findings and reasons alone, from which the rest
 * follows. */
enum shown { ALL, PLANS };

static const struct golden {
    const char *name;    /* tests/golden/plan_<name> */
    const char *machine; /* a description, or one of fixture_machines */
    const char *workers, *gpus;
    enum shown shown;
    const char *more[4]; /* further options; without -P, all placements */
} goldens[] = {
    ENTRY("two_sockets.txt", "package:2 numa:1(memory=64GB) l3:1 core:8 pu:2", "4",
          "01:00.0@0,02:00.0@0,81:00.0@1,82:00.0@1", ALL, {NULL}),
    ENTRY("two_sockets.json", "package:2 numa:1(memory=64GB) l3:1 core:8 pu:2", "2",
          "01:00.0@0,81:00.0@1", ALL,
          {"-Pspread,gpu-local,pcores", "--background-workers=1", "--reserve=1", "--json"}),
    ENTRY("nps4_eight_gpus.txt", "nps4_eight_gpus", "8", NULL, ALL,
          {"-Pllc,numa,gpu-local,remote", "--background-workers=1"}),
    ENTRY("cgroup_of_four_cores.txt", "cgroup_of_four_cores", "2", NULL, PLANS, {NULL}),
    ENTRY("node_without_memory.txt", "node_without_memory", "2", NULL, PLANS, {NULL}),
    ENTRY("dies_without_memory.txt", "dies_without_memory", "4", NULL, PLANS, {NULL}),
    ENTRY("fast_and_slow_clusters.txt", "fast_and_slow_clusters", "4", NULL, PLANS, {NULL}),
    ENTRY("hybrid_6p8e.txt", "hybrid_6p8e", "2", NULL, PLANS, {"--background-workers=1"}),
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

/* Keeps names of placements, lines of workers, findings, and reasons for skipping. */
static void keep_plans(char *text)
{
    bool kept = false;
    char *to = text;
    for (char *line = text, *next; *line; line = next) {
        next = line + strcspn(line, "\n") + 1;
        size_t name = strcspn(line, ":\n");
        if (strncmp(line, "  worker ", 9) == 0) {
            kept = true;
            continue;
        }
        if (islower(line[0])) {
            kept = strncmp(line + name, ": skipped: ", 11) == 0;
            if (!kept) {
                memmove(to, line, name + 1);
                to[name + 1] = '\n';
                to += name + 2;
            }
        }
        kept = kept && strncmp(line, "Command", 7) != 0;
        if (kept) {
            memmove(to, line, (size_t)(next - line));
            to += next - line;
        }
    }
    *to = '\0';
}

static void check_golden(const struct golden *golden, const char *machine)
{
    char placements[256] = "-P", file[PATH_SIZE];
    char *argv[16] = {"place", "--workers", (char *)(uintptr_t)golden->workers, "--xml",
                      (char *)(uintptr_t)machine};
    int argc = 5;
    int first = golden->shown == PLANS ? PLACE_PARTITION : 0; /* earlier ones never differ */
    for (int p = first; p < PLACEMENTS; p++) {
        size_t used = strlen(placements);
        (void)snprintf(placements + used, sizeof(placements) - used, "%s%s", p > first ? "," : "",
                       placement_infos[p].name);
    }
    if (!golden->more[0] || strncmp(golden->more[0], "-P", 2) != 0)
        argv[argc++] = placements;
    if (golden->gpus) {
        argv[argc++] = "--gpus";
        argv[argc++] = (char *)(uintptr_t)golden->gpus;
    }
    for (int i = 0; i < 4 && golden->more[i]; i++)
        argv[argc++] = (char *)(uintptr_t)golden->more[i];
    FREED char *text = run_place(argc, argv);
    if (golden->shown == PLANS)
        keep_plans(text);
    put_text(file, "plan_%s", golden->name);
    fixture_golden(file, text);
}

TEST(plan_golden_files)
{
    (void)unsetenv("CUDA_VISIBLE_DEVICES"); /* it would change the printed commands */
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
