/* Launchers of equal tasks, each of which learns its rank: Slurm, torchrun, mpirun. */
#include <stdlib.h>

#include "harness/lib/text.h"
#include "harness/plan/emit/quote.h"
#include "harness/plan/emit/script.h"

/*
 * Shell code that each task runs: binds the task, but never to CPUs that the launcher withholds,
 * then execs the worker. `rank` is a shell expression for the task's number. `without` names a
 * variable that is set outside the task, or is NULL.
 */
static void add_task(struct strbuf *out, const struct emit *emit, const char *rank,
                     const char *without)
{
    struct strbuf task = {0};
    strbuf_addc(&task, '\n');
    script_allowed(&task, emit, false);
    script_unset(&task, emit, "");
    script_bound(&task, "");
    strbuf_addf(&task, "case %s in\n", rank);
    for (unsigned w = 0; w < emit->nworkers; w++) {
        const struct emit_worker *worker = &emit->worker[w];
        strbuf_addf(&task, "%u)\n", w);
        script_export(&task, worker, without);
        if (worker->cpus[0])
            strbuf_addf(&task, "    may %s\n", worker->cpus);
        script_add_bound(&task, worker);
        strbuf_adds(&task, "\n    ;;\n");
    }
    strbuf_addf(&task,
                "*)\n"
                "    echo \"no worker for rank %s\" >&2\n"
                "    exit 2\n"
                "    ;;\n"
                "esac\n",
                rank);
    char *text = strbuf_take(&task);
    out->failed = out->failed || !text;
    strbuf_adds(out, "task=");
    quote_shell(out, text ? text : "");
    strbuf_addc(out, '\n');
    free(text);
}

/* Appends the CPUs as a mask in the format of Slurm and taskset: "0xff00". */
static void add_mask(struct strbuf *out, const struct bitset *cpus)
{
    unsigned word = BITSET_WORDS - 1;
    while (word && !cpus->word[word])
        word--;
    strbuf_addf(out, "0x%llx", (unsigned long long)cpus->word[word]);
    while (word--)
        strbuf_addf(out, "%016llx", (unsigned long long)cpus->word[word]);
}

/*
 * The step gets all GPUs of the node, unbound, and each task selects its GPU by PCI bus order.
 * --gpus-per-task and map_gpu do not work here: Slurm numbers only the GPUs of the step, and a task
 * that sees only its own GPU cannot copy to another GPU.
 */
int emit_slurm(const struct emit *emit, struct strbuf *out, struct err *err)
{
    (void)err;
    char gpus[32] = "";
    if (emit->gpus)
        text_set(gpus, " --gpus-per-node=%u", topo_visible_gpus(emit->job->topo));
    const char *usage = str_fmt("#   sbatch FILE, or: salloc -N 1 --exclusive -n %u%s sh FILE\n",
                                emit->nworkers, gpus);
    script_begin(out, emit, usage);
    strbuf_addf(out, "#SBATCH --nodes=1 --exclusive --ntasks=%u%s\n", emit->nworkers, gpus);
    add_task(out, emit, "$SLURM_PROCID", NULL);
    strbuf_addf(out, "exec srun --nodes=1 --ntasks=%u", emit->nworkers);
    for (unsigned w = 0; w < emit->nworkers && emit->binds_cpus; w++) {
        strbuf_adds(out, w ? "," : " --cpu-bind=mask_cpu:");
        add_mask(out, &emit->worker[w].plan->cpus);
    }
    strbuf_adds(out, emit->binds_cpus ? "" : " --cpu-bind=none");
    strbuf_addf(out, "%s%s", gpus, gpus[0] ? " --gpu-bind=none" : "");
    strbuf_adds(out, " sh -c \"$task\" </dev/null\n");
    return 0;
}

/* All processes of a PyTorch job see all GPUs and use the GPU of their local rank. */
int emit_torchrun(const struct emit *emit, struct strbuf *out, struct err *err)
{
    (void)err;
    bool all_see = emit->own_gpus && !emit->numbers_gpu;
    script_begin(out, emit,
                 "# The command is that of one rank: a program, as in 'python3 train.py'. torchrun "
                 "itself could bind CPUs,\n# but no memory.\n");
    add_task(out, emit, "$LOCAL_RANK", all_see ? "CUDA_VISIBLE_DEVICES" : NULL);
    for (unsigned w = 0; w < emit->nworkers && all_see; w++) {
        strbuf_adds(out, w ? ","
                           : "# GPU number LOCAL_RANK is the worker's own.\n"
                             "export CUDA_VISIBLE_DEVICES=");
        strbuf_adds(out, emit->worker[w].gpu);
    }
    strbuf_adds(out, all_see ? "\n" : "");
    strbuf_addf(out,
                "exec torchrun --standalone --nproc-per-node=%u --no-python sh -c \"$task\" "
                "</dev/null\n",
                emit->nworkers);
    return 0;
}

int emit_mpirun(const struct emit *emit, struct strbuf *out, struct err *err)
{
    (void)err;
    bool binds = emit->binds_cpus && !plan_overlaps(emit->job->plan);
    script_begin(out, emit, "");
    script_allowed(out, emit, true); /* here too: Open MPI may bind to disallowed CPUs */
    add_task(out, emit, "${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${PMI_RANK:-}}}", NULL);
    strbuf_adds(out, "# Each task binds itself, and Intel MPI must not: I_MPI_PIN is its own.\n"
                     "export I_MPI_PIN=0\n"
                     "version=$(mpirun --version)\n"
                     "case $version in\n"
                     "*Intel*) set -- ;;\n"
                     "*) set -- --bind-to none ;;\n"
                     "esac\n");
    if (binds) {
        strbuf_adds(out, "# Open MPI up to version 4 binds by a file of ranks.\n"
                         "case $version in *\"Open MPI) \"[1-4].*)\n"
                         "    ranks=$(mktemp)\n"
                         "    trap 'rm -f \"$ranks\"' EXIT\n"
                         "    trap 'exit 130' INT\n"
                         "    trap 'exit 143' TERM\n"
                         "    cat >\"$ranks\" <<\"RANKS\"\n");
        for (unsigned w = 0; w < emit->nworkers; w++)
            strbuf_addf(out, "rank %u=localhost slot=%s\n", w,
                        emit->worker[w].cpus[0] ? emit->worker[w].cpus : "*");
        strbuf_adds(out, "RANKS\n"
                         "    set -- --rankfile \"$ranks\" --mca rmaps_rank_file_physical 1\n"
                         "    ;;\n"
                         "esac\n");
    }
    strbuf_addf(out, "mpirun -n %u \"$@\" sh -c \"$task\" </dev/null\n", emit->nworkers);
    return 0;
}
