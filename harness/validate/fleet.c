#include "harness/validate/fleet.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/stats.h"
#include "harness/lib/text.h"
#include "harness/verdict/runs/pairing.h"

struct intern_entry {
    size_t at, length; /* in struct intern's text */
    uint64_t hash;
};

/*
 * Multiplicative hashing (Knuth 1973, 6.4), eight bytes at a time: keys are a hundred bytes long,
 * and a large fleet has millions of them.
 */
static uint64_t hash_of(const char *text, size_t length)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = length, word;
    for (size_t left = length, step; left; left -= step, text += step) {
        step = left < sizeof(word) ? left : sizeof(word);
        word = 0;
        memcpy(&word, text, step);
        hash = (hash ^ word) * golden;
        hash ^= hash >> 32;
    }
    return hash;
}

/* The slot of the string, or a free slot for it: half of the slots are always free. */
static size_t find_slot(const struct intern *intern, const char *text, size_t length, uint64_t hash)
{
    size_t slot = (size_t)hash & (intern->nslots - 1);
    for (;; slot = (slot + 1) & (intern->nslots - 1)) {
        if (!intern->slots[slot])
            return slot;
        const struct intern_entry *entry = &intern->entries[intern->slots[slot] - 1];
        if (entry->hash == hash && entry->length == length &&
            memcmp(intern->text + entry->at, text, length) == 0)
            return slot;
    }
}

/* Grows the hash slots, so that at most half are used. */
static bool grow_slots(struct intern *intern)
{
    enum { FIRST = 64 };
    if (2 * ((size_t)intern->n + 1) <= intern->nslots)
        return true;
    size_t nslots = intern->nslots ? 2 * intern->nslots : FIRST;
    uint32_t *slots = calloc(nslots, sizeof(*slots));
    if (!slots)
        return false;
    for (uint32_t i = 0; i < intern->n; i++) {
        size_t slot = (size_t)intern->entries[i].hash & (nslots - 1);
        while (slots[slot])
            slot = (slot + 1) & (nslots - 1);
        slots[slot] = i + 1;
    }
    free(intern->slots);
    intern->slots = slots;
    intern->nslots = nslots;
    return true;
}

static bool make_text(struct intern *intern, size_t length)
{
    enum { FIRST = 4096 };
    size_t larger = intern->text_capacity ? intern->text_capacity : FIRST;
    if (intern->used + length + 1 <= intern->text_capacity)
        return true;
    while (larger < intern->used + length + 1)
        larger *= 2;
    char *text = realloc(intern->text, larger);
    if (!text)
        return false;
    intern->text = text;
    intern->text_capacity = larger;
    return true;
}

int intern_add(struct intern *intern, const char *text, size_t length, uint32_t *number,
               struct err *err)
{
    uint64_t hash = hash_of(text, length);
    if (!grow_slots(intern) || !make_text(intern, length))
        return err_set(err, -ENOMEM, "out of memory for %u names", intern->n + 1);
    size_t slot = find_slot(intern, text, length, hash);
    if (intern->slots[slot]) {
        *number = intern->slots[slot] - 1;
        return 0;
    }
    struct intern_entry *added = array_add(intern->entries, intern->n, intern->capacity);
    if (!added)
        return err_set(err, -ENOMEM, "out of memory for %u names", intern->n + 1);
    *added = (struct intern_entry){intern->used, length, hash};
    memcpy(intern->text + intern->used, text, length);
    intern->text[intern->used + length] = '\0';
    intern->used += length + 1;
    *number = intern->n - 1;
    intern->slots[slot] = intern->n;
    return 0;
}

uint32_t intern_find(const struct intern *intern, const char *text, size_t length)
{
    if (!intern->n)
        return INTERN_NONE;
    size_t slot = find_slot(intern, text, length, hash_of(text, length));
    return intern->slots[slot] ? intern->slots[slot] - 1 : INTERN_NONE;
}

const char *intern_text(const struct intern *intern, uint32_t number)
{
    return intern->text + intern->entries[number].at;
}

void intern_free(struct intern *intern)
{
    free(intern->entries);
    free(intern->text);
    free(intern->slots);
    *intern = (struct intern){0};
}

/* Separates the columns of a key. */
#define SEPARATOR '\037'

const char *const fleet_columns[FLEET_COLUMNS] = {"scenario", "placement", "workers", "role",
                                                  "bench",    "params",    "device",  "metric"};

size_t fleet_key_join(const char *const columns[FLEET_COLUMNS], char key[static FLEET_KEY_MAX])
{
    size_t used = 0;
    for (int i = 0; i < FLEET_COLUMNS; i++) {
        size_t length = strlen(columns[i]);
        if (used + length + 1 > FLEET_KEY_MAX || memchr(columns[i], SEPARATOR, length))
            return 0;
        memcpy(key + used, columns[i], length);
        used += length;
        key[used++] = i + 1 < FLEET_COLUMNS ? SEPARATOR : '\0';
    }
    return used - 1;
}

const char *fleet_key_column(const char *key, enum fleet_column column)
{
    static const char separator[] = {SEPARATOR, '\0'};
    for (int i = 0; i < (int)column && *key; i++) {
        key += strcspn(key, separator);
        key += *key != '\0';
    }
    return str_fmt("%.*s", (int)strcspn(key, separator), key);
}

size_t fleet_key_plain(const struct bench *const *benches, const char *key,
                       char plain[static FLEET_KEY_MAX])
{
    const char *columns[FLEET_COLUMNS];
    for (int i = 0; i < FLEET_COLUMNS; i++)
        columns[i] = fleet_key_column(key, (enum fleet_column)i);
    const struct bench *bench = benches ? bench_find(benches, columns[FLEET_BENCH]) : NULL;
    if (!bench) {
        (void)snprintf(plain, FLEET_KEY_MAX, "%s", key);
        return strlen(plain);
    }
    columns[FLEET_PARAMS] = params_without_defaults(bench->opts, columns[FLEET_PARAMS]);
    return fleet_key_join(columns, plain);
}

const char *fleet_key_format(const char *key)
{
    const char *part[FLEET_COLUMNS];
    for (int i = 0; i < FLEET_COLUMNS; i++)
        part[i] = fleet_key_column(key, (enum fleet_column)i);
    const char *planned_workers = strstr(part[FLEET_PARAMS], "slots=");
    const char *at = planned_workers ? strchr(planned_workers, ';') : NULL; /* in a scan */
    const char *text = str_fmt("%s of %s", part[FLEET_METRIC], part[FLEET_BENCH]);
    if (!at || !at[1])
        str_add(&text, ", ", "%s, %s workers", part[FLEET_PLACEMENT], part[FLEET_WORKERS]);
    for (; at && *at; at += strcspn(at, ";")) {
        at++;
        str_add(&text, ", ", "%.*s", (int)strcspn(at, ";"), at);
    }
    return text;
}

static int add_machine(struct fleet *fleet, const char *name, uint32_t *machine, struct err *err)
{
    uint32_t nbefore = fleet->names.n;
    int rc = intern_add(&fleet->names, name, strlen(name), machine, err);
    if (rc || *machine < nbefore)
        return rc;
    struct fleet_machine *grown =
        array_grown(fleet->machines, nbefore, &fleet->machines_capacity, sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "out of memory for %u machines", nbefore + 1);
    fleet->machines = grown;
    grown[nbefore] = (struct fleet_machine){.kind = INTERN_NONE};
    return 0;
}

/* Finds or adds the machine of that name. A machine with another identity gets it in its name. */
static int find_machine(struct fleet *fleet, const struct fleet_origin *origin, uint32_t *machine,
                        struct err *err)
{
    int rc = add_machine(fleet, origin->name, machine, err);
    const char *known = rc ? "" : fleet->machines[*machine].identity;
    if (!rc && known[0] && origin->identity[0] && strcmp(known, origin->identity) != 0) {
        const char *name = str_fmt("%s (%s)", origin->name, origin->identity);
        rc = add_machine(fleet, name, machine, err);
    }
    return rc;
}

int fleet_add_run(struct fleet *fleet, const struct fleet_origin *origin, uint32_t *run,
                  struct err *err)
{
    uint32_t machine, kind;
    int rc = find_machine(fleet, origin, &machine, err);
    if (!rc)
        rc = intern_add(&fleet->kinds, origin->kind, strlen(origin->kind), &kind, err);
    if (rc)
        return rc;
    struct fleet_run *added = array_add(fleet->runs, fleet->nruns, fleet->runs_capacity);
    if (!added)
        return err_set(err, -ENOMEM, "out of memory for %zu runs", fleet->nruns + 1);
    *added = (struct fleet_run){machine, origin->started};
    *run = (uint32_t)fleet->nruns - 1;
    struct fleet_machine *of = &fleet->machines[machine];
    if (!of->identity[0])
        (void)snprintf(of->identity, sizeof(of->identity), "%s", origin->identity);
    if (of->kind == INTERN_NONE || origin->started >= of->newest) {
        of->kind = kind;
        of->newest = origin->started;
    }
    return 0;
}

/* "17\037pipeline\037partition\037prep": an arm, which is skipped or fails as a whole. */
static size_t join_arm(uint32_t machine, const char *scenario, const char *placement,
                       const char *bench, char *buf, size_t size)
{
    int length = snprintf(buf, size, "%u%c%s%c%s%c%s", machine, SEPARATOR, scenario, SEPARATOR,
                          placement, SEPARATOR, bench);
    return (size_t)length < size ? (size_t)length : size - 1;
}

int fleet_add_missing_reason(struct fleet *fleet, uint32_t run,
                             const char *const columns[FLEET_COLUMNS], bool failed,
                             const char *text, struct err *err)
{
    char arm[FLEET_KEY_MAX];
    uint32_t at = 0, nbefore = fleet->arms.n;
    size_t length = join_arm(fleet->runs[run].machine, columns[FLEET_SCENARIO],
                             columns[FLEET_PLACEMENT], columns[FLEET_BENCH], arm, sizeof(arm));
    struct fleet_missing_reason *grown = array_grown(
        fleet->missing_reasons, nbefore, &fleet->missing_reasons_capacity, sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "out of memory for %u reasons", nbefore + 1);
    fleet->missing_reasons = grown;
    int rc = intern_add(&fleet->arms, arm, length, &at, err);
    if (!rc && at == nbefore)
        grown[at] = (struct fleet_missing_reason){.text = INTERN_NONE};
    if (!rc && (grown[at].text == INTERN_NONE || (failed && !grown[at].failed)))
        rc = intern_add(&fleet->texts, text, strlen(text), &grown[at].text, err);
    if (!rc)
        grown[at].failed = grown[at].failed || failed;
    return rc;
}

const char *fleet_missing_reason_of(const struct fleet *fleet, uint32_t machine, const char *key)
{
    char arm[FLEET_KEY_MAX];
    size_t length = join_arm(machine, fleet_key_column(key, FLEET_SCENARIO),
                             fleet_key_column(key, FLEET_PLACEMENT),
                             fleet_key_column(key, FLEET_BENCH), arm, sizeof(arm));
    uint32_t at = intern_find(&fleet->arms, arm, length);
    if (at == INTERN_NONE) /* the reason of all arms */
        at = intern_find(&fleet->arms, arm, join_arm(machine, "", "", "", arm, sizeof(arm)));
    return at == INTERN_NONE ? "" : intern_text(&fleet->texts, fleet->missing_reasons[at].text);
}

void fleet_add_verdict(struct fleet *fleet, uint32_t run, const char *text, bool inconclusive)
{
    struct fleet_machine *machine = &fleet->machines[fleet->runs[run].machine];
    if (fleet->runs[run].started < machine->validated)
        return;
    machine->validated = fleet->runs[run].started;
    (void)snprintf(machine->verdict, sizeof(machine->verdict), "%s", text);
    machine->inconclusive = inconclusive;
}

static int add_metric(struct fleet *fleet, uint32_t metric, uint32_t raw_key,
                      const struct fleet_figure *figure, struct err *err)
{
    struct fleet_metric *grown =
        array_grown(fleet->metrics, metric, &fleet->metrics_capacity, sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "out of memory for %u figures", metric + 1);
    fleet->metrics = grown;
    grown[metric] = (struct fleet_metric){.higher = figure->higher, .raw_key = raw_key};
    (void)snprintf(grown[metric].unit, sizeof(grown[metric].unit), "%s", figure->unit);
    return 0;
}

/* Adds a key. Its figure may exist already, from a key with fewer parameters. */
static int add_raw_key(struct fleet *fleet, uint32_t raw_key, const struct fleet_figure *figure,
                       struct err *err)
{
    char plain[FLEET_KEY_MAX];
    uint32_t nbefore = fleet->keys.n;
    uint32_t *grown =
        array_grown(fleet->metric_of, raw_key, &fleet->metric_of_capacity, sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "out of memory for %u figures", raw_key + 1);
    fleet->metric_of = grown;
    size_t length = fleet_key_plain(fleet->benches, intern_text(&fleet->raw_keys, raw_key), plain);
    int rc = intern_add(&fleet->keys, plain, length, &grown[raw_key], err);
    return rc || grown[raw_key] < nbefore ? rc : add_metric(fleet, nbefore, raw_key, figure, err);
}

int fleet_add_value(struct fleet *fleet, uint32_t run, const char *key, size_t key_length,
                    const struct fleet_figure *figure, struct err *err)
{
    uint32_t raw_key = 0, nbefore = fleet->raw_keys.n;
    /* Checked before the key is added: every key needs a value, to have a place among the cells. */
    if (strlen(figure->unit) >= FLEET_UNIT_MAX)
        return err_set(err, -EINVAL, "unit '%.31s...' is too long", figure->unit);
    if (fabs(figure->value) > (double)FLT_MAX)
        return err_set(err, -EINVAL, "value %g is too large", figure->value);
    int rc = intern_add(&fleet->raw_keys, key, key_length, &raw_key, err);
    if (!rc && raw_key == nbefore)
        rc = add_raw_key(fleet, raw_key, figure, err);
    if (rc)
        return rc;
    const uint32_t metric = fleet->metric_of[raw_key];
    struct fleet_metric *of = &fleet->metrics[metric];
    if (of->last_run == run + 1)
        return err_set(err, -EEXIST, "a second row of the same figure");
    if (strcmp(of->unit, figure->unit) != 0)
        return err_set(err, -EINVAL, "unit '%.31s', and '%.31s' in another result", figure->unit,
                       of->unit);
    if (of->higher != figure->higher)
        return err_set(err, -EINVAL, "better is '%s', and not in another result",
                       figure->higher ? "higher" : "lower");
    of->last_run = run + 1;
    struct fleet_value *added = array_add(fleet->values, fleet->nvalues, fleet->values_capacity);
    if (!added)
        return err_set(err, -ENOMEM, "out of memory for %zu figures", fleet->nvalues + 1);
    *added = (struct fleet_value){metric, run, (float)figure->value, figure->noisy};
    return 0;
}

/* Sorts by metric, machine and time, then in the order of addition. */
static int compare_values(const void *a, const void *b, void *runs_of)
{
    const struct fleet_value *one = a, *other = b;
    const struct fleet_run *run = (const struct fleet_run *)runs_of + one->run,
                           *other_run = (const struct fleet_run *)runs_of + other->run;
    if (one->metric != other->metric)
        return one->metric < other->metric ? -1 : 1;
    if (run->machine != other_run->machine)
        return run->machine < other_run->machine ? -1 : 1;
    if (run->started != other_run->started)
        return run->started < other_run->started ? -1 : 1;
    return one->run < other->run ? -1 : one->run > other->run;
}

/* Makes the cell of the values from `first` on that have its metric and machine. */
static struct fleet_cell make_cell(const struct fleet *fleet, size_t first)
{
    const struct fleet_value *value = &fleet->values[first];
    struct fleet_cell cell = {.machine = fleet->runs[value->run].machine, .first = first};
    double newest[FLEET_NEWEST];
    size_t end = first, n = 0, noisy = 0;
    while (end < fleet->nvalues && fleet->values[end].metric == value->metric &&
           fleet->runs[fleet->values[end].run].machine == cell.machine)
        end++;
    cell.nvalues = (uint32_t)(end - first);
    for (size_t i = end; i > first && n < FLEET_NEWEST; i--) {
        newest[n++] = (double)fleet->values[i - 1].value;
        noisy += fleet->values[i - 1].noisy;
    }
    cell.noisy = 2 * noisy >= n; /* otherwise most of the values are undisturbed */
    cell.value = stats_sort_median(newest, n);
    return cell;
}

static int make_cells(struct fleet *fleet, struct err *err)
{
    fleet->cells = calloc(fleet->nvalues + 1, sizeof(*fleet->cells));
    fleet->first = calloc((size_t)fleet->keys.n + 1, sizeof(*fleet->first));
    if (!fleet->cells || !fleet->first)
        return err_set(err, -ENOMEM, "out of memory for %zu figures", fleet->nvalues);
    for (size_t at = 0; at < fleet->nvalues; at += fleet->cells[fleet->ncells - 1].nvalues) {
        fleet->cells[fleet->ncells++] = make_cell(fleet, at);
        fleet->first[fleet->values[at].metric + 1] = fleet->ncells;
    }
    return 0;
}

int fleet_arrange(struct fleet *fleet, struct err *err)
{
    if (fleet->nvalues)
        qsort_r(fleet->values, fleet->nvalues, sizeof(*fleet->values), compare_values, fleet->runs);
    return make_cells(fleet, err);
}

void fleet_free(struct fleet *fleet)
{
    intern_free(&fleet->keys);
    intern_free(&fleet->raw_keys);
    free(fleet->metric_of);
    intern_free(&fleet->names);
    intern_free(&fleet->kinds);
    intern_free(&fleet->results);
    intern_free(&fleet->arms);
    intern_free(&fleet->texts);
    free(fleet->missing_reasons);
    free(fleet->metrics);
    free(fleet->machines);
    free(fleet->runs);
    free(fleet->values);
    free(fleet->cells);
    free(fleet->first);
    *fleet = (struct fleet){0};
}

static int compare_cells(const void *a, const void *b)
{
    const struct fleet_cell *one = a, *other = b;
    return one->machine < other->machine ? -1 : one->machine > other->machine;
}

const struct fleet_cell *fleet_find(const struct fleet *fleet, uint32_t metric, uint32_t machine)
{
    const struct fleet_cell wanted = {.machine = machine};
    size_t first = fleet->first[metric], n = fleet->first[metric + 1] - first;
    return n ? bsearch(&wanted, fleet->cells + first, n, sizeof(wanted), compare_cells) : NULL;
}

size_t fleet_count_kind(const struct fleet *fleet, uint32_t kind)
{
    size_t n = 0;
    for (uint32_t i = 0; i < fleet->names.n; i++)
        n += fleet->machines[i].kind == kind;
    return n;
}
