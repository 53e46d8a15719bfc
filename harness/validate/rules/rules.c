#include "harness/validate/rules/rules.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/text.h"

static void copy(char *to, size_t size, const char *text)
{
    (void)snprintf(to, size, "%s", text ? text : "");
}

static void copy_number(const struct check *check, struct finding *finding)
{
    copy(finding->metric, sizeof(finding->metric), check->metric);
    copy(finding->unit, sizeof(finding->unit), check->in);
    finding->value = check->value;
    finding->low = check->low;
    finding->high = check->high;
}

static bool is_same_number(const struct finding *a, const struct finding *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->subject, b->subject) == 0 &&
           strcmp(a->metric, b->metric) == 0 && a->value == b->value;
}

void check_number(struct checks *checks, enum finding_outcome outcome, const struct check *check)
{
    struct findings *numbers = checks->numbers;
    struct finding *last = numbers->n ? &numbers->all[numbers->n - 1] : NULL;
    struct finding number = {.outcome = outcome};
    if (!check->metric || isnan(check->value))
        return;
    copy(number.id, sizeof(number.id), checks->rule->id);
    copy(number.subject, sizeof(number.subject), check->unit);
    copy_number(check, &number);
    if (!last || !is_same_number(last, &number)) {
        findings_put(numbers, &number);
        return;
    }
    last->low = isnan(last->low) ? number.low : last->low;
    last->high = isnan(last->high) ? number.high : last->high;
    last->outcome = last->outcome == OUTCOME_PASS ? outcome : last->outcome;
}

void check_report(struct checks *checks, enum finding_outcome outcome, const struct check *check,
                  const char *fmt, ...)
{
    static const struct check none;
    va_list args;
    const struct rule *rule = checks->rule;
    bool wrong = outcome == OUTCOME_FAIL || outcome == OUTCOME_WARN;
    bool bad = outcome == OUTCOME_FAIL || outcome == OUTCOME_ERROR;
    struct finding finding = {.outcome = outcome, .value = NAN, .low = NAN, .high = NAN};
    if (!check)
        check = &none;
    finding.severity = bad ? FINDING_BAD : wrong || check->open ? FINDING_DOUBT : FINDING_NOTE;
    copy(finding.id, sizeof(finding.id), rule->id);
    copy(finding.subject, sizeof(finding.subject), check->unit);
    copy(finding.evidence, sizeof(finding.evidence), check->evidence);
    if (wrong)
        copy(finding.cause, sizeof(finding.cause), check->cause ? check->cause : rule->cause);
    if (wrong || check->command)
        copy(finding.command, sizeof(finding.command),
             check->command ? check->command : rule->command);
    if (check->metric)
        copy_number(check, &finding);
    va_start(args, fmt);
    (void)vsnprintf(finding.sentence, sizeof(finding.sentence), fmt, args);
    va_end(args);
    findings_put(checks->findings, &finding);
}

enum facts_probe_name check_probe(const struct checks *checks)
{
    return (enum facts_probe_name)__builtin_ctz(checks->rule->probes);
}

bool check_measured(struct checks *checks, enum facts_probe_name name)
{
    const struct facts_probe *probe = &checks->facts->probes[name];
    const bool needs_nccl = name == PROBE_COLLECTIVE || name == PROBE_COLLECTIVE_STAGED;
    const bool is_absent = checks->rule->of_gpus && !checks->facts->topo->ngpus;
    const struct check open = {.open = probe->status != PROBE_ABSENT && !is_absent};
    if (probe->status == PROBE_HUNG || probe->status == PROBE_FAILED ||
        (probe->status == PROBE_UNSUPPORTED && checks->rule->of_gpus && !needs_nccl))
        check_report(checks, OUTCOME_ERROR, NULL, "%s: %s",
                     probe->status == PROBE_HUNG ? "did not end" : "could not be measured",
                     probe->reason);
    else if (probe->status != PROBE_DONE)
        check_report(checks, OUTCOME_SKIP, &open, "%s",
                     is_absent          ? "no GPU"
                     : probe->reason[0] ? probe->reason
                                        : "not measured");
    return probe->status == PROBE_DONE;
}

bool check_lost(struct checks *checks, enum facts_probe_name name)
{
    const struct facts_probe *probe = &checks->facts->probes[name];
    bool any = false;
    for (size_t i = 0; i < probe->n; i++) {
        const struct facts_value *value = &probe->values[i];
        if (!isnan(value->value) || !value->why[0])
            continue;
        any = true;
        check_report(checks, OUTCOME_FAIL, &(struct check){.unit = value->key}, "%s failed: %s",
                     value->metric, value->why);
    }
    return any;
}

bool check_firmware(struct checks *checks, size_t n)
{
    const struct facts *facts = checks->facts;
    const struct check open = {.open = true};
    if (machine_is_virtual(facts))
        check_report(checks, OUTCOME_SKIP, &open, CHECK_VIRTUAL);
    else if (facts->dmi == FACTS_DENIED)
        check_report(checks, OUTCOME_SKIP, &open, CHECK_DENIED);
    else if (facts->dmi == FACTS_ABSENT || !n)
        check_report(checks, OUTCOME_SKIP, &open, "the firmware has no such table here");
    else
        return true;
    return false;
}

static const struct rule *const tables[] = {
    rules_expected, rules_count, rules_machine, rules_physical, rules_compute, rules_symmetry,
    rules_health,   rules_burn,  rules_log,     rules_devices,  rules_system,  NULL};

const char *rule_kind_name(enum rule_kind kind)
{
    static const char *const names[RULE_KINDS] = {"count", "physical", "symmetry", "health"};
    return names[kind];
}

const char *rule_action_name(enum rule_action action)
{
    static const char *const names[] = {"replace", "reset", "fix", "watch"};
    return names[action];
}

const struct rule *rule_at(size_t i)
{
    for (const struct rule *const *table = tables; *table; table++)
        for (const struct rule *rule = *table; rule->id; rule++)
            if (i-- == 0)
                return rule;
    return NULL;
}

const char *rule_name(size_t i)
{
    const struct rule *rule = rule_at(i);
    return rule ? rule->id : NULL;
}

const struct rule *rule_find(const char *id)
{
    const struct rule *rule;
    for (size_t i = 0; (rule = rule_at(i)) && strcmp(rule->id, id) != 0;)
        i++;
    return rule;
}

static bool is_in(const struct rule *const *rules, size_t n, const struct rule *rule)
{
    while (n > 0 && rules[n - 1] != rule)
        n--;
    return n > 0;
}

bool rules_asked(const struct rules_request *request, const struct rule *rule)
{
    if (!request->nonly || is_in(request->only, request->nonly, rule) ||
        (request->nexpected && strcmp(rule->id, RULES_EXPECTED_ID) == 0) ||
        (request->machine && (strcmp(rule->id, RULES_MACHINE_ID) == 0 ||
                              strcmp(rule->id, RULES_MACHINE_RATES_ID) == 0)))
        return true;
    for (size_t i = 0; i < request->nonly && strcmp(rule->id, RULES_GPUS_ID) == 0; i++)
        if (request->only[i]->of_gpus)
            return true;
    return false;
}

unsigned rules_probes(const struct rules_request *request)
{
    unsigned probes = 0;
    const struct rule *rule;
    for (size_t i = 0; (rule = rule_at(i)); i++)
        probes |= rules_asked(request, rule) ? rule->probes : 0;
    return probes;
}

/* A required rule that did not run is an error, for any reason. */
static void fail_if_skipped(struct findings *findings, size_t from)
{
    for (size_t i = from; i < findings->n; i++)
        if (findings->all[i].outcome == OUTCOME_SKIP) {
            findings->all[i].outcome = OUTCOME_ERROR;
            findings->all[i].severity = FINDING_BAD;
        }
}

int rules_judge(const struct facts *facts, const struct rules_request *request,
                struct findings *findings, struct findings *numbers, struct err *err)
{
    struct checks checks = {
        .facts = facts, .request = request, .findings = findings, .numbers = numbers};
    for (size_t i = 0; (checks.rule = rule_at(i)); i++) {
        size_t from = findings->n;
        if (!rules_asked(request, checks.rule))
            continue;
        (checks.rule->judge ? checks.rule->judge : limits_judge)(&checks);
        if (is_in(request->required, request->nrequired, checks.rule))
            fail_if_skipped(findings, from);
    }
    findings->failed = findings->failed || numbers->failed;
    return findings_check(findings, err);
}

static bool is_wrong(const struct finding *finding)
{
    return finding->outcome == OUTCOME_FAIL || finding->outcome == OUTCOME_WARN;
}

unsigned rules_to_repeat(const struct findings *findings, const struct rules_request *request)
{
    unsigned probes = 0;
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        const struct rule *rule = rule_find(finding->id);
        if (!rule || !is_wrong(finding) || !finding->metric[0])
            continue;
        probes |= request->machine && strcmp(rule->id, RULES_MACHINE_RATES_ID) == 0
                      ? machine_probes(request->machine, finding->metric)
                      : rule->probes;
    }
    return probes & ~(1u << PROBE_BURN); /* a burn-in takes too long to repeat */
}

int rules_rank(enum finding_outcome outcome)
{
    static const int ranks[OUTCOMES] = {[OUTCOME_FAIL] = 0,
                                        [OUTCOME_ERROR] = 1,
                                        [OUTCOME_WARN] = 2,
                                        [OUTCOME_SKIP] = 3,
                                        [OUTCOME_PASS] = 4};
    return ranks[outcome];
}

/* Insertion sort: stable, and lists are short. */
void rules_sort(struct findings *findings)
{
    for (size_t i = 1; i < findings->n; i++) {
        struct finding moved = findings->all[i];
        size_t at = i;
        for (; at > 0 && rules_rank(findings->all[at - 1].outcome) > rules_rank(moved.outcome);
             at--)
            findings->all[at] = findings->all[at - 1];
        findings->all[at] = moved;
    }
}

/* Counts the rules with a finding of either outcome that is not waived, and lists them in `named`:
 * "hardware: reset gpus_on_bus; ...". */
static unsigned name_rules(const struct findings *findings, enum finding_outcome a,
                           enum finding_outcome b, char *named, size_t size)
{
    unsigned n = 0;
    const struct rule *last[RULES_MAX];
    named[0] = '\0';
    for (size_t i = 0; i < findings->n && n < RULES_MAX; i++) {
        const struct finding *finding = &findings->all[i];
        const struct rule *rule = rule_find(finding->id);
        if ((finding->outcome != a && finding->outcome != b) || finding->waived || !rule ||
            is_in(last, n, rule))
            continue;
        last[n++] = rule;
        if (a == OUTCOME_ERROR)
            text_append(named, size, ", ", "%s", rule->id);
        else
            text_append(named, size, "; ", "%s: %s %s", finding->cause,
                        rule_action_name(rule->action), rule->id);
    }
    return n;
}

/* Why no GPU was judged, though rules of GPUs were requested; NULL = one was, or none is
 * expected. */
static const struct finding *no_gpu(const struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        if (strcmp(findings->all[i].id, RULES_GPUS_ID) == 0 &&
            findings->all[i].outcome == OUTCOME_SKIP)
            return &findings->all[i];
    return NULL;
}

/* The verdict if nothing failed and nothing required is missing. */
static void pass(const struct findings *findings, const char *of, struct rules_verdict *verdict)
{
    unsigned passed = verdict->count[OUTCOME_PASS], warned = verdict->count[OUTCOME_WARN];
    const struct finding *why = no_gpu(findings);
    const char *rest =
        str_fmt("%u rule%s passed, %u warning%s, %u skipped", passed, passed == 1 ? "" : "s",
                warned, warned == 1 ? "" : "s", verdict->count[OUTCOME_SKIP]);
    if (passed + warned && !why) {
        text_set(verdict->text, "PASS: %.160s: %s", of, rest);
        return;
    }
    verdict->outcome = OUTCOME_SKIP;
    if (passed + warned)
        text_set(verdict->text, "SKIP: no GPU was judged: %.150s (%s); %.100s", why->sentence, rest,
                 why->evidence);
    else
        text_set(verdict->text, "SKIP: nothing was judged, %u skipped",
                 verdict->count[OUTCOME_SKIP]);
}

struct rules_verdict rules_verdict(const struct findings *findings, bool strict, const char *of)
{
    struct rules_verdict verdict = {.outcome = OUTCOME_PASS};
    char named[320];
    unsigned open = 0; /* warnings that are not waived */
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        verdict.count[finding->outcome]++;
        open += finding->outcome == OUTCOME_WARN && !finding->waived;
    }
    if (verdict.count[OUTCOME_FAIL] || (strict && open)) {
        verdict.outcome = OUTCOME_FAIL;
        verdict.rules = name_rules(findings, OUTCOME_FAIL, strict ? OUTCOME_WARN : OUTCOME_FAIL,
                                   named, sizeof(named));
        text_set(verdict.text, "FAIL: %u rule%s (%s)", verdict.rules, verdict.rules == 1 ? "" : "s",
                 named);
    } else if (verdict.count[OUTCOME_ERROR]) {
        verdict.outcome = OUTCOME_ERROR;
        verdict.rules = name_rules(findings, OUTCOME_ERROR, OUTCOME_ERROR, named, sizeof(named));
        text_set(verdict.text, "ERROR: %u rule%s should have run and did not (%s)", verdict.rules,
                 verdict.rules == 1 ? "" : "s", named);
    } else
        pass(findings, of, &verdict);
    return verdict;
}

/* True for characters inside a name such as "0000:3b:00.0": "GPU 1" is no word of "GPU 10". */
static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == ':' || c == '.' || c == '_';
}

static bool is_word_of(const char *subject, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(subject, word); at; at = strstr(at + 1, word))
        if ((at == subject || !is_name_char(at[-1])) && !is_name_char(at[length]))
            return true;
    return false;
}

static bool waiver_matches(const struct waiver *waiver, const struct finding *finding)
{
    return strcmp(waiver->rule, finding->id) == 0 &&
           (!waiver->unit[0] || is_word_of(finding->subject, waiver->unit));
}

/* Appends to the evidence. */
static void note(struct finding *finding, const char *what, const struct waiver *waiver)
{
    text_append(finding->evidence, sizeof(finding->evidence), "; ", "%s %s: %s", what,
                waiver->until, waiver->reason);
}

static void waive(const struct waiver *waiver, const char *today, struct finding *finding)
{
    if (strcmp(waiver->until, today) < 0) {
        note(finding, "its waiver expired on", waiver);
        return;
    }
    finding->outcome = OUTCOME_WARN;
    finding->severity = FINDING_DOUBT;
    finding->waived = true;
    note(finding, "waived until", waiver);
}

static bool is_open(const struct finding *finding)
{
    return !finding->waived &&
           (finding->outcome == OUTCOME_FAIL || finding->outcome == OUTCOME_WARN);
}

void waive_findings(const struct waivers *waivers, const char *today, struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        for (size_t w = 0; w < waivers->n && is_open(&findings->all[i]); w++)
            if (waiver_matches(&waivers->all[w], &findings->all[i]))
                waive(&waivers->all[w], today, &findings->all[i]);
}

/* Rules of GPUs under load: correct products, their rates, and what holds clocks down. */

/*
 * Shares of the dense rate in the data sheet, which is for the highest clock. At their power limit,
 * H100 and H200 reach 0.66 to 0.83 with large products (results/h200-x2-vm/gpu), and cards with
 * less power a third or more. Below that a clock, the power or the cooling is wrong.
 */
#define PRODUCTS_LEAST 0.3
#define PRODUCTS_MOST 1.02
/* Share of the time under load. */
#define HELD_MOST 0.05

static bool none_lost(struct checks *checks)
{
    return !check_lost(checks, PROBE_GPU_MATMUL);
}

#define SHARE(type, op, bound, outcome, sentence, ...)                                             \
    {                                                                                              \
        OF_GPU, MEASURED(PROBE_GPU_MATMUL, "matmul_peak_share", "type=" type), op, NUMBER(bound),  \
            outcome, "matmul_peak_share", "share", sentence, .part = (type), __VA_ARGS__           \
    }
#define PRODUCTS(type)                                                                             \
    SHARE(type, BELOW, PRODUCTS_LEAST, OUTCOME_FAIL,                                               \
          "its products reach {%}% of the rate in its data sheet", .independent = true),           \
        SHARE(type, ABOVE, PRODUCTS_MOST, OUTCOME_FAIL,                                            \
              "{%}% of the rate in its data sheet is not possible: another product?",              \
              .cause = "setup")
#define HELD(reason, sentence)                                                                     \
    {                                                                                              \
        OF_GPU, MEASURED(PROBE_GPU_MATMUL, "gpu_throttle", "reason=" reason), ABOVE,               \
            NUMBER(HELD_MOST), OUTCOME_WARN, "throttled_by_" reason, "share", sentence,            \
            .independent = true                                                                    \
    }

const struct rule rules_compute[] = {
    {"gpu_products", RULE_HEALTH, "hardware", ACTION_REPLACE, "measurement, cuBLASLt",
     "Every GPU, alone and beside the others, multiplies matrices of all its types rightly.",
     "Freivalds 1977: all of each product is checked", "contend bench gpu_matmul",
     .probes = 1u << PROBE_GPU_MATMUL, .of_gpus = true, .ready = none_lost,
     .limits = {{OF_GPU, MEASURED(PROBE_GPU_MATMUL, "matmul_rate", ""), TOLD, NUMBER(0),
                 OUTCOME_PASS, NULL, NULL, ""}},
     .unknown = "no product was measured", .passed = "the products of {n} GPU{s} are right"},
    {"gpu_compute", RULE_PHYSICAL, "hardware", ACTION_WATCH, "measurement, a known GPU",
     "Large matrix products reach 30 to 102% of the dense rate in the GPU's data sheet.",
     "NVIDIA's data sheets", "contend bench gpu_matmul", .probes = 1u << PROBE_GPU_MATMUL,
     .of_gpus = true, .limits = {PRODUCTS("bf16"), PRODUCTS("fp8"), PRODUCTS("fp64")},
     .unknown = "the data sheet of this GPU is not known",
     .passed = "large products are within 30 to 102% of the data sheet"},
    {"gpu_load_clocks", RULE_HEALTH, "hardware", ACTION_WATCH, "measurement, driver",
     "Under load neither heat nor the board's supply holds a GPU's clock down; its power limit "
     "may.",
     "NVML, counters of clock event reasons", "nvidia-smi -q -d PERFORMANCE,TEMPERATURE",
     .probes = 1u << PROBE_GPU_MATMUL, .of_gpus = true,
     .limits = {HELD("thermal", "heat held its clock down for {%}% of the time under load"),
                HELD("board_limit",
                     "the board's supply held its clock down for {%}% of the time under load"),
                HELD("reliability",
                     "its voltage limit held its clock down for {%}% of the time under load")},
     .unknown = "too short a load, or a driver that does not count what holds clocks down",
     .passed = "neither heat nor the board held a clock down under load"},
    {.id = NULL}};
