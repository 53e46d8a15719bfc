/* Files that are written beside logs: whose they replace. */
#include "harness/comms/show.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

static const struct gpu_link slot = {
    .pci = "0000:01:00.0", .way = GPU_WAY_PCIE, .links = 16, .gbps = 31.5};

static int write_links(unsigned n, struct err *err)
{
    return comms_ports_write(fixture_dir_fd, "here", &slot, n, err);
}

static void assert_links(const char *want)
{
    FREED char *text = fixture_read("links.csv", NULL);
    assert_non_null(text);
    assert_string_equal(text, want);
}

TEST_IN_DIR(links_replace_those_of_an_earlier_command)
{
    static const char want[] = "host,pci,way,to,links,gbps\nhere,0000:01:00.0,pcie,,16,31.5\n";
    fixture_put("/links.csv", "host,pci,way,to,links,gbps\nother,0000:01:00.0,pcie,,8,1\n");
    assert_int_equal(write_links(1, NULL), 0);
    assert_links(want);
    assert_int_equal(write_links(0, NULL), 0);
    assert_links(want);
}

TEST_IN_DIR(links_leave_the_users_file_alone)
{
    struct err err = {0};
    fixture_put("/links.csv", "from,to\nmine,mine\n");
    assert_int_equal(write_links(1, &err), -EEXIST);
    assert_string_equal(err.msg, "'links.csv' is not replaced: it is no file of contend");
    assert_links("from,to\nmine,mine\n");
}
