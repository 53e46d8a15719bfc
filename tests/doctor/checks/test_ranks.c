/* Ranks of one job that poll for each other, on made-up views: which processes are a job, whether
 * they lose by their number, and the command that starts them again. */
#include "tests/lib/fixture_view.h"
#include "tests/lib/unit.h"

/* Words that end with a 0 byte each, as in /proc. */
struct words {
    char *text;
    size_t size;
};
#define OF(literal) ((struct words){(char[]){literal}, sizeof(literal)})

/* `n` ranks on a machine of two CPUs, both busy; `spins` and `calls` of 1000 samples each. Process
 * 0 is what started them. */
static void plant_ranks(unsigned n, struct words launcher, struct words settings, unsigned spins,
                        unsigned calls)
{
    static char job[] = "./job";
    view_plant(n + 1);
    machine.view.online = view_range(0, 1);
    machine.view.ncpus = 2;
    machine.processes[0].mask = MASK_LOW;
    machine.processes[0].command = launcher.text;
    machine.processes[0].command_size = launcher.size;
    for (size_t r = 1; r <= n; r++) {
        struct view_process *rank = &machine.processes[r];
        view_add_task(r, MASK_LOW, 19.8 / n, 10 - 19.8 / n);
        rank->mask = rank->parent_mask = MASK_LOW;
        rank->parent = 100;
        rank->command = job;
        rank->command_size = sizeof(job);
        rank->settings = settings.text;
        rank->settings_size = settings.size;
        rank->samples = 1000;
        rank->spins = spins;
        rank->calls = calls;
    }
    for (unsigned cpu = 0; cpu < 2; cpu++)
        view_occupy(cpu, 9.9);
}

#define MPIRUN OF("/opt/bin/mpirun.openmpi\0-n\0003\0./my job")
#define OPEN_MPI OF("OMPI_COMM_WORLD_SIZE=3\0OMPI_COMM_WORLD_RANK=0\0OMPI_MCA_mpi_oversubscribe=0")

static bool has_words(const char *words)
{
    bool has = false;
    for (size_t i = 0; i < diagnosis.n; i++)
        has |= strstr(diagnosis.all[i].finding.sentence, words) != NULL;
    return has;
}

/* As four ranks on two CPUs, which did 1/37 of the work of two. */
TEST(ranks_that_poll_for_each_other_are_named)
{
    plant_ranks(3, MPIRUN, OPEN_MPI, 970, 10);
    view_judge();
    const struct found *found = &diagnosis.all[0];
    assert_string_equal(found->finding.id, "ranks_poll");
    assert_int_equal(found->finding.severity, FINDING_BAD);
    assert_int_equal(found->npids, 3);
    assert_string_equal(found->finding.command, "/opt/bin/mpirun.openmpi -x "
                                                "OMPI_MCA_mpi_yield_when_idle=1 -n 3 './my job'");
    assert_int_equal(found->env_changes.n, 1);
    assert_string_equal(found->env_changes.settings[0], "OMPI_MCA_mpi_yield_when_idle=1");
    assert_float_equal(found->gain.times, 8, 1e-9);
    assert_non_null(found->gain.at_least);
    assert_has(found->finding.sentence,
               "3 ranks share 2 CPUs (0-1), and poll for 96% of their CPU time");
    assert_false(has_words("same total"));
    assert_null(view_look_for("masks_overlap"));
}

/* They lose little if they yield, have a CPU each, or compute. */
TEST(ranks_that_do_not_lose_are_left_alone)
{
    static const struct {
        unsigned n, spins, calls;
    } cases[] = {{3, 560, 520}, {2, 970, 10}, {3, 100, 10}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        plant_ranks(cases[i].n, MPIRUN, OPEN_MPI, cases[i].spins, cases[i].calls);
        view_judge();
        assert_null(view_look_for("ranks_poll"));
        if (diagnosis_is_bad(&diagnosis))
            fail_msg("%s", diagnosis.all[0].finding.sentence);
        assert_int_equal(has_words("same total"), cases[i].spins == 100);
    }
}

/* No gain beyond the rank that computes most, such as the one that the others wait for. */
TEST(the_busiest_rank_limits_the_gain)
{
    plant_ranks(3, MPIRUN, OPEN_MPI, 990, 0);
    machine.processes[2].spins = 0;
    view_judge();
    assert_true(fabs(diagnosis.all[0].gain.times - 10 / 6.6) < 1e-9);
    assert_null(diagnosis.all[0].gain.at_least);
}

/* Without a known setting, the launcher's own line has fewer ranks; no line if it does not name
 * their number once. */
TEST(launchers_start_fewer_ranks)
{
    const struct {
        struct words launcher, settings;
        const char *command;
    } cases[] = {
        {OF("mpiexec.hydra\0-n\0003\0./job\0-n\0004"), OF("PMI_SIZE=3\0PMI_RANK=1"),
         "mpiexec.hydra -n 2 ./job -n 4"},
        {OF("mpiexec\0-n\0001\0./a\0:\0-n\0002\0./b"), OF("PMI_SIZE=3\0PMI_RANK=1"), ""},
        {OF("mpiexec\0-n\0003\0./a\0-n\0003"), OF("PMI_SIZE=3\0PMI_RANK=1"), ""},
        {OF("python3\0/opt/torchrun\0--nproc-per-node=3\0train.py\0$(reboot)"),
         OF("RANK=0\0WORLD_SIZE=3\0TORCHELASTIC_RUN_ID=none"),
         "python3 /opt/torchrun --nproc-per-node=2 train.py '$(reboot)'"},
        {OF("slurmstepd: [7.0]"), OF("SLURM_JOB_ID=7\0SLURM_PROCID=0"), "srun --ntasks=2 ./job"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        plant_ranks(3, cases[i].launcher, cases[i].settings, 900, 0);
        view_judge();
        assert_string_equal(diagnosis.all[0].finding.id, "ranks_poll");
        assert_string_equal(diagnosis.all[0].finding.command, cases[i].command);
        assert_int_equal(diagnosis.all[0].env_changes.n, 0);
    }
}

/* A job whose launcher is not seen is known by its environment; others by parent and name, if each
 * polls. */
TEST(a_job_is_known_by_its_environment_too)
{
    const struct {
        struct words settings[3];
        bool is_one_parent;
        unsigned npids; /* 0 = no finding */
    } cases[] = {
        {{OF("RANK=0\0WORLD_SIZE=3"), OF("RANK=1\0WORLD_SIZE=3"), OF("RANK=2\0WORLD_SIZE=3")},
         false,
         3},
        {{OF("RANK=0\0WORLD_SIZE=3\0MASTER_PORT=1"), OF("RANK=1\0WORLD_SIZE=3\0MASTER_PORT=1"),
          OF("RANK=2\0WORLD_SIZE=3\0MASTER_PORT=2")},
         false,
         2}, /* beside a rank of another job that polls */
        {{OF("PMIX_NAMESPACE=7\0PMIX_RANK=0"), OF("PMIX_NAMESPACE=7\0PMIX_RANK=1"),
          OF("PMIX_NAMESPACE=7\0PMIX_RANK=2")},
         false,
         3},
        {{OF("A="), OF("A="), OF("A=")}, true, 3},
        {{OF("A="), OF("A="), OF("A=")}, false, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        plant_ranks(3, OF("bash"), OF(""), 900, 0);
        for (size_t r = 0; r < 3; r++) {
            machine.processes[r + 1].settings = cases[i].settings[r].text;
            machine.processes[r + 1].settings_size = cases[i].settings[r].size;
            machine.processes[r + 1].parent = cases[i].is_one_parent ? 100 : 200 + (int)r;
        }
        view_judge();
        const struct found *found = view_look_for("ranks_poll");
        assert_int_equal(found ? found->npids : 0, cases[i].npids);
        if (cases[i].npids == 2)
            assert_has(found->finding.sentence, "2 ranks share 2 CPUs (0-1) with 1 "
                                                "other that polls, and poll for 90%");
        assert_false(has_words("same total"));
    }
}

/* Without samples, an MPI that does not yield is a warning of unknown gain, and nothing is said of
 * the total. */
TEST(without_samples_their_mpi_decides)
{
    const struct {
        unsigned libraries;
        struct words settings;
        bool is_named;
    } cases[] = {{LIBRARY_MPI, OPEN_MPI, true},
                 {LIBRARY_MPI, OF("OMPI_COMM_WORLD_RANK=0\0OMPI_MCA_mpi_oversubscribe=1"), false},
                 {LIBRARY_MPI, OF("OMPI_COMM_WORLD_RANK=0\0OMPI_MCA_mpi_yield_when_idle=1"), false},
                 {0, OPEN_MPI, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        plant_ranks(3, MPIRUN, cases[i].settings, 0, 0);
        for (size_t r = 1; r <= 3; r++) {
            machine.processes[r].samples = 0;
            machine.about[r].libraries = cases[i].libraries;
        }
        view_judge();
        const struct found *found = view_look_for("ranks_poll");
        assert_int_equal(found != NULL, cases[i].is_named);
        if (found) {
            assert_int_equal(found->finding.severity, FINDING_DOUBT);
            assert_true(isnan(found->gain.times));
        } else
            assert_true(has_words("No samples show"));
        assert_false(has_words("same total"));
    }
}

/* Processes that take two thirds of the CPUs would take as much of what polling leaves. */
TEST(others_take_their_share_of_the_gain)
{
    plant_ranks(3, MPIRUN, OPEN_MPI, 600, 0);
    for (size_t r = 1; r <= 3; r++)
        machine.tasks[r][0].oncpu_s = 2.2;
    view_judge();
    assert_true(diagnosis.all[0].gain.times > 1.3 && diagnosis.all[0].gain.times <= 1.5);
}

/* Ranks that poll beside a process of another kind: only they are named, with their own share. */
TEST(others_do_not_dilute_a_job)
{
    plant_ranks(3, OF("bash"), OF("RANK=0\0WORLD_SIZE=2"), 900, 0);
    machine.processes[3].settings_size = machine.processes[3].spins = 0;
    for (size_t r = 1; r <= 2; r++)
        machine.tasks[r][0] = (struct view_task){.mask = 0, .oncpu_s = 1, .wait_s = 9};
    view_judge();
    const struct found *found = view_found("ranks_poll");
    assert_int_equal(found->npids, 2);
    assert_float_equal(found->cost, 0.9, 1e-9);
}
