/* The closing table: fits 80 columns, worst first, and says only what the data support. */

#include "harness/verdict/advice.h"
#include "tests/lib/fixture_golden.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static char *text_of_last;

static void assert_fits(const char *text)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, 80);
}

static const char *print(bool color)
{
    free(text_of_last);
    text_of_last = fixture_print(&by_hand.result, color);
    return text_of_last;
}

/* True if a line of the last output begins with `begin`, for any widths of its columns. */
static bool has_line(const char *begin)
{
    for (const char *line = text_of_last; *line; line += strcspn(line, "\n") + 1) {
        const char *at = line, *want = begin;
        for (; *want && *at == *want; want++, at++)
            for (; *at == ' ' && at[1] == ' ';)
                at++;
        if (!*want)
            return true;
    }
    return false;
}

static struct finding advise(void)
{
    ANALYSED(analysis, &by_hand.result);
    const struct arm *of = by_hand.result.arms;
    while (of->planned_workers != 2 || of->is_baseline)
        of++;
    return advice_make(&analysis, of);
}

/* `placement` NULL: no command. */
static void assert_advice(const char *sentence, const char *placement)
{
    char command[80] = "";
    const struct finding advice = advise();
    if (placement)
        put_text(command, "contend place --workers 2 --placement %s", placement);
    assert_string_equal(advice.sentence, sentence);
    assert_string_equal(advice.command, command);
}

static size_t add(enum placement placement, unsigned planned_workers, const double *step_ms,
                  unsigned rounds)
{
    size_t arm = fixture_add_arm(&by_hand.result, placement, planned_workers, false);
    for (unsigned round = 0; round < rounds; round++)
        (void)fixture_add_even_round(&by_hand.result, arm, round, step_ms[round], 2);
    return arm;
}

static void add_even(enum placement placement, double step_ms)
{
    (void)add(placement, 2, (double[]){step_ms, step_ms, step_ms}, 3);
}

TEST_OF_RESULT(table_golden)
{
    fixture_demo(&by_hand.result);
    fixture_golden("table_demo.txt", print(false));
    assert_fits(text_of_last);
}

/* Colour adds escapes around whole lines and changes no character of the text. */
TEST_OF_RESULT(table_color_is_only_color)
{
    fixture_demo(&by_hand.result);
    FREED char *plain = strdup(print(false));
    assert_non_null(strchr(print(true), '\033'));
    char *to = text_of_last;
    for (const char *from = text_of_last; *from;) {
        if (*from == '\033')
            from += strcspn(from, "m") + 1;
        else
            *to++ = *from++;
    }
    *to = '\0';
    assert_string_equal(text_of_last, plain);
}

/* Placements that differ less than their rounds: the best has the highest median, and no more is
 * said. */
TEST_OF_RESULT(table_shows_how_sure_a_ratio_is)
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
TEST_OF_RESULT(table_names_arms_with_fewer_rounds)
{
    by_hand.result.rounds_done = by_hand.result.rounds_planned = 6;
    (void)add(PLACE_NONE, 2, (double[]){30, 31, 32, 33, 34, 35}, 6);
    (void)add(PLACE_SAME, 2, (double[]){29, 29, 29}, 3);
    size_t partition = add(PLACE_PARTITION, 2, (double[]){10, 10, 10, 10, 10, 10}, 6);
    by_hand.result.arms[partition].observations[0].status = STATUS_NOISY;
    (void)print(false);
    assert_true(has_line("rounds: same 3, others 6; of fewer than 6 the interval is the range"));
    assert_true(has_line("2 workers items/s speed-up 95%"));
    assert_true(has_line("partition*~ 20.0 k 3.2x 3.0-3.5"));
}

/* Line, order and color follow one ratio; a median step that disagrees does not count. */
TEST_OF_RESULT(table_is_sorted_by_work_done)
{
    size_t same = add(PLACE_SAME, 2, (double[]){19, 19, 19}, 3);
    (void)add(PLACE_SIZED, 2, (double[]){18.7, 18.7, 18.7}, 3);
    (void)add(PLACE_PARTITION, 2, (double[]){10, 10, 10}, 3);
    /* Half of the time goes to one long step: the median step stays at 19 ms. */
    for (unsigned round = 0; round < 3; round++)
        for (unsigned w = 0; w < 2; w++)
            fixture_set_steps(&by_hand.result.arms[same].observations[round].workers[w],
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
TEST_OF_RESULT(table_shows_the_worst_worker)
{
    add_even(PLACE_NONE, 100);
    add_even(PLACE_PARTITION, 10);
    for (unsigned round = 0; round < 3; round++)
        fixture_set_steps(&by_hand.result.arms[0].observations[round].workers[0],
                          (double[]){10, 10, 10, 10, 10, 10}, 6);
    const char *text = print(false);
    /* 10 k and 1 k items/s: a fifth of half of 11 k. */
    assert_true(has_line("none 55.0 ms 100 ms 18%"));
    assert_has(text, "recommended: partition, 1.82x the default");
}

/* With background load one worker is another arm than the same worker alone. */
TEST_OF_RESULT(table_one_worker_with_a_background)
{
    size_t loaded = add(PLACE_NONE, 1, (double[]){70, 70, 70}, 3);
    size_t alone = fixture_add_arm(&by_hand.result, PLACE_NONE, 1, true);
    for (unsigned round = 0; round < 3; round++)
        (void)fixture_add_even_round(&by_hand.result, alone, round, 10, 2);
    fixture_add_background(&by_hand.result, loaded);
    (void)print(false);
    assert_true(has_line("none 1.43 k 1x"));
    assert_true(has_line("solo 10.0 k - "));
}

TEST_OF_RESULT(table_doubts_the_worker_alone)
{
    size_t arm = add(PLACE_NONE, 1, (double[]){10, 10, 10}, 3);
    fixture_add_background(&by_hand.result, arm);
    size_t alone = fixture_add_arm(&by_hand.result, PLACE_NONE, 1, true);
    const double step_ms[] = {4, 40, 4.1};
    for (unsigned round = 0; round < 3; round++) {
        struct observation *one =
            fixture_add_even_round(&by_hand.result, alone, round, step_ms[round], 4);
        one->status = round == 1 ? STATUS_NOISY : STATUS_OK;
        put_text(one->reason, "%s", round == 1 ? "steal 9%" : "");
    }
    const char *text = print(false);
    assert_fits(text);
    assert_true(has_line("solo~ 24.4 k "));
}

TEST_OF_RESULT(table_marks_what_is_not_ok)
{
    fixture_demo(&by_hand.result);
    fixture_censor(&by_hand.result.arms[2].observations[0], 0);
    struct observation *noisy = &by_hand.result.arms[4].observations[1];
    noisy->status = STATUS_NOISY;
    strcpy(noisy->reason, "steal 12% of the CPU time was taken by other guests of the host, which "
                          "is more than 5%");
    struct observation *failed = &by_hand.result.arms[3].observations[2];
    failed->status = STATUS_FAILED;
    strcpy(failed->reason, "worker 1: wrong result");
    by_hand.result.rounds_done = 2;
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

TEST_OF_RESULT(table_all_failed)
{
    size_t arm = add(PLACE_NONE, 2, (double[]){10}, 1);
    by_hand.result.arms[arm].observations[0].status = STATUS_FAILED;
    strcpy(by_hand.result.arms[arm].observations[0].reason, "worker 0: no device");
    const char *text = print(false);
    assert_has(text, "\n! none: failed: worker 0: no device\n");
    assert_lacks(text, "step time");
    assert_lacks(text, "contend place");
}

TEST_OF_RESULT(table_empty_result)
{
    assert_string_equal(print(false), "fixture, device sim (modelled GPU), 0 CPUs, 3 rounds\n");
}

TEST_OF_RESULT(table_two_worker_counts)
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

TEST_OF_RESULT(advice_names_the_cheapest_fix)
{
    fixture_demo(&by_hand.result);
    assert_advice(
        "recommended: partition, 12x the default, range 12x to 12x; 82% of the loss was waiting "
        "in the run queue; OMP_NUM_THREADS=4 alone: 9.8x.",
        "partition");
}

/* Setting a variable beats binding that is not better; both fixes are named where they lose. */
TEST_OF_RESULT(advice_weighs_waiting_asleep)
{
    add_even(PLACE_NONE, 100);
    add_even(PLACE_SIZED, 40);
    add_even(PLACE_PASSIVE, 25);
    add_even(PLACE_PARTITION, 20);
    assert_string_equal(
        advise().sentence,
        "recommended: partition, 5.0x the default, range 5.0x to 5.0x; OMP_NUM_THREADS=4 "
        "alone: 2.5x, OMP_WAIT_POLICY=passive alone: 4.0x.");
    by_hand.result.arms[3].observations[0].status = STATUS_HUNG;
    struct finding advice = advise();
    assert_has(advice.sentence, "recommended: passive (OMP_WAIT_POLICY=passive), 4.0x the default");
    assert_string_equal(advice.command, "contend place --workers 2 --placement passive");
}

/* A default that never ends is the worst case, and no reason for silence. */
TEST_OF_RESULT(advice_is_given_where_none_never_ends)
{
    struct bench command = fixture_bench; /* its steps give a rate if they end */
    command.rate_unit = "steps/s";
    add_even(PLACE_NONE, 2000);
    add_even(PLACE_PARTITION, 20);
    for (size_t i = 0; i < 2; i++)
        by_hand.result.arms[i].bench = &command;
    for (unsigned round = 0; round < 3; round++) {
        struct observation *cut = &by_hand.result.arms[0].observations[round];
        for (unsigned w = 0; w < 2; w++) {
            fixture_set_steps(&cut->workers[w], (double[]){2000}, 1);
            fixture_censor(cut, w);
            struct worker_result *ended = &by_hand.result.arms[1].observations[round].workers[w];
            for (size_t i = 0; i < ended->nsamples; i++)
                ended->samples[i].rate = 50;
        }
    }
    assert_advice("recommended: partition, 100 steps/s; no round of none gave a rate (more than "
                  "2.00 s).",
                  "partition");
    for (unsigned round = 0; round < 3; round++)
        by_hand.result.arms[0].observations[round].status = STATUS_FAILED;
    const struct finding advice = advise();
    assert_string_equal(advice.command, "contend place --workers 2 --placement partition");
    assert_has(advice.sentence, "no round of none gave a rate (");
}

TEST_OF_RESULT(advice_overlap_is_unclear)
{
    (void)add(PLACE_NONE, 2, (double[]){20, 22, 20}, 3);
    (void)add(PLACE_PARTITION, 2, (double[]){21, 20, 19}, 3);
    assert_advice("no measurable gain: leave it as it is. The fastest other is partition, 1.05x "
                  "the default, range 0.95x to 1.10x.",
                  NULL);
}

/* Better in every round, yet no more than chance gives the best of many placements. */
TEST_OF_RESULT(advice_needs_more_than_a_little)
{
    (void)add(PLACE_NONE, 2, (double[]){20.6, 20.8, 20.4}, 3);
    add_even(PLACE_PARTITION, 20);
    assert_advice("no measurable gain: leave it as it is. The fastest other is partition, 1.03x "
                  "the default, range 1.02x to 1.04x.",
                  NULL);
}

TEST_OF_RESULT(advice_advises_nothing_that_failed)
{
    add_even(PLACE_NONE, 100);
    add_even(PLACE_CORES, 40);
    add_even(PLACE_PARTITION, 50);
    for (unsigned round = 0; round < 2; round++)
        by_hand.result.arms[1].observations[round].status = STATUS_HUNG;
    assert_string_equal(advise().sentence,
                        "recommended: partition, 2.0x the default, range 2.0x to 2.0x.");
    for (unsigned round = 0; round < 2; round++)
        by_hand.result.arms[0].observations[round].status = STATUS_HUNG;
    assert_string_equal(advise().sentence,
                        "recommended: partition, 2.0x the default in one round.");
}

TEST_OF_RESULT(advice_same_plans_are_not_compared)
{
    add_even(PLACE_NONE, 100);
    add_even(PLACE_PARTITION, 50);
    for (unsigned w = 0; w < 2; w++)
        by_hand.result.arms[1].plan.workers[w] = by_hand.result.arms[0].plan.workers[w];
    assert_advice("the placements possible here give the workers the same "
                  "CPUs and threads: differences are chance.",
                  NULL);
}

/* Seen on a busy machine: rounds of 1.2x, 8.9x and 104x were reported as "8.9x". */
TEST_OF_RESULT(advice_far_apart_rounds_have_no_single_number)
{
    (void)add(PLACE_NONE, 2, (double[]){12, 89, 1040}, 3);
    add_even(PLACE_PARTITION, 10);
    assert_string_equal(advise().sentence,
                        "recommended: partition, between 1.20x and 104x the default.");
    (void)print(false);
    assert_true(has_line("partition* 20.0 k 8.9x 1.20-104"));
    by_hand_again();
    (void)add(PLACE_NONE, 2, (double[]){50, 90, 140}, 3); /* rounds of 5x, 9x and 14x */
    add_even(PLACE_PARTITION, 10);
    assert_string_equal(advise().sentence,
                        "recommended: partition, 9.0x the default, range 5.0x to 14x.");
    by_hand_again();
    by_hand.result.rounds_planned = by_hand.result.rounds_done =
        6; /* many rounds have an interval */
    (void)add(PLACE_NONE, 2, (double[]){30, 85, 90, 90, 95, 180}, 6);
    (void)add(PLACE_PARTITION, 2, (double[]){10, 10, 10, 10, 10, 10}, 6);
    assert_has(advise().sentence, "recommended: partition, 9.0x the default, 95% ");
    (void)print(false);
    assert_true(has_line("2 workers items/s speed-up 95% "));
}

/* `partition` was once recommended though `sized`, one variable, was as good. */
TEST_OF_RESULT(advice_is_the_simplest_of_the_best)
{
    add_even(PLACE_NONE, 100);
    size_t sized = add(PLACE_SIZED, 2, (double[]){20.5, 20.2, 19.9}, 3);
    add_even(PLACE_PASSIVE, 40);
    add_even(PLACE_NUMA, 20.5);
    add_even(PLACE_PARTITION, 20);
    assert_advice(
        "recommended: sized (OMP_NUM_THREADS=4), 5.0x the default, range 4.9x to 5.0x; "
        "OMP_WAIT_POLICY=passive alone: 2.5x. partition, the fastest, is indistinguishable from "
        "it: "
        "1.01x, range 1.00x to 1.02x.",
        "sized");
    for (unsigned round = 0; round < 3; round++) /* clearly behind */
        for (unsigned w = 0; w < 2; w++)
            fixture_set_steps(&by_hand.result.arms[sized].observations[round].workers[w],
                              (double[]){25, 25}, 2);
    assert_advice(
        "recommended: partition, 5.0x the default, range 5.0x to 5.0x; OMP_NUM_THREADS=4 alone: "
        "4.0x, OMP_WAIT_POLICY=passive alone: 2.5x. numa adds no measurable gain: 0.98x, range "
        "0.98x to 0.98x.",
        "partition");
}

/* In noise the classic mistake can come out first: it is shown, and nobody is told to make it. */
TEST_OF_RESULT(advice_is_never_same)
{
    (void)add(PLACE_NONE, 2, (double[]){100}, 1);
    (void)add(PLACE_SAME, 2, (double[]){10}, 1);
    by_hand.result.rounds_done = 1;
    assert_advice("", NULL);
    (void)add(PLACE_PARTITION, 2, (double[]){20}, 1);
    (void)add(PLACE_REMOTE, 2, (double[]){10}, 1);
    assert_advice("recommended: partition, 5.0x the default in one round.", "partition");
    (void)print(false);
    assert_true(has_line("same 20.0 k 10x 50%"));
}

TEST_OF_RESULT(advice_command_is_the_users_own)
{
    by_hand.result.program = "./contend";
    add_even(PLACE_NONE, 100);
    add_even(PLACE_PARTITION, 10);
    assert_string_equal(advise().command, "./contend place --workers 2 --placement partition");
}

TEST_OF_RESULT(advice_without_none)
{
    add_even(PLACE_SAME, 30);
    add_even(PLACE_CORES, 10);
    assert_string_equal(advise().sentence, "recommended: cores, 3.0x same, range 3.0x to 3.0x.");
    by_hand_again();
    add_even(PLACE_CORES, 10);
    assert_advice("", NULL);
}

/* One worker alone under partition 10 ms; `none` loses 90 ms in the given shares of its wall. */
static struct finding close_with_shares(double oncpu, double queue, double blocked,
                                        double instructions)
{
    by_hand_again();
    add_even(PLACE_NONE, 100);
    add_even(PLACE_PARTITION, 10);
    size_t alone = fixture_add_arm(&by_hand.result, PLACE_PARTITION, 2, true);
    for (unsigned round = 0; round < 3; round++) {
        (void)fixture_add_even_round(&by_hand.result, alone, round, 10, 2);
        for (unsigned w = 0; w < 2; w++) {
            struct worker_result *worker = &by_hand.result.arms[0].observations[round].workers[w];
            fixture_set_shares(worker, oncpu, queue, blocked);
            worker->usage.instructions *= instructions;
        }
        if (isnan(queue))
            fixture_set_shares(&by_hand.result.arms[alone].observations[round].workers[0], 0.5, NAN,
                               0.5);
    }
    return advise();
}

TEST_OF_RESULT(advice_says_what_the_loss_was)
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
TEST_OF_RESULT(advice_is_silent_on_a_loss_that_was_not_seen)
{
    assert_lacks(close_with_shares(0.01, 0.005, 0.005, NAN).sentence, "of the loss");
    assert_lacks(close_with_shares(0.055, 0.02, 0.01, NAN).sentence, "of the loss");
    assert_has(close_with_shares(0.06, 0.02, 0.01, NAN).sentence,
               "; 1% of the loss was extra time on the CPU");
}

/* Of 78 ms more blocked time, stolen is half of 8 CPUs' time over 16 threads, minus the baseline's
 * loss. */
TEST_OF_RESULT(advice_says_what_of_it_was_stolen)
{
    (void)close_with_shares(0.1, 0.1, 0.8, NAN);
    for (unsigned round = 0; round < 3; round++)
        by_hand.result.arms[0].observations[round].steal = 0.5;
    assert_has(advise().sentence,
               "; 87% of the loss was blocked: waiting for other threads, the device "
               "or memory, including up to 32% stolen by the hypervisor");
    for (unsigned round = 0; round < 3; round++)
        by_hand.result.arms[0].observations[round].steal = NAN;
    assert_lacks(advise().sentence, "stolen");
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
