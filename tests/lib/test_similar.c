/* Distances worked out by hand, and the suggestion for a mistyped name. */
#include "harness/lib/similar.h"
#include "tests/lib/unit.h"

TEST(similar_distances)
{
    static const struct {
        const char *a, *b;
        unsigned distance;
    } known[] = {
        {"", "", 0},
        {"", "run", 3},
        {"run", "run", 0},
        {"run", "rnu", 1},
        {"run", "un", 1},
        {"run", "runs", 1},
        {"run", "rum", 1},
        {"ca", "abc", 3},
        {"kitten", "sitting", 3},
        {"RUN", "run", 0},
        {"gpu-copy", "gpu_copy", 1},
        {"pipline", "pipeline", 1},
        {"abcd", "badc", 2},
        {"bench", "nbech", 2},
        {"topo", "report", 4},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const char *a = known[i].a, *b = known[i].b;
        assert_int_equal(similar_distance(a, strlen(a), b, strlen(b)), known[i].distance);
        assert_int_equal(similar_distance(b, strlen(b), a, strlen(a)), known[i].distance);
    }
}

TEST(similar_long_names_are_far)
{
    char name[200];
    memset(name, 'a', sizeof(name));
    assert_int_equal(similar_distance(name, sizeof(name), name, sizeof(name)), SIMILAR_NAME_MAX);
    assert_int_equal(similar_distance(name, SIMILAR_NAME_MAX - 1, name, 1), SIMILAR_NAME_MAX - 2);
}

/* The hint for the first `length` characters of `typed`, among a few names. */
static const char *hint(const char *typed, size_t length)
{
    static const char *const names[] = {
        "run", "bench", "workers", "background", "background-workers", "place"};
    struct similar near = similar_to(typed, length);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        similar_offer(&near, names[i]);
    return similar_hint(&near, "--");
}

TEST(similar_offers_the_nearest)
{
    static const struct {
        const char *typed, *hint;
    } known[] = {
        {"rnu", "; did you mean '--run'?"},
        {"worker", "; did you mean '--workers'?"},
        {"Wrokers", "; did you mean '--workers'?"},
        {"back", "; did you mean '--background'?"}, /* the first of two names with this prefix */
        {"backgroundworker", "; did you mean '--background-workers'?"},
        {"runner", "; did you mean '--run'?"}, /* longer than the name */
        {"palce", "; did you mean '--place'?"},
        {"b", ";"},
        {"", ";"},
        {"nonsense", ";"},
        {"xun", "; did you mean '--run'?"},
        {"xux", ";"},
        {"ground", "; did you mean '--background'?"}, /* within a name */
        {"und", ";"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_string_equal(hint(known[i].typed, strlen(known[i].typed)), known[i].hint);
    assert_string_equal(hint("worker=4", 6), "; did you mean '--workers'?");
}

TEST(similar_checks_lists)
{
    static const char *const known[] = {"spin", "block", NULL};
    struct err err;
    assert_int_equal(similar_check_list("wait", NULL, known, &err), 0);
    assert_int_equal(similar_check_list("wait", "block", known, &err), 0);
    assert_int_equal(similar_check_list("wait", "spin,block,spin", known, &err), 0);
    static const struct {
        const char *list, *message;
    } bad[] = {
        {"spin,blok", "wait: invalid value 'blok'; did you mean 'block'? valid: spin, block"},
        {"x,spin", "wait: invalid value 'x'; valid: spin, block"},
        {"spin,", "wait: invalid value ''; valid: spin, block"},
        {"spin,,block", "wait: invalid value ''; valid: spin, block"},
        {"", "wait: invalid value ''; valid: spin, block"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(similar_check_list("wait", bad[i].list, known, &err), -EINVAL);
        assert_string_equal(err.msg, bad[i].message);
    }
}
