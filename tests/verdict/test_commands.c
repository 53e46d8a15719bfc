/* Behaviour of a user's command that its rows do not show. */
#include "harness/verdict/odd.h"

#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

struct seen {
    struct result result;
    struct findings findings;
    size_t arm;
};

/* `partition` with two workers and two rounds. */
static int setup(void **state)
{
    static struct seen seen;
    seen = (struct seen){0};
    fixture_result_init(&seen.result);
    seen.arm = fixture_add_arm(&seen.result, PLACE_PARTITION, 2, false);
    for (unsigned round = 0; round < 2; round++)
        (void)fixture_add_even_round(&seen.result, seen.arm, round, 10, 4);
    *state = &seen;
    return 0;
}

static int teardown(void **state)
{
    struct seen *seen = *state;
    findings_free(&seen->findings);
    fixture_result_free(&seen->result);
    return 0;
}

static struct worker_result *worker(struct seen *seen, unsigned round, unsigned index)
{
    return &seen->result.arms[seen->arm].observations[round].workers[index];
}

static void add_mask(struct worker_result *to, const char *name, unsigned cpu, bool beyond)
{
    struct tree_mask *mask = &to->masks[to->nmasks++];
    put_text(mask->name, "%s", name);
    bitset_set(&mask->cpus, cpu);
    mask->outside_plan = beyond;
    mask->persists = true;
}

static void find(struct seen *seen)
{
    ANALYSED(analysis, &seen->result);
    commands_find(&analysis, &seen->findings);
}

TEST_WITHIN(commands_that_do_as_planned_have_no_finding, setup, teardown)
{
    struct seen *seen = *state;
    find(seen);
    assert_int_equal(seen->findings.n, 0);
}

TEST_WITHIN(commands_of_a_mask_beyond_the_plan_doubt_the_placement, setup, teardown)
{
    struct seen *seen = *state;
    add_mask(worker(seen, 0, 0), "python", 7, true);
    add_mask(worker(seen, 1, 1), "python", 7, true); /* reported once */
    add_mask(worker(seen, 0, 0), "helper", 0, false);
    add_mask(worker(seen, 0, 1), "moment", 7, true);
    worker(seen, 0, 1)->masks[0].persists = false; /* the process ended soon */
    find(seen);
    assert_int_equal(seen->findings.n, 2);
    const struct finding *beyond = &seen->findings.all[0], *within = &seen->findings.all[1];
    assert_string_equal(beyond->id, "mask_changed");
    assert_string_equal(beyond->subject, "'python' under partition");
    assert_int_equal(beyond->severity, FINDING_DOUBT);
    assert_has(beyond->sentence, "does not apply to it: it was bound to CPUs 7");
    assert_int_equal(within->severity, FINDING_NOTE);
    assert_has(within->sentence, "uses only some CPUs");
}

TEST_WITHIN(commands_of_many_masks_are_told_of_some, setup, teardown)
{
    struct seen *seen = *state;
    for (unsigned i = 0; i < 2 * TREE_MASKS; i++) {
        char name[TASK_NAME_MAX];
        put_text(name, "thread%u", i);
        add_mask(worker(seen, i / TREE_MASKS, 0), name, 7, true);
    }
    find(seen);
    assert_int_equal(seen->findings.n, 6);
}

TEST_WITHIN(commands_whose_output_was_cut_or_that_were_killed_say_so, setup, teardown)
{
    struct seen *seen = *state;
    worker(seen, 0, 0)->cut_bytes = 1 << 20;
    worker(seen, 1, 1)->cut_bytes = 1 << 20;
    worker(seen, 1, 0)->killed = 1;
    find(seen);
    assert_int_equal(seen->findings.n, 2);
    assert_string_equal(seen->findings.all[0].id, "output_cut");
    assert_has(seen->findings.all[0].sentence, "2 MiB of the command's output were dropped");
    assert_string_equal(seen->findings.all[1].id, "ignored_sigterm");
    assert_has(seen->findings.all[1].sentence, "1 run of the command did not end");
}
