#include "harness/validate/rules/limit.h"

#include <math.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/machine/topo_gpu.h"
#include "harness/validate/rules/rules.h"

enum { SENTENCE_MAX = 400 };

/* The sum over all limits of a rule. */
struct tally {
    unsigned known; /* units with a known number */
    bool wrong;
    char passed[SENTENCE_MAX]; /* the sentence if nothing is wrong, */
    struct check check;        /* and its number */
};

bool unit_is_outside(const struct unit *unit)
{
    return !unit->facts->container;
}

bool machine_is_virtual(const struct facts *facts)
{
    return facts->env.virtual_machine > 0;
}

/* The largest value measured on the unit; NaN = none. Keys name GPUs by CUDA ordinal. */
static double measured(const struct number *number, const struct unit *unit)
{
    const struct facts_probe *probe = &unit->facts->probes[number->probe];
    char gpu[32] = "";
    double most = NAN;
    if (unit->of == OF_GPU)
        text_set(gpu, "gpu=%d", unit->facts->topo->gpus[unit->i].cuda_ordinal);
    for (size_t i = 0; i < probe->n; i++)
        if (strcmp(probe->values[i].metric, number->metric) == 0 &&
            text_has_words(probe->values[i].key, ';', number->part) &&
            text_has_words(probe->values[i].key, ';', gpu))
            most = fmax(most, probe->values[i].value);
    return most;
}

double unit_number(const struct number *number, const struct unit *unit)
{
    const void *at = (const char *)unit->at + number->at;
    double value = NAN;
    switch (number->from) {
    case CONSTANT:
        return number->constant;
    case FUNCTION:
        return number->make(unit);
    case MEASUREMENT:
        return measured(number, unit);
    case PEER_VALUE:
        break;
    case FIELD_INT:
        value = *(const int *)at;
        break;
    case FIELD_UNSIGNED:
        value = *(const unsigned *)at;
        break;
    case FIELD_INT64:
        value = (double)*(const int64_t *)at;
        break;
    case FIELD_UINT64:
        value = (double)*(const uint64_t *)at;
        break;
    case FIELD_DOUBLE:
        value = *(const double *)at;
        break;
    case FIELD_BOOL:
        value = *(const bool *)at;
        break;
    }
    return value < 0 ? (double)NAN : value;
}

/* For each kind of unit: offsets of its array in the facts, and of the name in a unit. */
static const struct {
    size_t array, n, size, name;
} arrays[] = {[OF_DEVICE] = {offsetof(struct facts, devices), offsetof(struct facts, ndevices),
                             sizeof(struct facts_device), 0},
              [OF_SOCKET] = {offsetof(struct facts, sockets), offsetof(struct facts, nsockets),
                             sizeof(struct facts_socket), offsetof(struct facts_socket, name)},
              [OF_DIMM] = {offsetof(struct facts, dimms), offsetof(struct facts, ndimms),
                           sizeof(struct facts_dimm), offsetof(struct facts_dimm, locator)},
              [OF_EDAC] = {offsetof(struct facts, edacs), offsetof(struct facts, nedac),
                           sizeof(struct facts_edac), offsetof(struct facts_edac, name)},
              [OF_PORT] = {offsetof(struct facts, ports), offsetof(struct facts, nports),
                           sizeof(struct facts_port), offsetof(struct facts_port, name)},
              [OF_EVENT] = {offsetof(struct facts, events), offsetof(struct facts, nevents),
                            sizeof(struct facts_event), 0}};

/* Finds the i-th unit of its kind; false after the last. `at` NULL: nothing is known of it. */
static bool find_unit(const struct facts *facts, enum limit_of of, size_t i, struct unit *unit)
{
    const struct topo *topo = facts->topo;
    *unit = (struct unit){.facts = facts, .of = of, .i = i};
    if (of == OF_MACHINE) {
        unit->at = facts;
        return i < 1;
    }
    if (of == OF_GPU) {
        unit->at = i < topo->ngpus ? topo->gpus[i].health : NULL;
        return i < topo->ngpus;
    }
    if (of == OF_NODE) {
        unit->at = i < topo->nnodes ? &topo->nodes[i] : NULL;
        return i < topo->nnodes;
    }
    const char *array = *(char *const *)((const char *)facts + arrays[of].array);
    size_t n = *(const size_t *)((const char *)facts + arrays[of].n);
    unit->at = i < n ? array + i * arrays[of].size : NULL;
    return i < n;
}

/* The most common value of all units of this kind; NaN = unknown. */
static double peer_mode(const struct number *number, const struct unit *unit)
{
    double common = NAN;
    unsigned most = 0;
    struct unit one, other;
    for (size_t i = 0; find_unit(unit->facts, unit->of, i, &one); i++) {
        unsigned n = 0;
        double value = one.at ? unit_number(number, &one) : (double)NAN;
        for (size_t j = 0; find_unit(unit->facts, unit->of, j, &other); j++)
            n += other.at && unit_number(number, &other) == value;
        common = n > most ? value : common;
        most = n > most ? n : most;
    }
    return common;
}

static const char *name_unit(const struct unit *unit)
{
    const struct facts *facts = unit->facts;
    static const char *const kinds[] = {"GPU ", "NVSwitch ", "NIC ", "NVMe ", ""};
    static const char *const of_events[] = {"GPU ", "NVSwitch ", "", "", "", ""};
    const char *text = "";
    switch (unit->of) {
    case OF_MACHINE:
        break;
    case OF_GPU:
        text = topo_gpu_name(&facts->topo->gpus[unit->i]);
        break;
    case OF_DEVICE:
        text = str_fmt("%s%s", kinds[facts->devices[unit->i].kind],
                       facts_device_name(&facts->devices[unit->i]));
        break;
    case OF_SOCKET:
    case OF_DIMM:
    case OF_EDAC:
    case OF_PORT:
        text = str_fmt("%s", (const char *)unit->at + arrays[unit->of].name);
        break;
    case OF_NODE:
        text = str_fmt("node %u", facts->topo->nodes[unit->i].os_node);
        break;
    case OF_EVENT:
        text = str_fmt("%s%s", of_events[facts->events[unit->i].kind], facts->events[unit->i].unit);
        break;
    }
    return text;
}

/* "3 times, 12 to 3401 s after boot: LINE" */
static const char *format_event(const struct facts_event *event)
{
    if (event->count == 1)
        return str_fmt("%.0f s after boot: %s", event->first_s, event->line);
    return str_fmt("%u times, %.0f to %.0f s after boot: %s", event->count, event->first_s,
                   event->last_s, event->line);
}

/* The test of a unit against a limit. */
struct limit_test {
    const struct limit *limit;
    const struct unit *unit;
    double value, bound, whole; /* whole: the bound without the share */
    unsigned known;
};

/* False: a number is unknown, or the limit does not apply. */
static bool compare(struct limit_test *test)
{
    const struct limit *limit = test->limit;
    if (limit->of == OF_EVENT && ((const struct facts_event *)test->unit->at)->kind != limit->event)
        return false;
    if (limit->when && !limit->when(test->unit))
        return false;
    if (limit->only.from != CONSTANT && !(unit_number(&limit->only, test->unit) > 0))
        return false;
    const char *setting = (const char *)test->unit->facts + limit->setting;
    if (limit->setting && (!setting[0] || (limit->is && strcmp(setting, limit->is) != 0) ||
                           (limit->is_not && strcmp(setting, limit->is_not) == 0)))
        return false;
    test->value = unit_number(&limit->value, test->unit);
    test->whole = limit->bound.from == PEER_VALUE ? peer_mode(&limit->value, test->unit)
                                                  : unit_number(&limit->bound, test->unit);
    test->bound = test->whole * (limit->share > 0 ? limit->share : 1);
    return !isnan(test->value) && !isnan(test->bound) &&
           !((limit->op == BELOW || limit->op == NONE) && test->bound <= 0);
}

static bool is_beyond(const struct limit_test *test)
{
    switch (test->limit->op) {
    case BELOW:
        return test->value < test->bound;
    case ABOVE:
        return test->value > test->bound;
    case EQUALS:
        return test->value == test->bound;
    case DIFFERS:
        return test->value != test->bound;
    case NONE:
        return test->value == 0;
    case HAS:
        return (uint64_t)test->value & (uint64_t)test->bound;
    case ANY:
        return true;
    case TOLD:
        break;
    }
    return false;
}

/* The number for a placeholder of a sentence; NaN: it takes a text. */
static double number_of(const struct limit_test *test, char placeholder)
{
    const double per = test->limit->per > 0 ? test->limit->per : 1;
    switch (placeholder) {
    case 'v':
        return test->value / per;
    case 'b':
        return test->bound / per;
    case 'w':
        return test->whole / per;
    case 'd':
        return (test->whole - test->value) / per;
    case 'p':
        return rint(100 * test->value / test->whole);
    case '%':
        return rint(1000 * test->value) / 10;
    case 'n':
        return test->known;
    default:
        return NAN;
    }
}

static const char *text_of(const struct limit_test *test, char placeholder)
{
    if (placeholder != 't')
        return placeholder == 's' && test->known == 1 ? "" : placeholder == 's' ? "s" : "?";
    return test->limit->text ? test->limit->text(test->unit)
                             : (const char *)test->unit->facts + test->limit->setting;
}

static const char *fill_in(const struct limit_test *test, const char *sentence)
{
    const char *text = "";
    for (const char *placeholder; (placeholder = strchr(sentence, '{'));
         sentence = placeholder + strlen("{v}")) {
        double number = number_of(test, placeholder[1]);
        str_add(&text, "", "%.*s%s", (int)(placeholder - sentence), sentence,
                isnan(number) ? text_of(test, placeholder[1]) : units_plain(number, 4));
    }
    str_add(&text, "", "%s", sentence);
    return text;
}

/* The number and bounds of a finding. */
static struct check check_of(const struct limit_test *test)
{
    const struct limit *limit = test->limit;
    const double per = limit->per > 0 ? limit->per : 1, bound = test->bound / per;
    bool is_shown = limit->shown.from != CONSTANT;
    struct check check = {.metric = limit->metric,
                          .in = limit->in,
                          .value = test->value / per,
                          .low = NAN,
                          .high = NAN};
    if (is_shown)
        check.value = unit_number(&limit->shown, test->unit);
    else if (limit->op == ABOVE)
        check.high = bound;
    else if (limit->op != ANY && limit->op != TOLD)
        check.low = bound;
    if (limit->op == DIFFERS)
        check.high = bound;
    return check;
}

static enum finding_outcome outcome_of(const struct limit_test *test)
{
    const struct limit *limit = test->limit;
    const bool is_virtual = limit->virtual_warns && machine_is_virtual(test->unit->facts);
    return !is_beyond(test)                               ? OUTCOME_PASS
           : limit->outcome == OUTCOME_WARN || is_virtual ? OUTCOME_WARN
                                                          : OUTCOME_FAIL;
}

static void record_number(struct checks *checks, const struct limit_test *test)
{
    const enum limit_op op = test->limit->op;
    const char *part = test->limit->part;
    struct check check = check_of(test);
    if (op == HAS || op == EQUALS || op == ANY || !check.metric) /* codes, not amounts */
        return;
    const char *unit = name_unit(test->unit);
    const char *metric = str_fmt("%s%s%s", check.metric, part ? " " : "", part ? part : "");
    check.unit = unit;
    check.metric = metric;
    check_number(checks, outcome_of(test), &check);
}

static void report_beyond(struct checks *checks, const struct limit_test *test)
{
    const struct limit *limit = test->limit;
    const struct facts *facts = checks->facts;
    struct check check = check_of(test);
    const char *name = name_unit(test->unit), *evidence = "";
    if (limit->part)
        str_add(&name, " ", "%s", limit->part);
    if (limit->of == OF_EVENT)
        evidence = format_event(test->unit->at);
    bool contained = limit->in_container && facts->container;
    check.unit = name;
    check.evidence = evidence;
    check.cause = contained ? "container" : limit->cause;
    check.command = contained ? limit->in_container : limit->command;
    check_report(checks, outcome_of(test), &check, "%s%s", fill_in(test, limit->sentence),
                 limit->virtual_warns && machine_is_virtual(facts)
                     ? "; on a virtual machine, perhaps only its host can"
                     : "");
}

/* Judges each unit of one kind by the limits from `first` to `end`. */
static void judge_units(struct checks *checks, const struct limit *first, const struct limit *end,
                        struct tally *tally)
{
    struct unit unit;
    bool wrong = false;
    for (size_t i = 0; !(wrong && first->once) && find_unit(checks->facts, first->of, i, &unit);
         i++) {
        bool known = false, beyond = false; /* the first known limit gives the text of PASS */
        for (const struct limit *limit = first; unit.at && limit < end && !beyond; limit++) {
            struct limit_test test = {.limit = limit, .unit = &unit};
            if (!compare(&test))
                continue;
            test.known = tally->known + 1;
            beyond = is_beyond(&test);
            record_number(checks, &test);
            if (beyond)
                report_beyond(checks, &test);
            else if (!known) {
                text_set(tally->passed, "%s", fill_in(&test, checks->rule->passed));
                if (limit->of == OF_MACHINE || limit->once)
                    tally->check = check_of(&test);
            }
            known = true;
        }
        tally->known += known;
        wrong = wrong || beyond;
    }
    tally->wrong = tally->wrong || wrong;
}

void limits_judge(struct checks *checks)
{
    const struct rule *rule = checks->rule;
    const struct facts *facts = checks->facts;
    const struct unit machine = {.facts = facts, .at = facts};
    const struct limit_test none = {.limit = rule->limits, .unit = &machine, .value = NAN};
    struct tally tally = {0};
    const struct limit *end;
    if ((rule->ready && !rule->ready(checks)) ||
        (rule->probes && !check_measured(checks, check_probe(checks))))
        return;
    if (rule->limits->value.from == MEASUREMENT && rule->limits->of == OF_MACHINE &&
        isnan(unit_number(&rule->limits->value, &machine))) {
        check_report(checks, OUTCOME_ERROR, NULL, "nothing was measured");
        return;
    }
    for (const struct limit *first = rule->limits; first->sentence; first = end) {
        for (end = first + 1; end->sentence && end->of == first->of && !end->independent;)
            end++;
        if (!first->fallback || !tally.wrong)
            judge_units(checks, first, end, &tally);
    }
    if (tally.wrong)
        return;
    if (!tally.known && rule->of_gpus && !facts->topo->ngpus)
        check_report(checks, OUTCOME_SKIP, NULL, "no GPU");
    else if (!tally.known && (rule->unknown || rule->absent) &&
             !(rule->knows && rule->knows(facts)))
        check_report(checks, OUTCOME_SKIP, &(struct check){.open = !rule->absent}, "%s",
                     rule->absent ? rule->absent : rule->unknown);
    else {
        if (!tally.passed[0])
            text_set(tally.passed, "%s", fill_in(&none, rule->passed));
        check_report(checks, OUTCOME_PASS, &tally.check, "%s", tally.passed);
    }
}
