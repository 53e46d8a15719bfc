/* harness/machine/env.c: notes about the user's own settings, and about settings without
 * effect. */
#include "harness/machine/env.h"
#include "tests/lib/unit.h"

static const char *const *environment; /* name, value, name, value, ... NULL */

static char *get(const char *name)
{
    for (size_t i = 0; environment[i]; i += 2)
        if (strcmp(environment[i], name) == 0)
            return (char *)(uintptr_t)environment[i + 1];
    return NULL;
}

/* The notes of an environment, for plans of up to 8 threads. */
static struct openmp_notes report(const char *const *variables)
{
    struct openmp_notes notes;
    environment = variables;
    openmp_report(get, 8, OPENMP_FOR_NONE, &notes);
    return notes;
}

TEST(openmp_says_nothing_of_what_changes_nothing)
{
    static const char *const none[] = {NULL};
    static const char *const idle[] = {"OMP_PROC_BIND",
                                       "FALSE",
                                       "OMP_PLACES",
                                       "cores",
                                       "OMP_THREAD_LIMIT",
                                       "8",
                                       "OMP_DYNAMIC",
                                       "false",
                                       "OMP_NUM_THREADS",
                                       "",
                                       "KMP_AFFINITY",
                                       "compact",
                                       NULL};
    assert_int_equal(report(none).n, 0);
    assert_int_equal(report(idle).n, 0);
}

TEST(openmp_names_the_setting_and_its_value)
{
    static const char *const all[] = {"OMP_PROC_BIND",
                                      "true",
                                      "OMP_PLACES",
                                      "cores",
                                      "OMP_DYNAMIC",
                                      "TRUE",
                                      "OMP_THREAD_LIMIT",
                                      "7",
                                      "OMP_WAIT_POLICY",
                                      "active",
                                      "GOMP_SPINCOUNT",
                                      "0",
                                      "OMP_NUM_THREADS",
                                      "2",
                                      "GOMP_CPU_AFFINITY",
                                      "0-1",
                                      NULL};
    struct openmp_notes notes = report(all);
    assert_int_equal(notes.n, OPENMP_NOTES_MAX);
    for (size_t i = 0; all[i]; i += 2) {
        char begin[64];
        bool found = false;
        put_text(begin, "%s=%s is set: ", all[i], all[i + 1]);
        for (size_t n = 0; n < notes.n; n++)
            found |= strncmp(notes.text[n], begin, strlen(begin)) == 0;
        assert_true(found);
    }
}

TEST(openmp_notes_keep_their_end_behind_a_long_value)
{
    char value[400];
    memset(value, '1', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    static const char *const names[] = {"OMP_PROC_BIND",     "OMP_PLACES",      "OMP_WAIT_POLICY",
                                        "GOMP_CPU_AFFINITY", "OMP_NUM_THREADS", "GOMP_SPINCOUNT"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *const one[] = {names[i], value, NULL};
        struct openmp_notes notes = report(one);
        assert_int_equal(notes.n, 1);
        assert_true(strlen(notes.text[0]) < OPENMP_NOTE_MAX - 1);
    }
}

TEST(openmp_binds_as_libgomp_does)
{
    static const struct {
        const char *variables[5];
        bool binds;
    } cases[] = {
        {{NULL}, false},
        {{"OMP_PROC_BIND", "true", NULL}, true},
        {{"OMP_PROC_BIND", "close", NULL}, true},
        {{"OMP_PROC_BIND", "false", NULL}, false},
        {{"OMP_PLACES", "cores", NULL}, true},
        {{"OMP_PROC_BIND", "", "OMP_PLACES", "cores", NULL}, true},
        {{"OMP_PROC_BIND", "False", "OMP_PLACES", "cores", NULL}, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        environment = cases[i].variables;
        assert_int_equal(openmp_binds(get), cases[i].binds);
    }
}
