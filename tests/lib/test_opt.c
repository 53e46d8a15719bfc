/* Option tables: parsing and printing of every kind, ranges, defaults, pairs and the help. */
#include "harness/lib/opt.h"
#include "harness/lib/text.h"
#include "tests/lib/unit.h"

struct values {
    int64_t count, any;
    uint64_t size_bytes;
    double ratio, limit_s;
    bool quiet;
    int wait;
    const char *out;
};

static const char *const waits[] = {"spin", "block", NULL};

static const struct opt opts[] = {
    OPT_INT("count", values, count, "4", 1, 1000, "N", "how many there are", .letter = 'n'),
    OPT_INT("any", values, any, NULL, 0, 0, "N", "any whole number"),
    OPT_SIZE("size", values, size_bytes, "64K", 1024, 1 << 30, "BYTES",
             "how much memory a worker takes for the buffer that it fills in every single step"),
    OPT_DOUBLE("ratio", values, ratio, "0.5", 0, 1, "R", "share"),
    OPT_SECONDS("limit", values, limit_s, "200ms", 0, 0, "TIME", "time limit"),
    OPT_FLAG("quiet", values, quiet, "0", "say nothing"),
    OPT_CHOICE("wait", values, wait, "block", waits, "HOW", "how to wait for the device"),
    OPT_TEXT("out", values, out, NULL, "DIR", "where the results go"),
    {.name = NULL},
};

static struct values defaults(void)
{
    struct values values = {0};
    opts_set_defaults(opts, &values);
    return values;
}

TEST(opt_defaults)
{
    struct values values = defaults();
    assert_int_equal(values.count, 4);
    assert_int_equal(values.any, 0);
    assert_int_equal(values.size_bytes, 65536);
    assert_true(values.ratio == 0.5);
    assert_true(values.limit_s == 0.2);
    assert_false(values.quiet);
    assert_int_equal(values.wait, 1);
    assert_null(values.out);
    opts_set_defaults(NULL, &values);
}

TEST(opt_pairs)
{
    static const char *const pairs[] = {"count=1000", "any=-9223372036854775808",
                                        "size=1M",    "ratio=1e-3",
                                        "limit=2m",   "quiet=yes",
                                        "wait=spin",  "out=a=b"};
    struct values values = defaults();
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        assert_int_equal(opts_set_pair(opts, &values, pairs[i], NULL), 0);
    assert_int_equal(values.count, 1000);
    assert_true(values.any == INT64_MIN);
    assert_int_equal(values.size_bytes, 1 << 20);
    assert_true(values.ratio == 1e-3);
    assert_true(values.limit_s == 120);
    assert_true(values.quiet);
    assert_int_equal(values.wait, 0);
    assert_string_equal(values.out, "a=b");
}

/* Every message names the option and the value, and says what is allowed. */
TEST(opt_refuses)
{
    static const struct {
        const char *pair, *message;
    } bad[] = {
        {"count=0", "count '0' is outside 1 to 1000"},
        {"count=1001", "count '1001' is outside 1 to 1000"},
        {"count=", "count '' is not a whole number"},
        {"count=3x", "count '3x' is not a whole number"},
        {"count= 3", "count ' 3' is not a whole number"},
        {"count=1.5", "count '1.5' is not a whole number"},
        {"any=9223372036854775808", "any '9223372036854775808' is not a whole number"},
        {"size=10", "size '10' is outside 1024 to 1073741824 bytes"},
        {"size=-1", "size '-1' is not a size such as 4096, 64K, 8M or 1G"},
        {"ratio=1.01", "ratio '1.01' is outside 0 to 1"},
        {"ratio=nan", "ratio 'nan' is not a number"},
        {"ratio=0x1p-2", "ratio '0x1p-2' is not a number"},
        {"ratio=", "ratio '' is not a number"},
        {"limit=soon", "limit 'soon' is not a duration such as 2, 1.5s, 200ms, 5m or 1h30m"},
        {"quiet=maybe", "quiet 'maybe' is not 1 or 0"},
        {"wait=sleep", "wait: invalid value 'sleep'; valid: spin, block"},
        {"wait=", "wait: invalid value ''; valid: spin, block"},
        {"count", "'count' is not a parameter of the form name=value"},
        {"=4", "'=4' is not a parameter of the form name=value"},
        {"", "'' is not a parameter of the form name=value"},
        {"rows=4", "unknown parameter 'rows'; known: count, any, size, ratio, limit, quiet, wait, "
                   "out"},
        {"Count=4", "unknown parameter 'Count'; did you mean 'count'? known: count, any, size, "
                    "ratio, limit, quiet, wait, out"},
    };
    struct values values = defaults(), before = values;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = {0};
        assert_int_equal(opts_set_pair(opts, &values, bad[i].pair, &err), -EINVAL);
        assert_string_equal(err.msg, bad[i].message);
        assert_memory_equal(&values, &before, sizeof(values));
    }
    struct err err;
    assert_int_equal(opts_set_pair(NULL, &values, "a=1", &err), -EINVAL);
    assert_string_equal(err.msg, "unknown parameter 'a'; known: none");
}

TEST(opt_long_names_and_values_are_cut)
{
    char pair[600];
    struct values values = defaults();
    memset(pair, 'x', sizeof(pair) - 1);
    pair[sizeof(pair) - 1] = '\0';
    assert_int_equal(opts_set_pair(opts, &values, pair, NULL), -EINVAL);
    pair[300] = '=';
    assert_int_equal(opts_set_pair(opts, &values, pair, NULL), -EINVAL);
    memcpy(pair, "count=", 6);
    assert_int_equal(opts_set_pair(opts, &values, pair, NULL), -EINVAL);
    memcpy(pair, "size=", 5);
    assert_int_equal(opts_set_pair(opts, &values, pair, NULL), -EINVAL);
}

TEST(opt_format_reads_back)
{
    struct values values = defaults(), again = {0};
    (void)opts_set_pair(opts, &values, "limit=0.123456789", NULL);
    (void)opts_set_pair(opts, &values, "out=somewhere", NULL);
    char *text = str_fmt("%s", opts_format(opts, &values));
    assert_string_equal(text,
                        "count=4;any=0;size=65536;ratio=0.5;limit=0.123456789;quiet=0;wait=block;"
                        "out=somewhere");
    for (char *pair = strtok(text, ";"); pair; pair = strtok(NULL, ";"))
        assert_int_equal(opts_set_pair(opts, &again, pair, NULL), 0);
    assert_int_equal(again.count, values.count);
    assert_int_equal(again.size_bytes, values.size_bytes);
    assert_true(again.limit_s == values.limit_s);
    assert_int_equal(again.wait, values.wait);
    assert_string_equal(opts_format(NULL, &values), "");
}

TEST(opt_help_fits_80_columns)
{
    FREED char *text = NULL;
    FILE *out = unit_print_into(&text);
    for (const struct opt *opt = opts_shown(opts); opt; opt = opts_shown(opt + 1))
        opt_print_help(opt, "--", OPT_RARE, out);
    assert_int_equal(fclose(out), 0);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 1, 79);
    assert_has(text, "\n  --quiet                 say nothing (0 or 1, default 0)\n");
    assert_has(text, "  -n, --count N           how many there are (default 4)\n");
    assert_has(text, "how to wait for the device: spin, block (default\n");
    /* A flag on the command line takes no value, unlike a parameter that is 0 or 1. */
    const struct opt flag = {.name = "check", .kind = OPT_FLAG, .help = "look"};
    assert_string_equal(opt_format_help(&flag, OPT_RARE), "look");
}
