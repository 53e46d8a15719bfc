/* Command lines as users type them, right and wrong. */
#include "harness/lib/opt.h"
#include "tests/lib/unit.h"

struct values {
    int64_t workers;
    bool verbose;
    const char *out;
};

static const struct opt opts[] = {
    OPT_INT("workers", values, workers, "2", 1, 64, "N", "how many", .letter = 'w'),
    OPT_FLAG("verbose", values, verbose, NULL, "say more", .letter = 'v'),
    OPT_TEXT("out", values, out, NULL, "DIR", "where to", .letter = 'o'),
    {.name = NULL},
};

struct parsed {
    int rc;
    struct values values;
    struct cli cli;
    struct err err;
};

/* argv is NULL-terminated, without the subcommand's name. */
static struct parsed parse(bool accept_pairs, const char *const *arguments)
{
    static char *argv[CLI_LIST_MAX + 8];
    static struct parsed parsed;
    int argc = 1;
    argv[0] = (char *)"run";
    while (*arguments)
        argv[argc++] = (char *)*arguments++;
    argv[argc] = NULL;
    memset(&parsed, 0, sizeof(parsed));
    parsed.rc = cli_parse(opts, accept_pairs, argc, argv, &parsed.values, &parsed.cli, &parsed.err);
    return parsed;
}

#define PARSE(...) parse(true, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
#define PARSE_WITHOUT_PAIRS(...) parse(false, (const char *const[]){__VA_ARGS__, NULL})

TEST(cli_nothing_gives_defaults)
{
    struct parsed got = PARSE();
    assert_int_equal(got.rc, 0);
    assert_int_equal(got.values.workers, 2);
    assert_false(got.values.verbose);
    assert_int_equal(got.cli.npositional, 0);
    assert_int_equal(got.cli.npairs, 0);
    assert_false(got.cli.help);
}

TEST(cli_forms_of_a_value)
{
    assert_int_equal(PARSE("--workers", "4").values.workers, 4);
    assert_int_equal(PARSE("--workers=4").values.workers, 4);
    assert_int_equal(PARSE("-w", "4").values.workers, 4);
    assert_int_equal(PARSE("-w4").values.workers, 4);
    assert_int_equal(PARSE("--workers", "4", "--workers", "8").values.workers, 8);
    assert_string_equal(PARSE("--out=a=b").values.out, "a=b");
    assert_string_equal(PARSE("--out=").values.out, "");
    assert_string_equal(PARSE("-o", "-").values.out, "-");
    assert_string_equal(PARSE("-o", "-3").values.out, "-3");
    assert_string_equal(PARSE("-o", "--odd").values.out, "--odd");
    assert_string_equal(PARSE("--out=--verbose").values.out, "--verbose");
}

TEST(cli_flags)
{
    assert_true(PARSE("-v").values.verbose);
    assert_true(PARSE("--verbose").values.verbose);
    assert_false(PARSE("-v", "--verbose=0").values.verbose);
    struct parsed got = PARSE("--verbose", "pipeline"); /* a flag takes no value */
    assert_true(got.values.verbose);
    assert_string_equal(got.cli.positional[0], "pipeline");
}

TEST(cli_positionals_mix_with_options)
{
    struct parsed got = PARSE("a", "-w", "3", "b", "--", "--workers", "-v", "--", "--help");
    assert_int_equal(got.rc, 0);
    assert_int_equal(got.values.workers, 3);
    assert_false(got.values.verbose);
    assert_false(got.cli.help);
    static const char *const want[] = {"a", "b", "--workers", "-v", "--", "--help"};
    assert_int_equal(got.cli.npositional, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(got.cli.positional[i], want[i]);
}

TEST(cli_pairs)
{
    struct parsed got = PARSE("-p", "rows=4", "--param", "cols=8", "--param=wait=spin", "-pa=b");
    static const char *const want[] = {"rows=4", "cols=8", "wait=spin", "a=b"};
    assert_int_equal(got.rc, 0);
    assert_int_equal(got.cli.npairs, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(got.cli.pairs[i], want[i]);
    got = PARSE_WITHOUT_PAIRS("-p", "rows=4");
    assert_int_equal(got.rc, -EINVAL);
    assert_string_equal(got.err.msg, "unknown option '-p'; see 'contend run --help'");
    assert_int_equal(PARSE_WITHOUT_PAIRS("--param=rows=4").rc, -EINVAL);
}

TEST(cli_help_wins)
{
    assert_true(PARSE("--help").cli.help);
    assert_true(PARSE("-h").cli.help);
    assert_false(PARSE("--help").cli.help_all);
    assert_true(PARSE("--help-all").cli.help);
    assert_true(PARSE("-h", "--help-all").cli.help_all);
    struct parsed got = PARSE("--nonsense", "-w", "none", "-h");
    assert_int_equal(got.rc, 0);
    assert_true(got.cli.help);
    got = PARSE("-w", "4", "pipeline", "--help", "train");
    assert_true(got.cli.help);
    assert_int_equal(got.cli.npositional, 2);
    assert_string_equal(got.cli.positional[0], "pipeline");
    assert_string_equal(got.cli.positional[1], "train");
}

TEST(cli_refuses)
{
    static const struct {
        const char *arguments[3], *message;
    } bad[] = {
        {{"--nonsense"}, "unknown option '--nonsense'; see 'contend run --help'"},
        {{"--nonsense=4"}, "unknown option '--nonsense=4'; see 'contend run --help'"},
        {{"--worker", "4"},
         "unknown option '--worker'; did you mean '--workers'? see 'contend run --help'"},
        {{"--verbsoe=1"},
         "unknown option '--verbsoe=1'; did you mean '--verbose'? see 'contend run --help'"},
        {{"-x"}, "unknown option '-x'; see 'contend run --help'"},
        {{"--workers"}, "option '--workers' needs a value"},
        {{"-w"}, "option '-w' needs a value"},
        {{"-p"}, "option '-p' needs a value"},
        {{"--workers", "--verbose"},
         "option '--workers' needs a value, and '--verbose' is an option"},
        {{"-o", "-w"}, "option '-o' needs a value, and '-w' is an option"},
        {{"-p", "--"}, "option '-p' needs a value, and '--' is an option"},
        {{"--workers", "many"}, "workers 'many' is not a whole number"},
        {{"--workers=65"}, "workers '65' is outside 1 to 64"},
        {{"--verbose=maybe"}, "verbose 'maybe' is not 1 or 0"},
        {{"-vw"}, "verbose 'w' is not 1 or 0"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct parsed got = parse(true, bad[i].arguments);
        assert_int_equal(got.rc, -EINVAL);
        assert_string_equal(got.err.msg, bad[i].message);
    }
}

TEST(cli_too_long_a_name_is_unknown)
{
    char name[200] = "--workers";
    memset(name + 9, 's', sizeof(name) - 10);
    assert_int_equal(PARSE(name, "4").rc, -EINVAL);
}

TEST(cli_too_many_arguments)
{
    const char *arguments[CLI_LIST_MAX + 2];
    for (int i = 0; i <= CLI_LIST_MAX; i++)
        arguments[i] = "x";
    arguments[CLI_LIST_MAX + 1] = NULL;
    struct parsed got = parse(true, arguments);
    assert_int_equal(got.rc, -EINVAL);
    assert_string_equal(got.err.msg, "'x' is one argument too many (at most 64)");
    arguments[CLI_LIST_MAX] = NULL;
    assert_int_equal(parse(true, arguments).cli.npositional, CLI_LIST_MAX);
}
