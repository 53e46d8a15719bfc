/* The closing table: fits 80 columns, worst first, and says only what the data support. */

#include "harness/verdict/advice.h"
#include "tests/lib/fixture_golden.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static struct fixture {
    struct result result;
    char *text;
} f;

static int set_up(void **state)
{
    f = (struct fixture){0};
    fixture_result_init(&f.result);
    return 0;
}

static int tear_down(void **state)
{
    free(f.text);
    fixture_result_free(&f.result);
    return 0;
}

static void assert_fits(const char *text)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, 80);
}

static const char *print(bool color)
{
    free(f.text);
    f.text = fixture_print(&f.result, color);
    return f.text;
}

/* True if a line of the last output begins with `begin`, for any widths of its columns. */
static bool has_line(const char *begin)
{
    for (const char *line = f.text; *line; line += strcspn(line, "\n") + 1) {
        const char *at = line, *want = begin;
        for (; *want && *at == *want; want++, at++)
            for (; *at == ' ' && at[1] == ' ';)
                at++;
        if (!*want)
            return true;
    }
    return false;
}

static struct finding advise(unsigned planned_workers)
{
    ANALYSED(analysis, &f.result);
    const struct arm *of = f.result.arms;
    while (of->planned_workers != planned_workers || of->is_baseline)
        of++;
    const struct finding advice = advice_make(&analysis, of);
    return advice;
}

static size_t add(enum placement placement, unsigned planned_workers, const double *step_ms,
                  unsigned rounds)
{
    size_t arm = fixture_add_arm(&f.result, placement, planned_workers, false);
    for (unsigned round = 0; round < rounds; round++)
        (void)fixture_add_even_round(&f.result, arm, round, step_ms[round], 2);
    return arm;
}

static void add_even(enum placement placement, double step_ms)
{
    (void)add(placement, 2, (double[]){step_ms, step_ms, step_ms}, 3);
}

TEST_WITHIN(table_golden, set_up, tear_down)
{
    fixture_demo(&f.result);
    fixture_golden("table_demo.txt", print(false));
    assert_fits(f.text);
}

/* Colour adds escapes around whole lines and changes no character of the text. */
TEST_WITHIN(table_color_is_only_color, set_up, tear_down)
{
    fixture_demo(&f.result);
    FREED char *plain = strdup(print(false));
    assert_non_null(strchr(print(true), '\033'));
    char *to = f.text;
    for (const char *from = f.text; *from;) {
        if (*from == '\033')
            from += strcspn(from, "m") + 1;
        else
            *to++ = *from++;
    }
    *to = '\0';
    assert_string_equal(f.text, plain);
}

/* Placements that differ less than their rounds: the best has the highest median, and no more is
 * said. */
TEST_WITHIN(table_shows_how_sure_a_ratio_is, set_up, tear_down)
{
    (void)add(PLACE_SIZED, 2, (double[]){10, 20, 30}, 3);
    (void)add(PLACE_PARTITION, 2, (double[]){21, 20.2, 29.7}, 3);
    (void)add(PLACE_CORES, 2, (double[]){25, 40, 60}, 3);
    const char *text = print(false);
    assert_true(has_line("2 workers items/s speed-up range "));
    assert_true(has_line("sized* 10.0 k 2.0x 2.0-2.5"));
    assert_true(has_line("partition 9.52 k 2.0x 1.19-2.0"));
    assert_true(has_line("cores 5.00 k 1x "));
    assert_has(text, "speed-up: throughput relative to cores, by round");
}

/* A setting that was left out early; disturbed rounds count. */
TEST_WITHIN(table_names_arms_with_fewer_rounds, set_up, tear_down)
{
    f.result.rounds_done = f.result.rounds_planned = 6;
    (void)add(PLACE_NONE, 2, (double[]){30, 31, 32, 33, 34, 35}, 6);
    (void)add(PLACE_SAME, 2, (double[]){29, 29, 29}, 3);
    size_t partition = add(PLACE_PARTITION, 2, (double[]){10, 10, 10, 10, 10, 10}, 6);
    f.result.arms[partition].observations[0].status = STATUS_NOISY;
    (void)print(false);
    assert_true(has_line("rounds: same 3, others 6; of fewer than 6 the interval is the range"));
    assert_true(has_line("2 workers items/s speed-up 95%"));
    assert_true(has_line("partition*~ 20.0 k 3.2x 3.0-3.5"));
}

/* Line, order and color follow one ratio; a median step that disagrees does not count. */
TEST_WITHIN(table_is_sorted_by_work_done, set_up, tear_down)
{
    size_t same = add(PLACE_SAME, 2, (double[]){19, 19, 19}, 3);
    (void)add(PLACE_SIZED, 2, (double[]){18.7, 18.7, 18.7}, 3);
    (void)add(PLACE_PARTITION, 2, (double[]){10, 10, 10}, 3);
    /* Half of the time goes to one long step: the median step stays at 19 ms. */
    for (unsigned round = 0; round < 3; round++)
        for (unsigned w = 0; w < 2; w++)
            fixture_set_steps(&f.result.arms[same].observations[round].workers[w],
                              (double[]){19, 19, 57}, 3);
    const char *text = print(false);
    const char *first = strstr(text, "\nsame"), *next = strstr(text, "\nsized");
    assert_non_null(first);
    assert_true(first < next && next < strstr(text, "\npartition"));
    assert_true(has_line("same 6.32 k 1x "));
    assert_true(has_line("sized 10.7 k 1.69x 1.69-1.69"));
}

/* Under `none` one worker gets everything and the other starves, which the median step does not
 * show. */
TEST_WITHIN(table_shows_the_worst_worker, set_up, tear_down)
{
    add_even(PLACE_NONE, 100);
    add_even(PLACE_PARTITION, 10);
    for (unsigned round = 0; round < 3; round++)
        fixture_set_steps(&f.result.arms[0].observations[round].workers[0],
                          (double[]){10, 10, 10, 10, 10, 10}, 6);
    const char *text = print(false);
    /* 10 k and 1 k items/s: a fifth of half of 11 k. */
    assert_true(has_line("none 55.0 ms 100 ms 18%"));
    assert_has(text, "recommended: partition, 1.82x the default");
}

/* With background load one worker is another arm than the same worker alone. */
TEST_WITHIN(table_one_worker_with_a_background, set_up, tear_down)
{
    size_t loaded = add(PLACE_NONE, 1, (double[]){70, 70, 70}, 3);
    size_t alone = fixture_add_arm(&f.result, PLACE_NONE, 1, true);
    for (unsigned round = 0; round < 3; round++)
        (void)fixture_add_even_round(&f.result, alone, round, 10, 2);
    fixture_add_background(&f.result, loaded);
    (void)print(false);
    assert_true(has_line("none 1.43 k 1x"));
    assert_true(has_line("solo 10.0 k - "));
}

TEST_WITHIN(table_doubts_the_worker_alone, set_up, tear_down)
{
    size_t arm = add(PLACE_NONE, 1, (double[]){10, 10, 10}, 3);
    fixture_add_background(&f.result, arm);
    size_t alone = fixture_add_arm(&f.result, PLACE_NONE, 1, true);
    const double step_ms[] = {4, 40, 4.1};
    for (unsigned round = 0; round < 3; round++) {
        struct observation *one =
            fixture_add_even_round(&f.result, alone, round, step_ms[round], 4);
        one->status = round == 1 ? STATUS_NOISY : STATUS_OK;
        put_text(one->reason, "%s", round == 1 ? "steal 9%" : "");
    }
    const char *text = print(false);
    assert_fits(text);
    assert_true(has_line("solo~ 24.4 k "));
}

TEST_WITHIN(table_marks_what_is_not_ok, set_up, tear_down)
{
    fixture_demo(&f.result);
    fixture_censor(&f.result.arms[2].observations[0], 0);
    struct observation *noisy = &f.result.arms[4].observations[1];
    noisy->status = STATUS_NOISY;
    strcpy(noisy->reason, "steal 12% of the CPU time was taken by other guests of the host, which "
                          "is more than 5%");
    struct observation *failed = &f.result.arms[3].observations[2];
    failed->status = STATUS_FAILED;
    strcpy(failed->reason, "worker 1: wrong result");
    f.result.rounds_done = 2;
    const char *text = print(false);
    assert_fits(text);
    assert_has(text, "2 of 3 rounds\n");
    assert_true(has_line("none <833 1x"));
    assert_has(text, " >240 ms ");
    assert_true(has_line("same~"));
    assert_has(text, "\nsized! ");
    assert_has(text, "\n~ none: censored: 1 of 3 rounds: more than 235 ms");
    assert_has(text, "\n~ same: noisy: 1 of 3 rounds: steal 12%");
    assert_has(text, "\n! sized: failed: 1 of 3 rounds: worker 1: wrong result\n");
    assert_has(text, "recommended: partition, more than 12x the default");
}

TEST_WITHIN(table_all_failed, set_up, tear_down)
{
    size_t arm = add(PLACE_NONE, 2, (double[]){10}, 1);
    f.result.arms[arm].observations[0].status = STATUS_FAILED;
    strcpy(f.result.arms[arm].observations[0].reason, "worker 0: no device");
    const char *text = print(false);
    assert_has(text, "\n! none: failed: worker 0: no device\n");
    assert_lacks(text, "step time");
    assert_lacks(text, "contend place");
}

TEST_WITHIN(table_empty_result, set_up, tear_down)
{
    assert_string_equal(print(false), "fixture, device sim (modelled GPU), 0 CPUs, 3 rounds\n");
}

TEST_WITHIN(table_two_worker_counts, set_up, tear_down)
{
    (void)add(PLACE_NONE, 4, (double[]){80, 82, 81}, 3);
    (void)add(PLACE_PARTITION, 4, (double[]){20, 20, 20}, 3);
    (void)add(PLACE_NONE, 2, (double[]){40, 41, 42}, 3);
    (void)add(PLACE_PARTITION, 2, (double[]){20, 20, 20}, 3);
    const char *text = print(false);
    const char *two = strstr(text, "\n2 workers "), *four = strstr(text, "\n4 workers ");
    assert_non_null(two);
    assert_true(two < four);
    assert_int_equal(strncmp(text, "with 4 workers, recommended: partition, 4.0x the default", 50),
                     0);
    assert_has(text, "to apply it: contend place --workers 4 --placement partition\n");
}

TEST_WITHIN(advice_names_the_cheapest_fix, set_up, tear_down)
{
    fixture_demo(&f.result);
    struct finding advice = advise(2);
    assert_string_equal(
        advice.sentence,
        "recommended: partition, 12x the default, range 12x to 12x; 82% of the loss was waiting "
        "in the run queue; OMP_NUM_THREADS=4 alone: 9.8x.");
    assert_string_equal(advice.command, "contend place --workers 2 --placement partition");
}

/* Setting a variable beats binding that is not better; both fixes are named where they lose. */
TEST_WITHIN(advice_weighs_waiting_asleep, set_up, tear_down)
{
    add_even(PLACE_NONE, 100);
    add_even(PLACE_SIZED, 40);
    add_even(PLACE_PASSIVE, 25);
    add_even(PLACE_PARTITION, 20);
    assert_string_equal(
        advise(2).sentence,
        "recommended: partition, 5.0x the default, range 5.0x to 5.0x; OMP_NUM_THREADS=4 "
        "alone: 2.5x, OMP_WAIT_POLICY=passive alone: 4.0x.");
    f.result.arms[3].observations[0].status = STATUS_HUNG;
    struct finding advice = advise(2);
    assert_has(advice.sentence, "recommended: passive (OMP_WAIT_POLICY=passive), 4.0x the default");
    assert_string_equal(advice.command, "contend place --workers 2 --placement passive");
}

/* A default that never ends is the worst case, and no reason for silence. */
TEST_WITHIN(advice_is_given_where_none_never_ends, set_up, tear_down)
{
    struct bench command = fixture_bench; /* its steps give a rate if they end */
    command.rate_unit = "steps/s";
    add_even(PLACE_NONE, 2000);
    add_even(PLACE_PARTITION, 20);
    for (size_t i = 0; i < 2; i++)
        f.result.arms[i].bench = &command;
    for (unsigned round = 0; round < 3; round++) {
        struct observation *cut = &f.result.arms[0].observations[round];
        for (unsigned w = 0; w < 2; w++) {
            fixture_set_steps(&cut->workers[w], (double[]){2000}, 1);
            fixture_censor(cut, w);
            struct worker_result *ended = &f.result.arms[1].observations[round].workers[w];
            for (size_t i = 0; i < ended->nsamples; i++)
                ended->samples[i].rate = 50;
        }
    }
    struct finding advice = advise(2);
    assert_string_equal(
        advice.sentence,
        "recommended: partition, 100 steps/s; no round of none gave a rate (more than "
        "2.00 s).");
    assert_string_equal(advice.command, "contend place --workers 2 --placement partition");
    for (unsigned round = 0; round < 3; round++)
        f.result.arms[0].observations[round].status = STATUS_FAILED;
    advice = advise(2);
    assert_string_equal(advice.command, "contend place --workers 2 --placement partition");
    assert_has(advice.sentence, "no round of none gave a rate (");
}

TEST_WITHIN(advice_overlap_is_unclear, set_up, tear_down)
{
    (void)add(PLACE_NONE, 2, (double[]){20, 22, 20}, 3);
    (void)add(PLACE_PARTITION, 2, (double[]){21, 20, 19}, 3);
    struct finding advice = advise(2);
    assert_string_equal(
        advice.sentence,
        "no measurable gain: leave it as it is. The fastest other is partition, 1.05x "
        "the default, range 0.95x to 1.10x.");
    assert_string_equal(advice.command, "");
}

/* Better in every round, yet no more than chance gives the best of many placements. */
TEST_WITHIN(advice_needs_more_than_a_little, set_up, tear_down)
{
    (void)add(PLACE_NONE, 2, (double[]){20.6, 20.8, 20.4}, 3);
    add_even(PLACE_PARTITION, 20);
    struct finding advice = advise(2);
    assert_string_equal(
        advice.sentence,
        "no measurable gain: leave it as it is. The fastest other is partition, 1.03x "
        "the default, range 1.02x to 1.04x.");
    assert_string_equal(advice.command, "");
}

TEST_WITHIN(advice_advises_nothing_that_failed, set_up, tear_down)
{
    add_even(PLACE_NONE, 100);
    add_even(PLACE_CORES, 40);
    add_even(PLACE_PARTITION, 50);
    for (unsigned round = 0; round < 2; round++)
        f.result.arms[1].observations[round].status = STATUS_HUNG;
    assert_string_equal(advise(2).sentence,
                        "recommended: partition, 2.0x the default, range 2.0x to 2.0x.");
    for (unsigned round = 0; round < 2; round++)
        f.result.arms[0].observations[round].status = STATUS_HUNG;
    assert_string_equal(advise(2).sentence,
                        "recommended: partition, 2.0x the default in one round.");
}

TEST_WITHIN(advice_same_plans_are_not_compared, set_up, tear_down)
{
    add_even(PLACE_NONE, 100);
    add_even(PLACE_PARTITION, 50);
    for (unsigned w = 0; w < 2; w++)
        f.result.arms[1].plan.workers[w] = f.result.arms[0].plan.workers[w];
    struct finding advice = advise(2);
    assert_string_equal(advice.sentence, "the placements possible here give the workers the same "
                                         "CPUs and threads: differences are chance.");
    assert_string_equal(advice.command, "");
}

/* Seen on a busy machine: rounds of 1.2x, 8.9x and 104x were reported as "8.9x". */
TEST_WITHIN(advice_far_apart_rounds_have_no_single_number, set_up, tear_down)
{
    (void)add(PLACE_NONE, 2, (double[]){12, 89, 1040}, 3);
    add_even(PLACE_PARTITION, 10);
    assert_string_equal(advise(2).sentence,
                        "recommended: partition, between 1.20x and 104x the default.");
    (void)print(false);
    assert_true(has_line("partition* 20.0 k 8.9x 1.20-104"));
    fixture_result_free(&f.result);
    fixture_result_init(&f.result);
    (void)add(PLACE_NONE, 2, (double[]){50, 90, 140}, 3); /* rounds of 5x, 9x and 14x */
    add_even(PLACE_PARTITION, 10);
    assert_string_equal(advise(2).sentence,
                        "recommended: partition, 9.0x the default, range 5.0x to 14x.");
    fixture_result_free(&f.result);
    fixture_result_init(&f.result);
    f.result.rounds_planned = f.result.rounds_done = 6; /* many rounds have an interval */
    (void)add(PLACE_NONE, 2, (double[]){30, 85, 90, 90, 95, 180}, 6);
    (void)add(PLACE_PARTITION, 2, (double[]){10, 10, 10, 10, 10, 10}, 6);
    assert_has(advise(2).sentence, "recommended: partition, 9.0x the default, 95% ");
    (void)print(false);
    assert_true(has_line("2 workers items/s speed-up 95% "));
}

/* `partition` was once recommended though `sized`, one variable, was as good. */
TEST_WITHIN(advice_is_the_simplest_of_the_best, set_up, tear_down)
{
    add_even(PLACE_NONE, 100);
    size_t sized = add(PLACE_SIZED, 2, (double[]){20.5, 20.2, 19.9}, 3);
    add_even(PLACE_PASSIVE, 40);
    add_even(PLACE_NUMA, 20.5);
    add_even(PLACE_PARTITION, 20);
    struct finding advice = advise(2);
    assert_string_equal(advice.command, "contend place --workers 2 --placement sized");
    assert_string_equal(
        advice.sentence,
        "recommended: sized (OMP_NUM_THREADS=4), 5.0x the default, range 4.9x to 5.0x; "
        "OMP_WAIT_POLICY=passive alone: 2.5x. partition, the fastest, is indistinguishable from "
        "it: "
        "1.01x, range 1.00x to 1.02x.");
    for (unsigned round = 0; round < 3; round++) /* clearly behind */
        for (unsigned w = 0; w < 2; w++)
            fixture_set_steps(&f.result.arms[sized].observations[round].workers[w],
                              (double[]){25, 25}, 2);
    advice = advise(2);
    assert_string_equal(advice.command, "contend place --workers 2 --placement partition");
    assert_string_equal(
        advice.sentence,
        "recommended: partition, 5.0x the default, range 5.0x to 5.0x; OMP_NUM_THREADS=4 alone: "
        "4.0x, OMP_WAIT_POLICY=passive alone: 2.5x. numa adds no measurable gain: 0.98x, range "
        "0.98x to 0.98x.");
}

/* In noise the classic mistake can come out first: it is shown, and nobody is told to make it. */
TEST_WITHIN(advice_is_never_same, set_up, tear_down)
{
    (void)add(PLACE_NONE, 2, (double[]){100}, 1);
    (void)add(PLACE_SAME, 2, (double[]){10}, 1);
    f.result.rounds_done = 1;
    assert_string_equal(advise(2).sentence, "");
    assert_string_equal(advise(2).command, "");
    (void)add(PLACE_PARTITION, 2, (double[]){20}, 1);
    (void)add(PLACE_REMOTE, 2, (double[]){10}, 1);
    struct finding advice = advise(2);
    assert_string_equal(advice.sentence, "recommended: partition, 5.0x the default in one round.");
    assert_string_equal(advice.command, "contend place --workers 2 --placement partition");
    (void)print(false);
    assert_true(has_line("same 20.0 k 10x 50%"));
}

TEST_WITHIN(advice_command_is_the_users_own, set_up, tear_down)
{
    f.result.program = "./contend";
    add_even(PLACE_NONE, 100);
    add_even(PLACE_PARTITION, 10);
    assert_string_equal(advise(2).command, "./contend place --workers 2 --placement partition");
}

TEST_WITHIN(advice_without_none, set_up, tear_down)
{
    add_even(PLACE_SAME, 30);
    add_even(PLACE_CORES, 10);
    assert_string_equal(advise(2).sentence, "recommended: cores, 3.0x same, range 3.0x to 3.0x.");
    fixture_result_free(&f.result);
    fixture_result_init(&f.result);
    add_even(PLACE_CORES, 10);
    assert_string_equal(advise(2).sentence, "");
}

/* One worker alone under partition 10 ms; `none` loses 90 ms in the given shares of its wall. */
static struct finding close_with_shares(double oncpu, double queue, double blocked,
                                        double instructions)
{
    fixture_result_free(&f.result);
    fixture_result_init(&f.result);
    add_even(PLACE_NONE, 100);
    add_even(PLACE_PARTITION, 10);
    size_t alone = fixture_add_arm(&f.result, PLACE_PARTITION, 2, true);
    for (unsigned round = 0; round < 3; round++) {
        (void)fixture_add_even_round(&f.result, alone, round, 10, 2);
        for (unsigned w = 0; w < 2; w++) {
            struct worker_result *worker = &f.result.arms[0].observations[round].workers[w];
            fixture_set_shares(worker, oncpu, queue, blocked);
            worker->usage.instructions *= instructions;
        }
        if (isnan(queue))
            fixture_set_shares(&f.result.arms[alone].observations[round].workers[0], 0.5, NAN, 0.5);
    }
    return advise(2);
}

TEST_WITHIN(advice_says_what_the_loss_was, set_up, tear_down)
{
    /* Baseline per step: 5 ms on the CPU, 3 queued, 2 blocked. Of 90 ms: 75 - 5 = 70 = 78%. */
    assert_has(close_with_shares(0.75, 0.2, 0.05, NAN).sentence,
               "; 78% of the loss was extra time on the CPU: spinning, caches");
    assert_has(close_with_shares(0.75, 0.2, 0.05, 14).sentence,
               "; 78% of the loss was spent on extra instructions, such as spinning");
    assert_has(close_with_shares(0.75, 0.2, 0.05, 1).sentence,
               "; 78% of the loss was spent on slower instructions: caches");
    assert_has(close_with_shares(0.1, 0.1, 0.8, NAN).sentence,
               "; 87% of the loss was blocked: waiting for other threads");
    assert_has(close_with_shares(0.1, NAN, 0.9, NAN).sentence,
               "; 94% of the loss was blocked or in the run queue (the kernel does");
    assert_has(close_with_shares(0.01, 0.98, 0.01, NAN).sentence,
               "; all of the loss was waiting in the run queue");
}

/* All parts shrank, or none visibly grew: a text such as "-2% of the loss" would say nothing. */
TEST_WITHIN(advice_is_silent_on_a_loss_that_was_not_seen, set_up, tear_down)
{
    assert_lacks(close_with_shares(0.01, 0.005, 0.005, NAN).sentence, "of the loss");
    assert_lacks(close_with_shares(0.055, 0.02, 0.01, NAN).sentence, "of the loss");
    assert_has(close_with_shares(0.06, 0.02, 0.01, NAN).sentence,
               "; 1% of the loss was extra time on the CPU");
}

/* Of 78 ms more blocked time, stolen is half of 8 CPUs' time over 16 threads, minus the baseline's
 * loss. */
TEST_WITHIN(advice_says_what_of_it_was_stolen, set_up, tear_down)
{
    (void)close_with_shares(0.1, 0.1, 0.8, NAN);
    for (unsigned round = 0; round < 3; round++)
        f.result.arms[0].observations[round].steal = 0.5;
    assert_has(advise(2).sentence,
               "; 87% of the loss was blocked: waiting for other threads, the device "
               "or memory, including up to 32% stolen by the hypervisor");
    for (unsigned round = 0; round < 3; round++)
        f.result.arms[0].observations[round].steal = NAN;
    assert_lacks(advise(2).sentence, "stolen");
}

TEST(advice_format_ratio)
{
    static const struct {
        double ratio;
        const char *text;
    } want[] = {{1.053, "1.05x"}, {0.5, "0.50x"},  {2.41, "2.4x"},  {1.999, "2.0x"},
                {9.96, "10x"},    {430.2, "430x"}, {1450, "1450x"}, {NAN, "-"}};
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        assert_string_equal(advice_format_ratio(want[i].ratio), want[i].text);
}
