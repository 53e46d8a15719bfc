/* Text of small files of /proc: fields, lists, and the times of CPUs. */
#include "harness/lib/sys/proc.h"

#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

TEST(proc_find_takes_whole_names_at_the_start_of_lines)
{
    static const char text[] = "nonvoluntary_ctxt_switches:\t7\nvoluntary_ctxt_switches:\t5\n"
                               "Cpus_allowed_list:\t0-2,9\nMems_allowed_list:\tnone\n"
                               "se.nr_migrations            :       25\nnr_periods 4";
    struct bitset set;
    assert_true(proc_find_number(text, "voluntary_ctxt_switches") == 5);
    assert_true(proc_find_number(text, "nonvoluntary_ctxt_switches") == 7);
    assert_true(proc_find_number(text, "se.nr_migrations") == 25);
    assert_true(proc_find_number(text, "nr_periods") == 4);
    assert_true(isnan(proc_find_number(text, "nr_period")));
    assert_true(isnan(proc_find_number("", "nr_periods")));
    assert_true(proc_find_list(text, "Cpus_allowed_list", &set) && bitset_count(&set) == 4);
    assert_false(proc_find_list(text, "Mems_allowed_list", &set));
    assert_true(bitset_empty(&set));
    assert_false(proc_find_list(text, "Cpus_allowed", &set));
}

TEST(proc_cpu_lines)
{
    const double hertz = (double)sysconf(_SC_CLK_TCK);
    double times_s[PROC_TIMES];
    int os_cpu;
    assert_true(proc_parse_cpu("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 ", &os_cpu, times_s));
    assert_int_equal(os_cpu, -1);
    const double expected[PROC_TIMES] = {1, 2, 3, 9, 13, 8};
    for (int i = 0; i < PROC_TIMES; i++)
        assert_true(fabs(times_s[i] * hertz - expected[i]) < 1e-9);
    assert_true(proc_parse_cpu("cpu12 0 0 0 0 0 0 0 3", &os_cpu, times_s));
    assert_int_equal(os_cpu, 12);
    assert_false(proc_parse_cpu("cpu3 1 2 3 4", &os_cpu, times_s));
    assert_false(proc_parse_cpu("cpux 1 2 3 4 5 6 7 8", &os_cpu, times_s));
    assert_false(proc_parse_cpu("intr 1 2 3 4 5 6 7 8 9", &os_cpu, times_s));
}

TEST_IN_DIR(proc_pressure_is_a_total)
{
    assert_true(isnan(proc_read_pressure_s(fixture_dir, "/pressure")));
    fixture_put("/pressure", "some avg10=0.10 avg60=0.00 avg300=0.00 total=2500000\n"
                             "full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
    assert_true(fabs(proc_read_pressure_s(fixture_dir, "/pressure") - 2.5) < 1e-9);
}
