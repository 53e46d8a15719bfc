/* What contend doctor advises to set or unset, `contend ab` takes as a variant. */
#include "harness/doctor/checks/check.h"
#include "harness/doctor/checks/check_runtime.h"
#include "harness/engine/result.h"
#include "tests/lib/unit.h"

static struct variants variants;

static const struct variant *parse(const char *change)
{
    struct opt_texts texts = {.n = 2, .text = {"a", change}};
    struct err err = {0};
    variants = (struct variants){0};
    if (variants_parse(&texts, &variants, &err))
        fail_msg("%s", err.msg);
    return &variants.all[1];
}

TEST(ab_takes_each_variable_that_doctor_sets)
{
    bool threads = false;
    size_t n = 0;
    for (const char *name; (name = check_team_variable(n)); n++) {
        char change[96];
        put_text(change, "b=env:%s=3", name);
        const struct variant *variant = parse(change);
        assert_int_equal(variant->env.n, 1);
        assert_string_equal(variant->env.text[0], change + strlen("b=env:"));
        threads = threads || variant->plan.threads == 3;
    }
    assert_true(n > 10 && threads);
}

TEST(ab_takes_each_variable_that_doctor_unsets)
{
    size_t n = 0;
    for (const char *name; (name = check_settings_variable(n)); n++) {
        char change[96];
        put_text(change, "b=unset:%s", name);
        assert_string_equal(parse(change)->env.text[0], name);
    }
    assert_true(n > 10);
}
