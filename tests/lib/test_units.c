/* Numbers with units, parsed and printed; refused ones, and limits of rounding. */
#include "harness/lib/text.h"
#include "tests/lib/unit.h"

TEST(units_parse_size)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } want[] = {
        {"0", 0},
        {"512", 512},
        {"4K", 4096},
        {"4k", 4096},
        {"1M", 1 << 20},
        {"1m", 1 << 20},
        {"2GiB", UINT64_C(2) << 30},
        {"1T", UINT64_C(1) << 40},
        {"16777215T", UINT64_C(16777215) << 40},
        {"18446744073709551615", UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        uint64_t bytes = 1;
        assert_int_equal(units_parse_size(want[i].text, &bytes, NULL), 0);
        assert_true(bytes == want[i].bytes);
    }
}

TEST(units_parse_size_refuses)
{
    static const char *const bad[] = {
        "",
        "K",
        "-1",
        "+1",
        " 1",
        "1KB",
        "1Ki",
        "1iB",
        "1.5K",
        "0x10",
        "1e3",
        "16777216T",
        "18446744073709551616",
        "18014398509481984K",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint64_t bytes = 77;
        struct err err;
        char quoted[64];
        put_text(quoted, "'%s'", bad[i]);
        assert_int_equal(units_parse_size(bad[i], &bytes, &err), -EINVAL);
        assert_has(err.msg, quoted);
        assert_true(bytes == 77);
    }
}

TEST(units_parse_duration)
{
    static const struct {
        const char *text;
        double seconds;
    } want[] = {{"0", 0},
                {"2", 2},
                {"1.5s", 1.5},
                {"200ms", 0.2},
                {"50us", 50e-6},
                {"10ns", 10e-9},
                {"2m", 120},
                {"0.5m", 30},
                {".5", 0.5},
                {"1e-3", 1e-3},
                {"1e3ms", 1},
                {"3600s", 3600},
                {"1h", 3600},
                {"90m", 5400},
                {"5min", 300},
                {"1h30m", 5400},
                {"5m30s", 330},
                {"50\u00b5s", 50e-6},
                {"1.5\u03bcs", 1.5e-6}};
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        double seconds = -1;
        assert_int_equal(units_parse_duration(want[i].text, &seconds, NULL), 0);
        assert_true(fabs(seconds - want[i].seconds) <= 1e-15 * want[i].seconds);
    }
}

TEST(units_parse_duration_refuses)
{
    static const char *const bad[] = {"",       "s",        "-1",    "+1",    " 1",   "1 s",
                                      "1d",     "nan",      "inf",   "1e999", "0x10", "0X1p3",
                                      "1e308m", "1sec",     "ms",    ".",     "1s1",  "1ms ",
                                      "1,5",    "1h1e999h", "1h-1m", "1.5.5", "1hm"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        double seconds = 77;
        struct err err;
        char quoted[64];
        put_text(quoted, "'%s'", bad[i]);
        assert_int_equal(units_parse_duration(bad[i], &seconds, &err), -EINVAL);
        assert_has(err.msg, quoted);
        assert_true(seconds == 77);
    }
}

struct formatted {
    double value;
    const char *text;
};

static void assert_all(const char *(*format)(double), const struct formatted *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_string_equal(format(want[i].value), want[i].text);
}

TEST(units_format_seconds)
{
    static const struct formatted want[] = {{0.00213, "2.13 ms"},
                                            {0, "0 s"},
                                            {NAN, "-"},
                                            {1, "1.00 s"},
                                            {4.2, "4.20 s"},
                                            {12.34, "12.3 s"},
                                            {123.4, "123 s"},
                                            {1234.4, "1234 s"},
                                            {0.9994, "999 ms"},
                                            {0.9996, "1.00 s"},
                                            {9.996e-3, "10.0 ms"},
                                            {99.96e-3, "100 ms"},
                                            {1e-6, "1.00 us"},
                                            {999.6e-9, "1.00 us"},
                                            {5e-9, "5.00 ns"},
                                            {0.5e-9, "0.500 ns"},
                                            {-0.00213, "-2.13 ms"}};
    assert_all(units_seconds, want, sizeof(want) / sizeof(want[0]));
}

TEST(units_format_si)
{
    static const struct formatted want[] = {
        {1234567, "1.23 M"}, {0, "0"},           {NAN, "-"},          {1, "1.00"},
        {0.37, "0.370"},     {0.0123, "0.0123"}, {999.4, "999"},      {999.6, "1.00 k"},
        {1000, "1.00 k"},    {33.54, "33.5"},    {999.6e6, "1.00 G"}, {2.5e12, "2.50 T"},
        {-1500, "-1.50 k"},  {7e15, "7000 T"},   {0.0004, "0.00040"}};
    assert_all(units_si, want, sizeof(want) / sizeof(want[0]));
}

TEST(units_format_bytes)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } want[] = {{0, "0 B"},
                {1, "1 B"},
                {1023, "1023 B"},
                {1024, "1 KiB"},
                {8388608, "8 MiB"},
                {8493466, "8.1 MiB"},
                {1048575, "1.0 MiB"},
                {1047552, "1023 KiB"},
                {UINT64_C(1) << 40, "1 TiB"},
                {UINT64_MAX, "16384 PiB"}};
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        assert_string_equal(units_bytes(want[i].bytes), want[i].text);
}

TEST(units_plain_has_no_exponent)
{
    static const struct {
        double value;
        int digits;
        const char *text;
    } cases[] = {{7381.4, 3, "7381"},     {12345678, 4, "12345678"},      {65536, 4, "65536"},
                 {0.00002, 3, "0.00002"}, {0.0000123456, 3, "0.0000123"}, {203, 4, "203"},
                 {1.5, 3, "1.5"},         {-12345, 3, "-12345"},          {0, 3, "0"},
                 {9999.6, 4, "10000"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(units_plain(cases[i].value, cases[i].digits), cases[i].text);
    assert_string_equal(units_si(7381.4), "7.38 k");
}
