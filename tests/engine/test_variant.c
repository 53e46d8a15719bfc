/* The variants of a command line: their parsing, and what is refused. */
#include "harness/engine/result.h"
#include "tests/lib/unit.h"

static int parse(const char *const *texts, struct variants *variants, struct err *err)
{
    struct opt_texts given = {0};
    for (; *texts; texts++)
        given.text[given.n++] = *texts;
    *variants = (struct variants){0};
    *err = (struct err){0};
    return variants_parse(&given, variants, err);
}

TEST(variant_takes_what_stands_behind_its_name)
{
    static struct variants variants;
    struct err err;
    assert_int_equal(
        parse((const char *const[]){"plain", "b.1=env:OMP_WAIT_POLICY=passive", "b.1=param:rows=64",
                                    "b.1=placement:sized", "b.1=lib:nccl=/opt/x=y/libnccl.so",
                                    "c=build:/bin/contend", "b.1=env:A=", "b.1=threads:12",
                                    "b.1=cpu-max:0.5", "b.1=nice:-3", "b.1=background-sched:idle",
                                    "b.1=background-weight:25", NULL},
              &variants, &err),
        0);
    assert_int_equal(variants.n, 3);
    const struct variant *b = &variants.all[1];
    assert_string_equal(variants.all[0].name, "plain");
    assert_string_equal(b->name, "b.1");
    assert_int_equal(b->env.n, 3);
    assert_string_equal(b->env.text[0], "OMP_WAIT_POLICY=passive");
    assert_string_equal(b->env.text[1], "CONTEND_LIBNCCL=/opt/x=y/libnccl.so");
    assert_string_equal(b->env.text[2], "A=");
    assert_string_equal(b->params.text[0], "rows=64");
    assert_string_equal(b->placement, "sized");
    assert_int_equal(b->plan.threads, 12);
    assert_float_equal(b->cpu_max, 0.5, 0);
    assert_int_equal(b->priority[0].nice, -3);
    assert_int_equal(b->priority[1].policy, 2);
    assert_int_equal(b->priority[1].weight, 25);
    assert_true(variants_any_build(&variants));
    variants.n = 2;
    assert_false(variants_any_build(&variants));
    assert_true(variant_only_places(&variants.all[0]));
    assert_false(variant_only_places(b));
    assert_int_equal(parse((const char *const[]){"a", "b=placement:same", NULL}, &variants, &err),
                     0);
    assert_true(variant_only_places(&variants.all[1]));
    variants.all[1].argv = (char *[]){NULL};
    assert_false(variant_only_places(&variants.all[1]));
}

TEST(variant_sets_the_threads_of_its_plan_by_variable)
{
    static struct variants variants;
    struct err err;
    assert_int_equal(parse((const char *const[]){"a=", "b=env:OMP_NUM_THREADS=4,2",
                                                 "b=unset:OMP_PROC_BIND", NULL},
                           &variants, &err),
                     0);
    assert_int_equal(variants.all[0].plan.threads, 0);
    assert_int_equal(variants.all[0].env.n, 0);
    assert_int_equal(variants.all[1].plan.threads, 4);
    assert_string_equal(variants.all[1].env.text[0], "OMP_NUM_THREADS=4,2");
    assert_string_equal(variants.all[1].env.text[1], "OMP_PROC_BIND");
}

TEST(variant_commands_may_hold_anything)
{
    static struct variants variants;
    struct err err;
    assert_int_equal(
        parse((const char *const[]){"a", "b=before:x=1; echo a:b > /tmp/f", "b=after:true", NULL},
              &variants, &err),
        0);
    assert_string_equal(variants.all[1].before, "x=1; echo a:b > /tmp/f");
    assert_string_equal(variants.all[1].after, "true");
}

TEST(variant_refuses_what_it_cannot_take)
{
    static const struct {
        const char *texts[4], *says;
    } bad[] = {
        {{"a", NULL}, "nothing to be compared with"},
        {{"a", "a=param:x=1", NULL}, "nothing to be compared with"},
        {{"", "b", NULL}, "1 to 31 characters"},
        {{"=env:A=1", "b", NULL}, "1 to 31 characters"},
        {{"a;b", "c", NULL}, "letters"},
        {{"a", "an_extremely_long_name_of_32_chars", NULL}, "1 to 31 characters"},
        {{"a", "b=env", NULL}, "NAME=KIND:VALUE"},
        {{"a", "b=env:", NULL}, "NAME=KIND:VALUE"},
        {{"a", "b=env:A", NULL}, "'A' is not of the form NAME=VALUE"},
        {{"a", "b=param:=1", NULL}, "not of the form NAME=VALUE"},
        {{"a", "b=magic:1", NULL}, "unknown kind 'magic'"},
        {{"a", "b=lib:mpi=x", NULL}, "lib:nccl=PATH"},
        {{"a", "b=lib:nccl=", NULL}, "lib:nccl=PATH"},
        {{"a", "b=before:x", NULL}, "no after:"},
        {{"a", "b=env:GOMP_CPU_AFFINITY=0", NULL}, "use placement:NAME"},
        {{"a", "b=env:OMP_NUM_THREADS=", NULL}, "threads '"},
        {{"a", "b=env:OMP_NUM_THREADS=2x", NULL}, "threads '"},
        {{"a", "b=threads:4,2", NULL}, "threads '"},
        {{"a", "b=threads:2", "b=env:OMP_NUM_THREADS=2", NULL}, "two of 'threads'"},
        {{"a", "b=unset:A=1", NULL}, "unset takes a name"},
        {{"a", "b=threads:2", "b=threads:3", NULL}, "two of 'threads'"},
        {{"a", "b=cpu-max:0", NULL}, "cpu-max '"},
        {{"a", "b=nice:20", NULL}, "nice '"},
        {{"a", "b=sched:fifo", NULL}, "sched"},
        {{"a", "b=weight:0", NULL}, "weight '"},
        {{"a", "b=cpu-max:1", "b=cpu-max:2", NULL}, "two of 'cpu-max'"},
        {{"a", "b=placement:none", "b=placement:sized", NULL}, "two of 'placement'"},
    };
    static struct variants variants;
    struct err err;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_true(parse(bad[i].texts, &variants, &err) < 0);
        assert_has(err.msg, bad[i].says);
    }
    assert_int_equal(
        parse((const char *const[]){"1", "2", "3", "4", "5", "6", "7", "8", NULL}, &variants, &err),
        0);
    assert_int_equal(parse((const char *const[]){"1", "2", "3", "4", "5", "6", "7", "8", "9", NULL},
                           &variants, &err),
                     -EINVAL);
    assert_has(err.msg, "one too many");
}
