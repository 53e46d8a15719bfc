/* Runs that declare themselves unusable as evidence, and the verdicts that remain. */
#include "harness/verdict/runs/compare.h"
#include "tests/lib/unit.h"

static enum finding_outcome doubted(size_t runs, size_t busy_base, size_t busy_other,
                                    size_t history, size_t busy_history,
                                    enum finding_outcome outcome, char *reason)
{
    enum { MOST = 16 };
    static const char *const why[] = {"others used 40%: so", "others used 50%", "others used 60%"};
    const size_t busy[] = {busy_base, busy_other, busy_history};
    const char *text[PAIRING_SIDES][MOST] = {{NULL}};
    for (size_t side = 0; side < PAIRING_SIDES; side++)
        for (size_t i = 0; i < busy[side]; i++)
            text[side][i] = why[side];
    const struct pairing_runs sides[PAIRING_SIDES] = {{.name = "base", .n = runs, .busy = text[0]},
                                                      {.name = "new", .n = runs, .busy = text[1]},
                                                      {"history", history, .busy = text[2]}};
    struct comparison one = {.evidence.outcome = outcome, .reason = "as it was"};
    struct comparisons comparisons = {.n = 1, .all = &one};
    disturbed_doubt(sides, &comparisons);
    strcpy(reason, one.reason);
    return one.evidence.outcome;
}

TEST(disturbed_sides_bear_only_what_is_against_the_disturbance)
{
    static const struct {
        size_t runs, busy_base, busy_other, history, busy_history;
        bool slower, faster, same; /* verdicts that remain */
    } cases[] = {
        {1, 0, 0, 0, 0, true, true, true},   {1, 0, 1, 0, 0, false, true, false},
        {1, 1, 0, 0, 0, true, false, false}, {1, 1, 1, 0, 0, false, false, false},
        {1, 1, 1, 15, 8, true, true, true},  {1, 1, 1, 15, 7, false, false, false},
        {5, 5, 4, 0, 0, true, true, true},   {5, 0, 3, 0, 0, false, true, false},
        {5, 1, 2, 0, 0, true, true, true},   {4, 4, 4, 14, 0, false, false, false},
    };
    char reason[400];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct {
            enum finding_outcome outcome;
            bool stays;
        } outcomes[] = {{OUTCOME_SLOWER, cases[i].slower}, {OUTCOME_FASTER, cases[i].faster},
                        {OUTCOME_SAME, cases[i].same},     {OUTCOME_MISSING, true},
                        {OUTCOME_UNCLEAR, true},           {OUTCOME_NONE, true}};
        for (size_t o = 0; o < sizeof(outcomes) / sizeof(outcomes[0]); o++) {
            enum finding_outcome outcome = outcomes[o].outcome;
            assert_int_equal(doubted(cases[i].runs, cases[i].busy_base, cases[i].busy_other,
                                     cases[i].history, cases[i].busy_history, outcome, reason),
                             outcomes[o].stays ? outcome : OUTCOME_UNCLEAR);
            assert_int_equal(strcmp(reason, "as it was") == 0, outcomes[o].stays);
        }
    }
    (void)doubted(1, 1, 1, 0, 0, OUTCOME_SLOWER, reason);
    assert_string_equal(reason, "It looks SLOWER, but the run of base was disturbed: others used "
                                "40%, and the run of new was disturbed: others used 50%.");
}
