#include "harness/plan/emit/emit.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/plan/emit/parts.h"
#include "harness/plan/emit/quote.h"

static const struct format {
    emit_fn *make;
    bool ranks, chosen;
} formats[] = {
#define EMIT_FORMAT(id, name, text, ...) {emit_##name, __VA_ARGS__},
    EMIT_LIST(EMIT_FORMAT)};

const char *const emit_names[EMIT_FORMATS + 1] = {
#define EMIT_NAME(id, name, text, ...) text,
    EMIT_LIST(EMIT_NAME) NULL};

static void set_variable(struct emit_worker *worker, const char *name, const char *value)
{
    struct emit_variable *variable = &worker->variable[worker->nvariables++];
    assert(worker->nvariables <= sizeof(worker->variable) / sizeof(*worker->variable));
    text_set(variable->name, "%s", name);
    text_set(variable->value, "%s", value);
}

/*
 * Selects the worker's GPU by its number in PCI bus order: CUDA's default order may differ in
 * another environment. If CUDA_VISIBLE_DEVICES is set here, not all GPUs are known, and only the
 * UUID identifies the same GPU.
 */
static void set_gpu(const struct emit *emit, struct emit_worker *worker)
{
    const struct topo_gpu *gpu = &emit->job->topo->gpus[worker->plan->gpu];
    bool by_uuid = emit->job->renumbered && quote_is_plain_everywhere(gpu->uuid);
    if (by_uuid)
        text_set(worker->gpu, "%s", gpu->uuid);
    else
        text_set(worker->gpu, "%u", topo_gpu_bus_number(emit->job->topo, gpu));
    if (!by_uuid)
        set_variable(worker, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    if (!worker->numbers_gpu)
        set_variable(worker, "CUDA_VISIBLE_DEVICES", worker->gpu);
}

/* The command of a worker, before its placeholders are replaced. */
static const char *const *words_of(const struct emit *emit, unsigned w)
{
    static const char *const job[] = {"./your_command", NULL};
    static const char *const load[] = {"./your_background_load", NULL};
    if (emit->job->plan->workers[w].background)
        return load;
    return emit->job->each ? emit->job->each[w].words : emit->job->words ? emit->job->words : job;
}

/* A free port that no worker before this one has; "" = none. */
static const char *find_port(const struct emit *emit, struct emit_worker *worker)
{
    enum { TRIES = 100 };
    for (int i = 0; emit->job->free_port && i < TRIES; i++) {
        const struct emit_worker *other = emit->worker;
        worker->port = emit->job->free_port();
        while (other < worker && other->port != worker->port)
            other++;
        if (other == worker && worker->port > 0)
            return str_fmt("%d", worker->port);
    }
    return "";
}

static int expand(const struct emit *emit, struct emit_worker *worker, unsigned w,
                  struct placeholder_values *values, struct err *err)
{
    const char *const *words = words_of(emit, w);
    size_t n = 0;
    while (words[n])
        n++;
    worker->words = calloc(n + 1, sizeof(*worker->words));
    if (!worker->words)
        return err_set(err, -ENOMEM, "no memory for the command");
    placeholders_of(emit->job->topo, emit->job->plan, w, values);
    if (!worker->plan->background && emit->job->each) {
        values->number = str_fmt("%u", emit->job->each[w].worker);
        values->workers = str_fmt("%u", emit->job->each[w].workers);
    }
    for (size_t i = 0; i < n; i++) {
        if (!values->port[0] && placeholders_use(words[i], PLACEHOLDER_PORT))
            values->port = find_port(emit, worker);
        worker->words[i] = placeholders_expand(words[i], values, err);
        if (!worker->words[i])
            return -EINVAL;
    }
    return 0;
}

static int check_command(const struct emit *emit, unsigned w, struct emit_worker *worker,
                         struct err *err)
{
    const char *const *words = words_of(emit, w);
    if (!words[0][0] || words[0][0] == '-')
        return err_set(err, -EINVAL, "'%.60s' is no command", words[0]);
    for (; *words; words++)
        worker->numbers_gpu |= placeholders_use(*words, PLACEHOLDER_GPU);
    if (worker->numbers_gpu && emit->job->renumbered)
        return err_set(
            err, -EINVAL,
            "{gpu} is a number among all GPUs, and CUDA_VISIBLE_DEVICES hides some here: "
            "unset it for 'contend place'");
    return 0;
}

/* `all`: the CPUs of the machine. A worker gets no CPU list only if it has all of them. Having all
 * of our own mask is not enough: a daemon starts containers and units, which do not inherit it. */
static int prepare_worker(const struct emit *emit, unsigned w, const struct bitset *all,
                          struct placeholder_values *values, struct err *err)
{
    struct emit_worker *worker = &emit->worker[w];
    worker->plan = &emit->job->plan->workers[w];
    worker->cpus = bitset_equal(&worker->plan->cpus, all) ? "" : bitset_format(&worker->plan->cpus);
    worker->nodes =
        worker->plan->mem_policy == MEM_DEFAULT ? "" : bitset_format(&worker->plan->mem_nodes);
    int rc = check_command(emit, w, worker, err);
    if (rc)
        return rc;
    if (worker->plan->gpu >= 0)
        set_gpu(emit, worker);
    const char *threads = str_fmt("%u", worker->plan->threads);
    for (unsigned i = 0; i < INHERITED_TEAMS; i++)
        set_variable(worker, inherited_teams[i], threads);
    if (worker->plan->passive)
        set_variable(worker, "OMP_WAIT_POLICY", "passive");
    return expand(emit, worker, w, values, err);
}

static void sum_up(struct emit *emit)
{
    emit->own_gpus = true;
    for (unsigned w = 0; w < emit->nworkers; w++) {
        const struct emit_worker *worker = &emit->worker[w];
        emit->gpus = emit->gpus || worker->gpu[0];
        emit->numbers_gpu = emit->numbers_gpu || worker->numbers_gpu;
        emit->binds_cpus = emit->binds_cpus || worker->cpus[0];
        emit->binds_memory = emit->binds_memory || worker->nodes[0];
        emit->own_gpus = emit->own_gpus && worker->gpu[0];
        for (unsigned other = 0; other < w; other++)
            if (emit->worker[other].plan->gpu == worker->plan->gpu)
                emit->own_gpus = false;
    }
}

/* The caller frees *emit with emit_free, also after an error. */
static int prepare(const struct emit_job *job, struct emit *emit, struct err *err)
{
    struct bitset all = {0};
    *emit = (struct emit){.job = job,
                          .nworkers = job->plan->nworkers,
                          .pinned = placement_infos[job->plan->placement].pinned};
    int rc = 0;
    struct placeholder_values *values = malloc(sizeof(*values));
    emit->worker = calloc(emit->nworkers, sizeof(*emit->worker));
    if (!values || !emit->worker)
        rc = err_set(err, -ENOMEM, "no memory for %u workers", emit->nworkers);
    for (unsigned i = 0; i < job->topo->ncpus; i++)
        bitset_set(&all, job->topo->cpus[i].os_cpu);
    for (unsigned w = 0; w < emit->nworkers && !rc; w++)
        rc = prepare_worker(emit, w, &all, values, err);
    free(values);
    if (!rc)
        sum_up(emit);
    return rc;
}

static void emit_free(struct emit *emit)
{
    for (unsigned w = 0; emit->worker && w < emit->nworkers; w++) {
        for (char **word = emit->worker[w].words; word && *word; word++)
            free(*word);
        free(emit->worker[w].words);
    }
    free(emit->worker);
}

void emit_numactl_option(struct strbuf *out, const struct emit_worker *worker)
{
    static const char *const options[] = {[MEM_DEFAULT] = "",
                                          [MEM_BIND] = "--membind=",
                                          [MEM_PREFERRED] = "--preferred=",
                                          [MEM_INTERLEAVE] = "--interleave="};
    strbuf_addf(out, "%s%s", options[worker->plan->mem_policy], worker->nodes);
}

bool emit_has_soft_memory(const struct emit *emit)
{
    for (unsigned w = 0; w < emit->nworkers; w++)
        if (emit->worker[w].nodes[0] && emit->worker[w].plan->mem_policy != MEM_BIND)
            return true;
    return false;
}

/* Wraps the text, so that a comment needs no scrolling. Modifies `text`. */
static void add_comment(struct strbuf *out, char *text, const char *comment, const char *newline)
{
    enum { WIDTH = 96 };
    size_t column = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        bool breaks = column && column + strlen(word) > WIDTH;
        strbuf_addf(out, "%s%s%s%s", breaks ? newline : "", breaks || !column ? comment : " ",
                    breaks ? "  " : "", word);
        column =
            (breaks || !column ? strlen(comment) + (breaks ? 2 : 0) : column + 1) + strlen(word);
    }
    strbuf_adds(out, newline);
}

void emit_findings(struct strbuf *out, const struct emit *emit, const char *comment,
                   const char *newline)
{
    const struct findings *findings = emit->job->findings;
    for (size_t i = 0; findings && i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        char *text = str_fmt("- %s: %s", finding->subject, finding->sentence);
        for (char *at = text; *at; at++)
            if ((unsigned char)*at < ' ' || strchr("%^&<>|\x7f", *at))
                *at = ' ';
        add_comment(out, text, comment, newline);
    }
}

void emit_words(struct strbuf *out, const struct emit_worker *worker,
                void (*quote)(struct strbuf *out, const char *word))
{
    for (char **word = worker->words; *word; word++) {
        strbuf_addc(out, ' ');
        quote(out, *word);
    }
}

void emit_title(struct strbuf *out, const struct emit *emit, unsigned w)
{
    const struct emit_worker *worker = &emit->worker[w];
    strbuf_addf(out, "# worker %u%s: %s%s, %u thread%s", w,
                worker->plan->background ? " (background)" : "",
                worker->cpus[0] ? "CPUs " : "all CPUs", worker->cpus, worker->plan->threads,
                worker->plan->threads == 1 ? "" : "s");
    if (worker->nodes[0])
        strbuf_addf(out, ", memory %s %s", mem_policy_name(worker->plan->mem_policy),
                    worker->nodes);
    if (worker->gpu[0])
        strbuf_addf(out, ", GPU %s", worker->gpu);
    strbuf_addc(out, '\n');
}

static int check_format(enum emit_format format, const struct emit *emit, struct err *err)
{
    static const enum placeholder chosen[] = {PLACEHOLDER_CPUS, PLACEHOLDER_NODE};
    if (formats[format].ranks && emit->worker[emit->nworkers - 1].plan->background)
        return err_set(err, -EINVAL, "%s starts equal tasks: leave --background-workers out",
                       emit_names[format]);
    if (formats[format].ranks && emit->job->each)
        return err_set(err, -EINVAL, "%s starts equal tasks, not unlike jobs", emit_names[format]);
    for (unsigned i = 0; formats[format].chosen && i < 2; i++)
        for (const char *const *word = emit->job->words; word && *word; word++)
            if (placeholders_use(*word, chosen[i]))
                return err_set(err, -EINVAL, "{%s} is not known: %s chooses the CPUs itself",
                               placeholder_names[chosen[i]], emit_names[format]);
    return 0;
}

char *emit_text(enum emit_format format, const struct emit_job *job, struct err *err)
{
    struct emit emit;
    struct strbuf out = {0};
    char *text = NULL;
    int rc = prepare(job, &emit, err);
    if (!rc)
        rc = check_format(format, &emit, err);
    if (!rc)
        rc = formats[format].make(&emit, &out, err);
    if (!rc && !(text = strbuf_take(&out)))
        (void)err_set(err, -ENOMEM, "no memory for the text");
    strbuf_free(&out);
    emit_free(&emit);
    return text;
}
