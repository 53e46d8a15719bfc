/* What table and findings say about an efficiency, besides its number. */
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static size_t add(struct result *result, enum placement placement, unsigned planned_workers,
                  bool alone, const double step_ms[3])
{
    size_t arm = fixture_add_arm(result, placement, planned_workers, alone);
    for (unsigned round = 0; round < 3; round++)
        (void)fixture_add_even_round(result, arm, round, step_ms[round], 2);
    return arm;
}

/* Table and findings, with single spaces and no line ends. The caller frees it. */
static char *format(const struct result *result)
{
    char *text = fixture_print(result, false);
    char *to = text;
    for (const char *from = text; *from; from++)
        if (strcspn(from, " \n") || strcspn(from + 1, " \n"))
            *to++ = (char)(*from == '\n' ? ' ' : *from);
    *to = '\0';
    return text;
}

/* Expects this text about that many workers on that many GPUs; "" = no text. */
static void assert_sharing(enum device device, unsigned workers, unsigned gpus, const char *said)
{
    char expected[200];
    EMPTY_RESULT(result);
    result.device = device;
    size_t arm = add(&result, PLACE_PARTITION, workers, false, (double[]){20, 20, 20});
    for (unsigned w = 0; w < workers; w++)
        result.arms[arm].plan.workers[w].gpu = (int)(w % gpus);
    FREED char *text = format(&result);
    put_text(expected, "what it costs that %s", said);
    if (said[0] && !strstr(text, expected))
        fail_msg("no '%s' in: %s", expected, text);
    if (!said[0])
        assert_lacks(text, "what it costs");
}

TEST(table_names_gpus_that_workers_share)
{
    assert_sharing(DEVICE_CUDA, 3, 1, "3 workers share GPU 0");
    assert_sharing(DEVICE_CUDA, 4, 2, "2 workers share each of the GPUs 0-1");
    assert_sharing(DEVICE_CUDA, 3, 2,
                   "2 workers share GPU 0"); /* the other GPU has a single worker */
    assert_sharing(DEVICE_CUDA, 2, 2, "");
    assert_sharing(DEVICE_SIM, 2, 1, ""); /* each worker has its own modelled device */
}

/* A slice is slower alone than beside others: one text names possible causes for all arms. */
TEST(findings_say_what_efficiency_above_one_is)
{
    EMPTY_RESULT(result);
    (void)add(&result, PLACE_NONE, 2, false, (double[]){19, 24, 19}); /* slower in one round */
    (void)add(&result, PLACE_SIZED, 2, false, (double[]){19, 19, 19});
    (void)add(&result, PLACE_PARTITION, 2, false, (double[]){19, 18, 18});
    (void)add(&result, PLACE_PARTITION, 2, true, (double[]){20, 20, 20});
    FREED char *text = format(&result);
    assert_has(text, "- sized; partition: efficiency is above 100%, also by its interval: the solo "
                     "run on a slice was slower than the same slice among 2 workers");
}
