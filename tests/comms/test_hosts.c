/* Identifies machines by their kernel's boot id, from files that name them in different ways. */
#include "harness/comms/findings.h"

#include "harness/comms/plugin/names.h"
#include "tests/lib/unit.h"

enum { LOGS = 4 };

/* Logs of machines, given as "NAME=B": B is the digit that fills the boot_id, or 0 = unknown. */
static void settle(const char *const machines[LOGS], const char *counted, const char *port,
                   char called[LOGS + 2][COMMS_HOST_MAX], char findings[200])
{
    struct comms_log log[LOGS] = {{0}};
    struct comms_logs logs = {.n = LOGS, .log = log};
    struct comms_counted one = {.host = ""};
    struct comms_counters counters = {.n = 1, .counted = &one};
    struct comms_port joined = {.host = ""};
    struct comms_ports ports = {.n = 1, .port = &joined};
    AUTO(findings) found = {0};
    for (size_t i = 0; i < LOGS; i++) {
        const char *end = strchr(machines[i], '=');
        memcpy(log[i].header.host, machines[i], (size_t)(end - machines[i]));
        memset(log[i].header.boot, end[1] - '0', COMMS_BOOT_MAX);
    }
    memcpy(one.host, counted, strcspn(counted, "="));
    memset(one.boot, counted[strcspn(counted, "=") + 1] - '0', COMMS_BOOT_MAX);
    put_text(joined.host, "%s", port);
    const struct comms_hosts hosts = {&logs, &counters, &ports};
    assert_int_equal(comms_hosts_settle(&hosts, &found, NULL), 0);
    for (size_t i = 0; i < LOGS; i++)
        (void)strcpy(called[i], log[i].header.host);
    (void)strcpy(called[LOGS], one.host);
    (void)strcpy(called[LOGS + 1], joined.host);
    findings[0] = '\0';
    for (size_t i = 0; i < found.n; i++)
        (void)snprintf(findings + strlen(findings), 200 - strlen(findings), "%.40s %.40s;",
                       found.all[i].id, found.all[i].subject);
}

static void check(const char *const machines[LOGS], const char *counted, const char *port,
                  const char *const expected[LOGS + 2], const char *findings)
{
    char called[LOGS + 2][COMMS_HOST_MAX], found[200];
    settle(machines, counted, port, called, found);
    for (size_t i = 0; i < LOGS + 2; i++)
        assert_string_equal(called[i], expected[i]);
    assert_string_equal(found, findings);
}

TEST(machines_of_one_name_are_two)
{
    check((const char *[]){"localhost=1", "localhost=2", "localhost=3", "localhost=2"},
          "localhost=2", "localhost",
          (const char *[]){"localhost", "localhost#2", "localhost#3", "localhost#2", "localhost#2",
                           "localhost"},
          "comms_same_name host localhost;comms_same_name host localhost;");
}

TEST(pods_of_one_machine_are_one)
{
    check((const char *[]){"pod-a=1", "pod-b=1", "pod-c=2", "pod-b=1"}, "pod-b=1", "pod-b",
          (const char *[]){"pod-a", "pod-a", "pod-c", "pod-a", "pod-a", "pod-a"},
          "comms_one_machine host pod-b;");
}

TEST(without_boot_ids_names_count)
{
    check((const char *[]){"a=0", "b=0", "a=0", "a=1"}, "a=1", "c",
          (const char *[]){"a", "b", "a", "a", "a", "c"}, "");
}

TEST(boot_ids_are_parsed)
{
    uint8_t boot[COMMS_BOOT_MAX];
    assert_true(comms_boot_parse("01234567-89ab-cdef-0123-456789abcdef\n", boot));
    assert_int_equal(boot[0], 0x01);
    assert_int_equal(boot[COMMS_BOOT_MAX - 1], 0xef);
    assert_true(comms_boot_parse("0123456789abcdef0123456789abcdef", boot));
    assert_false(comms_boot_parse("0123456789abcdef0123456789abcde", boot));
    assert_false(comms_boot_parse("0123456789abcdef0123456789abcdef0", boot));
    assert_false(comms_boot_parse("x123456789abcdef0123456789abcdef", boot));
    assert_int_equal(boot[0], 0);
    assert_false(comms_boot_parse("", boot));
}
