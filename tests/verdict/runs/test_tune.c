/* A tune from its settings to its output, with rounds made by hand. */
#include "harness/engine/arms.h"
#include "harness/lib/stats.h"
#include "harness/show/json/forms.h"
#include "harness/show/result.h"
#include "harness/verdict/runs/tune.h"
#include "tests/lib/fixture_findings.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/trials.h"
#include "tests/lib/unit.h"

static const enum placement placements[] = {PLACE_NONE, PLACE_SIZED, PLACE_PARTITION, PLACE_NUMA,
                                            PLACE_PASSIVE};

static const int64_t params[2] = {64, 8}; /* of fixture_bench */

struct tuned {
    struct topo topo;
    struct result result;
    struct tune tune;
    struct findings findings;
    bool (*fails)(const struct arm *arm); /* or NULL */
    bool passive_too;
    double noise; /* range of equal rounds; 0 = 2% */
};

/* Step time of a worker in ms. */
typedef double step_ms_of(const struct arm *arm);

static int arrange(struct tuned *tuned, const char *machine, unsigned workers, struct err *err)
{
    const struct topo_options options = {.xml = machine};
    bool optional[5] = {true, true, true, true, true};
    const struct arms_request request = {.bench = &fixture_bench,
                                         .params = params,
                                         .placements = placements,
                                         .nplacements = 4 + tuned->passive_too,
                                         .optional = optional,
                                         .workers = &workers,
                                         .nworkers = 1};
    assert_int_equal(topo_load(&options, &tuned->topo, err), 0);
    fixture_result_init(&tuned->result);
    tuned->result.scenario = "fake";
    tuned->result.purpose = PURPOSE_TUNE;
    tuned->result.rounds_done = 0;
    tuned->result.rounds_planned = 1;
    tuned->result.plan.cpus = tuned->tune.tried.common.cpus;
    tuned->tune.tolerance = 0.03;
    tuned->tune.max_time_s = 200;
    return tune_arrange(&tuned->tune, &tuned->topo, &request, &tuned->result, err);
}

static void begin(struct tuned *tuned, const char *machine)
{
    assert_int_equal(arrange(tuned, machine, 2, NULL), 0);
}

/* Seconds that a round of an arm takes. */
typedef double took_s_of(const struct arm *arm);

/* Measures a round as run_rounds does. */
static void measure_round(struct tuned *tuned, step_ms_of *step_ms, took_s_of *took_s,
                          uint64_t *chance)
{
    struct result *result = &tuned->result;
    size_t order[SETTINGS_MOST];
    arms_order(result, result->rounds_done, order);
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[order[i]];
        double noise = 1 + (tuned->noise > 0 ? tuned->noise : 0.02) *
                               ((double)(random_next(chance) % 1000) / 1000 - 0.5);
        if (!arm_runs(arm) || arm->idle)
            continue;
        struct observation *round =
            fixture_add_even_round(result, order[i], result->rounds_done, noise * step_ms(arm), 5);
        round->order = (unsigned)i;
        round->took_s = took_s(arm);
        for (unsigned w = 0; arm->limit_s > 0 && round->took_s >= arm->limit_s && w < 2; w++)
            fixture_censor(round, w);
        if (tuned->fails && tuned->fails(arm))
            round->status = STATUS_FAILED;
        tune_after_arm(&tuned->tune, result);
    }
    result->rounds_done++;
}

static void measure_for(struct tuned *tuned, step_ms_of *step_ms, took_s_of *took_s)
{
    struct result *result = &tuned->result;
    AUTO(analysis) analysis = {0};
    uint64_t chance = 1;
    while (result->rounds_done < result->rounds_planned) {
        measure_round(tuned, step_ms, took_s, &chance);
        analysis_free(&analysis);
        assert_int_equal(analysis_make(result, &analysis, NULL), 0);
        assert_int_equal(tune_next(&tuned->tune, &analysis, result, NULL), 0);
    }
    tune_judge(&tuned->tune, &analysis, &tuned->findings);
}

static double a_second(const struct arm *arm)
{
    return 1;
}

/* As few fresh rounds as give an interval, since each further round is resampled again. */
static void measure(struct tuned *tuned, step_ms_of *step_ms)
{
    if (!tuned->tune.fresh_rounds)
        tuned->tune.fresh_rounds = 6;
    measure_for(tuned, step_ms, a_second);
}

static void end(struct tuned *tuned)
{
    findings_free(&tuned->findings);
    tune_free(&tuned->tune);
    fixture_result_free(&tuned->result);
    topo_free(&tuned->topo);
}

static const struct finding *find(const struct tuned *tuned, const char *id)
{
    static const struct finding none;
    const struct finding *found = fixture_finding(&tuned->findings, id);
    if (!found)
        fail_msg("no finding %s", id);
    return found ? found : &none;
}

/* partition is 1% faster than sized, which is four times as fast as none; passive and a reserved
 * core cost. */
static double sized_is_near(const struct arm *arm)
{
    const struct plan_worker *worker = &arm->plan.workers[0];
    if (arm->placement == PLACE_NONE)
        return 40;
    double ms = arm->placement == PLACE_PARTITION ? 9.9 : 10;
    return ms * (worker->passive ? 1.3 : 1) * 4 / worker->threads;
}

TEST(tune_searches_each_plan_once_and_none_unchanged)
{
    ENDED_BY(end) struct tuned tuned = {0};
    begin(&tuned, "package:1 core:8 pu:1");
    const struct settings *settings = &tuned.tune.settings;
    assert_string_equal(settings->all[0].variant.name, "none");
    unsigned nones = 0, skipped = 0;
    for (size_t i = 0; i < settings->n; i++) {
        const struct arm *arm = &tuned.result.arms[settings->all[i].arm];
        nones += arm->placement == PLACE_NONE;
        skipped += arm->plan.status != PLAN_OK;
        assert_true(i == 0 || settings->all[i].effort >= settings->all[i - 1].effort);
        for (size_t k = 0; k < i; k++)
            assert_false(arm_same_plan(&tuned.result.arms[settings->all[k].arm], arm));
    }
    assert_int_equal(nones, 1);
    assert_int_equal(skipped, 1); /* numa on a machine with one node is listed once */
    assert_int_equal(settings->n - skipped, 1 + 2 * 8);
}

TEST(tune_advises_the_simplest_near_the_best)
{
    ENDED_BY(end) struct tuned tuned = {.tune = {.fresh_rounds = 12}};
    begin(&tuned, "package:1 core:8 pu:1");
    measure(&tuned, sized_is_near);
    const struct finding *found = find(&tuned, "tune");
    assert_has(found->sentence,
               "recommended: sized, 4.0x the default, 95% 3.9x to 4.1x. Measured in ");
    assert_string_equal(found->command, "contend place --workers 2 --placement sized");
    assert_true(found->low > 3.9 && found->high < 4.1);
    const struct finding *fewer = find(&tuned, "tune_fewer_cores");
    assert_has(fewer->sentence, "With 2 cores less, sized keeps 7");
}

static double partition_is_best(const struct arm *arm)
{
    return arm->placement == PLACE_PARTITION ? sized_is_near(arm) / 1.5 : sized_is_near(arm);
}

static double only_partition_is_slow(const struct arm *arm)
{
    return arm->placement == PLACE_NONE ? 40 : arm->placement == PLACE_PARTITION ? 20 : 10;
}

/* Twice as fast settings break it. */
TEST(tune_finds_what_keeps_a_bound)
{
    ENDED_BY(end) struct tuned tuned = {.tune = {.fresh_rounds = 6}};
    begin(&tuned, "package:1 core:8 pu:1");
    tuned.result.slo = fixture_slo("step_time>=15ms", false);
    measure(&tuned, only_partition_is_slow);
    assert_has(find(&tuned, "tune")->sentence, "recommended: partition, 2.0x the default");
}

TEST(tune_says_what_applies_a_setting_that_asks_more)
{
    ENDED_BY(end)
    struct tuned tuned = {.tune = {.tried = {.common = {.cpus = "2-7"}, .reserve = "1"}}};
    begin(&tuned, "package:1 core:8 pu:1");
    measure(&tuned, partition_is_best);
    const struct finding *found = find(&tuned, "tune");
    assert_has(found->sentence, "recommended: partition, ");
    assert_string_equal(found->command,
                        "contend place --workers 2 --placement partition --cpus 2-7");
}

static bool fresh_partition_fails(const struct arm *arm)
{
    return arm_is_fresh(arm) && arm->placement == PLACE_PARTITION;
}

static bool none_fails(const struct arm *arm)
{
    return arm->placement == PLACE_NONE && !arm->plan.workers[0].passive;
}

/* A default that never ends has no ratio: a reason to recommend, not to be silent. */
TEST(tune_advises_where_none_never_ends)
{
    ENDED_BY(end) struct tuned tuned = {.fails = none_fails};
    begin(&tuned, "package:1 core:8 pu:1");
    measure(&tuned, sized_is_near);
    const struct finding *found = find(&tuned, "tune");
    assert_has(found->sentence, "; no fresh round of none gave a rate (");
    assert_string_equal(found->command, "contend place --workers 2 --placement sized");
}

static bool all_fail(const struct arm *arm)
{
    return true;
}

/* More time would not help. */
TEST(tune_asks_for_no_time_where_nothing_ends)
{
    ENDED_BY(end) struct tuned tuned = {.fails = all_fail};
    begin(&tuned, "package:1 core:8 pu:1");
    measure(&tuned, sized_is_near);
    assert_has(find(&tuned, "tune_lost")->sentence, "gave a rate in each of its rounds");
    for (size_t i = 0; i < tuned.findings.n; i++) {
        assert_string_not_equal(tuned.findings.all[i].id, "tune_short");
        assert_string_equal(tuned.findings.all[i].command, "");
    }
}

/* A leader that failed is not recommended, and no ratio of its successful rounds is given. */
TEST(tune_says_that_the_leader_failed)
{
    ENDED_BY(end) struct tuned tuned = {.fails = fresh_partition_fails};
    begin(&tuned, "package:1 core:8 pu:1");
    measure(&tuned, sized_is_near);
    assert_has(find(&tuned, "tune")->sentence, "recommended: sized, 4.0x");
    const char *other = find(&tuned, "tune_other")->sentence; /* with or without a reserved core */
    assert_true(!strncmp(other, "partition", strlen("partition")));
    assert_has(other, " led the search, and failed in fresh rounds.");
}

/* partition is within the tolerance of `none`, and all other settings are far behind. */
static double partition_is_near_none(const struct arm *arm)
{
    const struct plan_worker *worker = &arm->plan.workers[0];
    bool near = arm->placement == PLACE_PARTITION && !worker->passive && worker->threads == 4;
    return none_fails(arm) ? 10 : near ? 9.8 : 20;
}

TEST(tune_confirms_nothing_by_a_leader_that_failed)
{
    ENDED_BY(end) struct tuned tuned = {.fails = fresh_partition_fails};
    begin(&tuned, "package:1 core:8 pu:1");
    measure(&tuned, partition_is_near_none);
    const char *sentence = find(&tuned, "tune_failed")->sentence;
    assert_has(sentence, " led the search, and failed in fresh rounds.");
    for (size_t i = 0; i < tuned.findings.n; i++) {
        assert_string_not_equal(tuned.findings.all[i].id, "tune_other");
        assert_string_equal(tuned.findings.all[i].command, "");
    }
}

/* In the search 30% faster than none and 2.5% faster than sized, which is simpler; equal in fresh
 * rounds. */
static double sized_was_luck(const struct arm *arm)
{
    if (none_fails(arm))
        return arm_is_fresh(arm) ? 10.03 : 13;
    return arm->placement == PLACE_PARTITION ? 9.75 : 10;
}

TEST(tune_names_the_one_that_led)
{
    ENDED_BY(end) struct tuned tuned = {.tune = {.fresh_rounds = 12}};
    begin(&tuned, "package:1 core:8 pu:1");
    measure(&tuned, sized_was_luck);
    const struct finding *found = find(&tuned, "tune");
    if (!strstr(found->sentence, "no measurable gain: leave it as it is. ") || found->command[0])
        fail_msg("%s", found->sentence);
}

/* 30% faster in the search, and 0.3% in the fresh rounds. */
static double gains_were_luck(const struct arm *arm)
{
    double none_ms = arm_is_fresh(arm) ? 10.03 : 13;
    return arm->placement == PLACE_NONE && !arm->plan.workers[0].passive ? none_ms : 10;
}

TEST(tune_applies_no_gain_within_the_tolerance)
{
    ENDED_BY(end) struct tuned tuned = {.tune = {.fresh_rounds = 12}};
    begin(&tuned, "package:1 core:8 pu:1");
    measure(&tuned, gains_were_luck);
    assert_has(find(&tuned, "tune")->sentence, "no measurable gain: leave it as it is");
    assert_string_equal(find(&tuned, "tune")->command, "");
}

static double all_are_equal(const struct arm *arm)
{
    return 10;
}

/* Ratios do not contain rounds of the search: fresh rounds belong to arms of their own. */
TEST(tune_proves_in_rounds_that_the_search_has_not_seen)
{
    ENDED_BY(end) struct tuned tuned = {.tune = {.fresh_rounds = 7}};
    begin(&tuned, "package:1 core:8 pu:1");
    measure(&tuned, sized_is_near);
    unsigned fresh = 0, first = tuned.result.rounds_done - 7;
    for (size_t i = 0; i < tuned.result.narms; i++) {
        const struct arm *arm = &tuned.result.arms[i];
        for (size_t o = 0; o < arm->nobservations; o++)
            assert_int_equal(arm_is_fresh(arm), arm->observations[o].round >= first);
        fresh += arm_is_fresh(arm);
        assert_true(!arm_is_fresh(arm) || arm->nobservations == 7);
    }
    assert_true(fresh >= 3);
}

static double twelve_seconds(const struct arm *arm)
{
    return 12;
}

/* The time that the tune took. */
static double spent_s(const struct tuned *tuned)
{
    double sum_s = 0;
    for (size_t i = 0; i < tuned->result.narms; i++)
        for (size_t o = 0; o < tuned->result.arms[i].nobservations; o++)
            sum_s += tuned->result.arms[i].observations[o].took_s;
    return sum_s;
}

static unsigned count_fresh_rounds(const struct tuned *tuned)
{
    unsigned n = 0;
    for (size_t i = 0; i < tuned->result.narms; i++)
        if (arm_is_fresh(&tuned->result.arms[i]) && tuned->result.arms[i].nobservations > n)
            n = (unsigned)tuned->result.arms[i].nobservations;
    return n;
}

TEST(tune_keeps_to_its_time_however_long_an_arm_takes)
{
    static const double times[] = {12, 20, 30, 48, 60, 90, 180, 300, 900};
    for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++)
        for (uint64_t seed = 1; seed <= trials(20, 4); seed++) {
            ENDED_BY(end) struct tuned tuned = {0};
            begin(&tuned, "package:1 core:8 pu:1");
            tuned.tune.max_time_s = times[t];
            tuned.result.seed = seed;
            measure_for(&tuned, sized_is_near, twelve_seconds);
            assert_true(spent_s(&tuned) <=
                        (times[t] < 24 ? 24 : times[t])); /* at least one pair of rounds */
            assert_true(times[t] < 48 || count_fresh_rounds(&tuned) >= 1);
            assert_true(times[t] < 180 || count_fresh_rounds(&tuned) >= 5);
        }
}

TEST(tune_says_what_it_had_no_time_for)
{
    ENDED_BY(end) struct tuned tuned = {0};
    begin(&tuned, "package:1 core:8 pu:1");
    tuned.tune.max_time_s = 60;
    measure_for(&tuned, sized_is_near, twelve_seconds);
    const char *rounds = find(&tuned, "tune_short")->sentence;
    assert_has(rounds, "There was time for 1 fresh round of none, but an interval "
                       "takes 6. A round of none and one other setting takes 24 s");
    assert_has(rounds, "--max-time 6m suffices");
    const char *untried = find(&tuned, "tune_untried")->sentence;
    assert_has(untried, "2 of 16 settings were tried");
    assert_has(untried, "A setting takes 12 s here: --max-time ");
    assert_has(find(&tuned, "tune")->sentence,
               "tried 2 of 16 settings, others may be better; recommended: sized, 4.0x "
               "the default in one round");
}

/* Begins a search of that length; true if it prints a message at its first arm. */
static bool format_first(struct tuned *tuned, double time_s, char *text, size_t size)
{
    uint64_t chance = 1;
    *tuned = (struct tuned){0};
    begin(tuned, "package:1 core:8 pu:1");
    tuned->tune.max_time_s = time_s;
    measure_round(tuned, sized_is_near, twelve_seconds, &chance);
    return tune_read_time(&tuned->tune, text, size);
}

/* A search tried 1 of 27 settings in 70 s, and said so only at the end. */
TEST(tune_says_at_once_what_there_is_no_time_for)
{
    static const double times[] = {20, 70, 180, 300};
    struct tuned tuned;
    char text[200];
    for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++) {
        unsigned long tried = 0, all = 0, minutes = 0;
        assert_true(format_first(&tuned, times[t], text, sizeof(text)));
        end(&tuned);
        assert_int_equal(sscanf(text,
                                "a setting takes 12 s: there is time for about %lu of %lu "
                                "settings; --max-time %lum tries all",
                                &tried, &all, &minutes),
                         3);
        tuned = (struct tuned){0};
        begin(&tuned, "package:1 core:8 pu:1");
        tuned.tune.max_time_s = times[t];
        measure_for(&tuned, sized_is_near, twelve_seconds);
        if (fabs((double)tuned.tune.ntried - (double)tried) > 1)
            fail_msg("%zu were tried of %.0f s: %s", tuned.tune.ntried, times[t], text);
        assert_int_equal(tuned.tune.npossible, all);
        end(&tuned);
        tuned = (struct tuned){0};
        begin(&tuned, "package:1 core:8 pu:1");
        tuned.tune.max_time_s = (double)minutes * 60;
        measure_for(&tuned, sized_is_near, twelve_seconds);
        if (tuned.tune.ntried < tuned.tune.npossible)
            fail_msg("%zu were tried, but: %s", tuned.tune.ntried, text);
        assert_lacks(find(&tuned, "tune")->sentence, "tried");
        end(&tuned);
        assert_false(format_first(&tuned, (double)minutes * 60, text, sizeof(text)));
        end(&tuned);
    }
}

/* More settings than fit at all: placements without changes come first. */
TEST(tune_keeps_each_placement_however_many_settings_there_are)
{
    ENDED_BY(end)
    struct tuned tuned = {
        .tune = {.tried = {.threads = "1,2,3,4,5,6,7,8", .reserve = "0,1,2,3,4,5,6,7"}}};
    unsigned plain = 0;
    begin(&tuned, "package:1 core:32 pu:1");
    assert_true(tuned.tune.settings.nleft > 0);
    for (size_t i = 0; i < tuned.tune.settings.n; i++)
        plain += !settings_is_changed(&tuned.tune.settings.all[i]);
    assert_int_equal(plain, 4); /* includes numa, which is skipped on one node */
}

/* Half of a worker's share of the threads is best; settings further away are dropped. */
static double half_is_best(const struct arm *arm)
{
    double doublings = log2((double)arm->plan.workers[0].threads / 8);
    return arm->placement == PLACE_NONE ? 200 : 10 * (1 + fabs(doublings));
}

TEST(tune_drops_first_what_is_far_from_the_usual_teams)
{
    for (uint64_t seed = 1; seed <= trials(20, 4); seed++) {
        ENDED_BY(end) struct tuned tuned = {0};
        tuned.tune.tried =
            (struct settings_tried){.threads = "1,2,4,8,16,32", .reserve = "0", .wait = "auto"};
        begin(&tuned, "package:1 core:32 pu:1");
        tuned.result.seed = seed;
        tuned.tune.max_time_s = 240;
        measure_for(&tuned, half_is_best, twelve_seconds);
        assert_true(tuned.tune.ntried < tuned.tune.npossible);
        const struct finding *best = find(&tuned, "tune");
        assert_has(best->sentence, "+8t");
    }
}

/* Five minutes, the time that tune asks for, are not too short. */
TEST(tune_has_room_in_the_time_that_it_asks_for)
{
    ENDED_BY(end) struct tuned tuned = {0};
    begin(&tuned, "package:1 core:8 pu:1");
    tuned.tune.max_time_s = 300;
    measure_for(&tuned, sized_is_near, twelve_seconds);
    assert_null(fixture_finding(&tuned.findings, "tune_short"));
}

/*
 * A job that collapses if each worker takes all CPUs: a step of `none` takes 20 times as long as
 * any other. The effects of placements and changes are random, and nothing else decides the choice.
 */
static struct {
    double placement[PLACEMENTS], half, reserve, passive; /* factors of a step's time */
    double none_s;                                        /* time of a round of `none`, s */
} drawn;

static double uniform(uint64_t *chance, double least, double most)
{
    return least + (most - least) * (double)(random_next(chance) % 1000000) / 1e6;
}

static void draw_job(uint64_t seed)
{
    uint64_t chance = 7919 * seed;
    for (int p = 0; p < PLACEMENTS; p++)
        drawn.placement[p] = uniform(&chance, 1, 2);
    drawn.half = uniform(&chance, 0.9, 1.2);
    drawn.reserve = uniform(&chance, 0.9, 1.2);
    drawn.passive = uniform(&chance, 0.9, 1.2);
    drawn.none_s = 20;
}

static double drawn_ms(const struct arm *arm)
{
    const struct plan_options *plan = &arm->variant->plan;
    double ms = 10 * drawn.placement[arm->placement];
    if (arm->placement == PLACE_NONE)
        return 400;
    ms *= plan->threads ? drawn.half : 1;
    ms *= plan->reserve > arm->variant->fewer ? drawn.reserve : 1;
    ms *= plan->wait ? drawn.passive : 1;
    return arm->variant->fewer ? 1.3 * ms : ms;
}

/* Half a second to two seconds. */
static double drawn_s(const struct arm *arm)
{
    if (arm->placement == PLACE_NONE)
        return arm->limit_s > 0 ? fmin(drawn.none_s, arm->limit_s) : drawn.none_s;
    uint64_t chance = strlen(arm->variant->name) + 31 * (uint64_t)arm->placement;
    return uniform(&chance, 0.5, 2);
}

enum { MANY = 64 };

/* What the search could find. */
struct truth {
    size_t n;
    struct {
        char name[48];
        double ms;
        unsigned effort;
    } all[MANY];
    double best_ms;
};

static void note_truth(const struct tuned *tuned, struct truth *truth)
{
    *truth = (struct truth){.best_ms = INFINITY};
    for (size_t i = 0; i < tuned->tune.settings.n; i++) {
        const struct setting *setting = &tuned->tune.settings.all[i];
        const struct arm *arm = &tuned->result.arms[setting->arm];
        if (arm->plan.status != PLAN_OK || arm->placement == PLACE_NONE)
            continue;
        assert_true(truth->n < MANY);
        (void)snprintf(truth->all[truth->n].name, sizeof(truth->all[0].name), "%s", arm_name(arm));
        truth->all[truth->n].ms = drawn_ms(arm);
        truth->all[truth->n++].effort = setting->effort;
        truth->best_ms = fmin(truth->best_ms, drawn_ms(arm));
    }
}

/* The recommended setting is within the tolerance of the best, and no setting as near to it is
 * simpler. */
static bool is_right(const struct tuned *tuned, const struct truth *truth, double tolerance)
{
    const char *sentence = find(tuned, "tune")->sentence;
    char name[48] = "";
    sentence = strstr(sentence, "recommended: ");
    if (sentence)
        (void)sscanf(sentence, "recommended: %47[^,]", name);
    for (size_t i = 0; i < truth->n; i++) {
        if (strcmp(truth->all[i].name, name) != 0)
            continue;
        bool simplest = true;
        for (size_t k = 0; k < truth->n; k++)
            simplest = simplest && (truth->all[k].effort >= truth->all[i].effort ||
                                    truth->all[k].ms > truth->best_ms * (1 + tolerance / 2));
        return simplest && truth->all[i].ms <= truth->best_ms * (1 + tolerance);
    }
    return false;
}

TEST(tune_finds_the_best_where_none_collapses)
{
    const unsigned n = trials(200, 8);
    unsigned right = 0, tried = MANY;
    for (uint64_t seed = 1; seed <= n; seed++) {
        ENDED_BY(end) struct tuned tuned = {.passive_too = true};
        struct truth truth;
        draw_job(seed);
        begin(&tuned, "numa:2 core:8 pu:1");
        tuned.result.seed = seed;
        tuned.tune.max_time_s = 70;
        tuned.tune.tolerance = tuned.tune.halving.tolerance = tuned.result.within = 0.05;
        note_truth(&tuned, &truth);
        measure_for(&tuned, drawn_ms, drawn_s);
        right += is_right(&tuned, &truth, 0.06);
        tried = tuned.tune.ntried < tried ? (unsigned)tuned.tune.ntried : tried;
        assert_true(spent_s(&tuned) <= 70);
        assert_true(count_fresh_rounds(&tuned) >= 1);
    }
    print_message("right in %u of %u, %u settings tried and more\n", right, n, tried);
    assert_true(right >= 0.9 * n);
    assert_true(tried >= 15);
}

static double eight_seconds(const struct arm *arm)
{
    return arm->placement == PLACE_NONE ? drawn_s(arm) : 8;
}

/* If there is time for few settings, they are placements without changes, `sized` among them. */
TEST(tune_tries_placements_before_changes_of_them)
{
    for (uint64_t seed = 1; seed <= trials(40, 3); seed++) {
        ENDED_BY(end) struct tuned tuned = {.passive_too = true};
        bool sized = false;
        draw_job(seed);
        begin(&tuned, "numa:2 core:8 pu:1");
        tuned.result.seed = seed;
        tuned.tune.max_time_s = 70;
        measure_for(&tuned, drawn_ms, eight_seconds);
        assert_true(tuned.tune.ntried >= 3);
        for (size_t i = 0; i < tuned.tune.nsearched; i++) {
            const struct setting *setting = &tuned.tune.settings.all[i];
            assert_false(settings_is_changed(setting));
            sized = sized || setting->placement == PLACE_SIZED;
        }
        assert_true(sized && count_fresh_rounds(&tuned) >= 1);
        assert_has(find(&tuned, "tune")->sentence, "recommended: ");
        assert_true(spent_s(&tuned) <= 70);
    }
}

/* `none` is cut off when its time is over, which gives a bound; the others are still compared. */
TEST(tune_cuts_off_a_none_that_never_ends)
{
    for (uint64_t seed = 1; seed <= trials(40, 3); seed++) {
        ENDED_BY(end) struct tuned tuned = {.passive_too = true};
        struct truth truth;
        draw_job(seed);
        drawn.none_s = 600;
        begin(&tuned, "numa:2 core:8 pu:1");
        tuned.result.seed = seed;
        tuned.tune.max_time_s = 70;
        note_truth(&tuned, &truth);
        measure_for(&tuned, drawn_ms, drawn_s);
        assert_has(find(&tuned, "tune")->sentence, ", more than ");
        assert_true(tuned.tune.ntried >= 15);
        assert_true(spent_s(&tuned) <= 70);
    }
}

static double passive_hangs(const struct arm *arm)
{
    double most_s = arm->limit_s > 0 ? arm->limit_s : 600;
    return arm->placement == PLACE_PASSIVE ? most_s : drawn_s(arm);
}

/* Any other setting is cut off as well, and cannot be chosen. */
TEST(tune_cuts_off_a_setting_that_is_far_behind)
{
    ENDED_BY(end) struct tuned tuned = {.passive_too = true};
    draw_job(1);
    drawn.none_s = 1;
    drawn.placement[PLACE_PASSIVE] = 100;
    begin(&tuned, "numa:2 core:8 pu:1");
    tuned.tune.max_time_s = 70;
    measure_for(&tuned, drawn_ms, passive_hangs);
    assert_true(tuned.tune.ntried >= 15);
    assert_true(spent_s(&tuned) <= 70);
    assert_lacks(find(&tuned, "tune")->sentence, "recommended: passive");
    assert_true(count_fresh_rounds(&tuned) >= 5);
}

/* Without collapse all settings are tried, and their fresh rounds end when the result is clear. */
TEST(tune_tries_all_and_proves_it_where_nothing_is_slow)
{
    ENDED_BY(end) struct tuned tuned = {.passive_too = true};
    begin(&tuned, "numa:2 core:8 pu:1");
    tuned.tune.max_time_s = 180;
    measure_for(&tuned, all_are_equal, a_second);
    assert_int_equal(tuned.tune.ntried, tuned.tune.npossible);
    assert_true(tuned.tune.npossible > 20 && spent_s(&tuned) <= 180);
    for (size_t i = 0; i < tuned.result.narms; i++)
        if (arm_is_fresh(&tuned.result.arms[i]))
            assert_in_range(tuned.result.arms[i].nobservations, 6, 8);
    assert_has(find(&tuned, "tune")->sentence, "no measurable gain: leave it as it is");
}

/* A machine, or a list, with nothing but `none`. */
TEST(tune_refuses_to_choose_from_nothing)
{
    ENDED_BY(end)
    struct tuned tuned = {.tune = {.tried = {.threads = "1", .reserve = "0", .wait = "auto"}}};
    struct err err = {0};
    assert_int_equal(arrange(&tuned, "package:1 core:1 pu:1", 1, &err), -EINVAL);
    assert_has(err.msg, "only placement none is possible");
}

static double fresh_ones_are_slow(const struct arm *arm)
{
    return arm_is_fresh(arm) ? 6 : 1;
}

TEST(tune_makes_fewer_fresh_rounds_where_they_take_longer)
{
    ENDED_BY(end) struct tuned tuned = {0};
    begin(&tuned, "package:1 core:8 pu:1");
    measure_for(&tuned, sized_is_near, fresh_ones_are_slow);
    assert_true(spent_s(&tuned) <= tuned.tune.max_time_s);
    assert_in_range(count_fresh_rounds(&tuned), 3, 14);
}

TEST(tune_prints_settings_at_80_columns)
{
    ENDED_BY(end) struct tuned tuned = {0};
    FREED char *text = NULL;
    begin(&tuned, "package:1 core:8 pu:1");
    measure(&tuned, sized_is_near);
    ANALYSED(analysis, &tuned.result);
    FILE *out = unit_print_into(&text);
    AUTO(doc) doc = {0};
    tune_add_to_doc(&analysis, &doc);
    doc_print(&doc, out, false, true);
    (void)fclose(out);
    assert_has(text, "\nfresh rounds ");
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") < 80);
    json_auto_t *json = tune_to_json(&analysis);
    assert_true(json_array_size(json) >= 17 + 3);
}

TEST(tune_refuses_lists_that_cannot_be_read)
{
    static const struct {
        struct settings_tried tried;
        const char *said;
    } bad[] = {{{.threads = "0"}, "threads '0' is not a list"},
               {{.threads = "1,,2"}, "threads '1,,2'"},
               {{.reserve = "x"}, "reserve 'x'"},
               {{.wait = "active"}, "wait 'active' is not a list of auto and passive"}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ENDED_BY(end) struct tuned tuned = {.tune = {.tried = bad[i].tried}};
        struct err err = {0};
        assert_int_equal(arrange(&tuned, "package:1 core:2 pu:1", 2, &err), -EINVAL);
        assert_has(err.msg, bad[i].said);
    }
}
