/* harness/validate/files.h: files of bounds, written, read, and badly edited. */
#include "harness/validate/files.h"

#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_fleet.h"
#include "tests/lib/unit.h"

#define assert_near(value, expected, within) assert_true(fabs((value) - (expected)) <= (within))

static char path[4096];

static const char *path_of(const char *name)
{
    put_text(path, "%s/%s", fixture_dir, name);
    return path;
}

TEST_IN_DIR(it_comes_back_as_it_was)
{
    AUTO(bounds) written = {0}, read;
    char key[FLEET_KEY_MAX];
    const struct bound bound = {.key = fixture_fleet_key(3, key),
                                .unit = "GB/s",
                                .higher = true,
                                .required = true,
                                .reference = 123.456,
                                .lower = 100,
                                .upper = NAN,
                                .spread = 0.02,
                                .machines = 30};
    written.kind = strdup("2 x \"CPU\", 8 x GPU");
    written.machines = 30;
    put_text(written.how, "median");
    assert_int_equal(bounds_add(&written, &bound, NULL), 0);
    assert_int_equal(bounds_leave_out(&written, "m7", "lacks gpu=1", NULL), 0);
    assert_int_equal(bounds_file_write(path_of("b.json"), &written, 1764000000, NULL), 0);
    assert_int_equal(bounds_file_write(path_of("b.json"), &written, 1764000000, NULL), -EEXIST);
    assert_int_equal(bounds_file_read(path_of("b.json"), &read, NULL), 0);
    assert_string_equal(read.kind, written.kind);
    assert_string_equal(read.how, "median");
    assert_int_equal(read.machines, 30);
    assert_int_equal(read.n, 1);
    assert_string_equal(read.all[0].key, key);
    assert_string_equal(read.all[0].unit, "GB/s");
    assert_true(read.all[0].higher && read.all[0].required);
    assert_near(read.all[0].reference, 123.456, 1e-9);
    assert_near(read.all[0].lower, 100, 1e-9);
    assert_true(isnan(read.all[0].upper));
    assert_near(read.all[0].spread, 0.02, 1e-9);
    assert_int_equal(read.nleft_out, 1);
    assert_string_equal(read.left_out[0].reason, "lacks gpu=1");
}

#define COLUMNS                                                                                    \
    "\"scenario\": \"gpu\", \"placement\": \"none\", \"workers\": \"1\", \"role\": "               \
    "\"foreground\", \"bench\": \"gpu_stream\", \"params\": \"slots=1;gpu=0\", \"device\": "       \
    "\"cuda\", \"better\": \"higher\""
#define HEADER "{\"schema\": \"contend-bounds\",\n\"schema_version\": 1,\n\"bounds\": [\n"
#define GOOD "{\"metric\": \"a\", \"reference\": 5, \"lower\": 4, \"unit\": \"s\", " COLUMNS "}"
#define FOOTER "\n]}\n"

/* A file with that text is refused, and the message ends with `expected`. */
static void refuse(const char *text, const char *expected)
{
    AUTO(bounds) bounds;
    struct err err = {0};
    char message[4300];
    fixture_put("/bad.json", text);
    assert_int_equal(bounds_file_read(path_of("bad.json"), &bounds, &err), -EINVAL);
    put_text(message, "%s%s", path, expected);
    assert_string_equal(err.msg, message);
}

TEST_IN_DIR(bad_edits_are_told_by_line)
{
    refuse(HEADER GOOD ",\n{\"metric\": \"b\", \"reference\": 5, \"lower\": 9, \"upper\": 4, "
                       "\"unit\": \"s\", " COLUMNS "}" FOOTER,
           " line 5: lower 9 is above upper 4: swapped?");
    refuse(HEADER "{\"metric\": \"b\", \"reference\": 5, \"lower\": 6, \"unit\": \"s\", " COLUMNS
                  "}" FOOTER,
           " line 4: reference 5 is not between lower and upper");
    refuse(HEADER "{\"metric\": \"b\", \"reference\": 5, " COLUMNS "}" FOOTER,
           " line 4: Object item not found: unit");
    refuse(HEADER "{\"metric\": \"b\", \"reference\": 5, \"unit\": \"\", " COLUMNS "}" FOOTER,
           " line 4: unit is missing");
    refuse(HEADER
           "{\"metric\": \"b\", \"reference\": 5, \"unit\": \"s\", \"required\": \"true\", " COLUMNS
           "}" FOOTER,
           " line 4: Expected true or false, got string");
    refuse(HEADER "{\"metric\": \"b\", \"reference\": 0, \"unit\": \"s\", " COLUMNS "}" FOOTER,
           " line 4: reference is not above 0");
    refuse(HEADER
           "{\"metric\": \"b\", \"reference\": 5, \"lower\": \"4\", \"unit\": \"s\", " COLUMNS
           "}" FOOTER,
           " line 4: lower is neither a number nor null");
    refuse(HEADER GOOD ",\n\n" GOOD FOOTER, " line 6: the same figure is in line 4");
    refuse(HEADER "{\"metric\": \"b\", \"reference\": \"5\", \"unit\": \"s\", " COLUMNS "}" FOOTER,
           " line 4: Expected real or integer, got string");
    refuse(HEADER "{\"metric\": \"b\", \"lower\": 5, \"unit\": \"s\", " COLUMNS "}" FOOTER,
           " line 4: Object item not found: reference");
    refuse(HEADER GOOD
           ",\n{\"lowr\": 5, \"metric\": \"b\", \"reference\": 5, \"unit\": \"s\", " COLUMNS
           "}" FOOTER,
           " line 5: 1 object item(s) left unpacked: lowr");
    refuse(HEADER "7" FOOTER, " line 4: Expected object, got integer");
    refuse(HEADER "{\"metric\": \"b\", \"reference\": NaN}" FOOTER,
           " line 4: invalid token near 'NaN'");
    refuse("{\"schema\": \"contend-bounds\", \"schema_version\": 9}",
           ": schema_version is 9, and this version reads 1");
    refuse("{\"version\": 1}", ": schema is not \"contend-bounds\": no bounds");
    refuse("{\"schema\": \"contend-bounds\", \"schema_version\": 1}", ": no bounds in it");
}

TEST_IN_DIR(what_is_not_there_is_said)
{
    AUTO(bounds) bounds;
    assert_int_equal(bounds_file_read(path_of("none"), &bounds, NULL), -ENOENT);
}

/* No text of the file can control a terminal, or contains the separator of a key's columns. */
TEST_IN_DIR(control_characters_become_spaces)
{
    AUTO(bounds) bounds;
    fixture_put("/control.json", HEADER
                "{\"metric\": \"b\\u001f\\u001b[c\", \"reference\": 5, \"unit\": \"s\", " COLUMNS
                "}" FOOTER);
    assert_int_equal(bounds_file_read(path_of("control.json"), &bounds, NULL), 0);
    assert_string_equal(fleet_key_column(bounds.all[0].key, FLEET_METRIC), "b  [c");
}

/* Kubernetes volumes show files as links. */
TEST_IN_DIR(a_link_is_followed)
{
    AUTO(bounds) bounds;
    fixture_put("/there.json", HEADER GOOD FOOTER);
    assert_int_equal(symlinkat("there.json", fixture_dir_fd, "link.json"), 0);
    assert_int_equal(bounds_file_read(path_of("link.json"), &bounds, NULL), 0);
    assert_int_equal(bounds.n, 1);
}
