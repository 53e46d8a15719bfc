#include <errno.h>

#include "harness/machine/topo/topo_xml.h"
#include "tests/lib/unit.h"

#define HEAD                                                                                       \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
#define TWO HEAD "<topology version=\"2.0\">"

/* A copy of exactly this size, so that a sanitizer sees what is read behind it. */
static int normalise(const char *text, size_t bytes, struct topo_xml *xml, struct err *err)
{
    char *copy = malloc(bytes + 1);
    assert_non_null(copy);
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    int rc = topo_xml_normalise("m.xml", copy, bytes, xml, err);
    free(copy);
    return rc;
}

TEST(topo_xml_puts_each_part_where_hwloc_wants_it)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"<?xml version='1.0'?><!DOCTYPE topology SYSTEM 'x' [<!ENTITY a '>'>\n]><topology "
         "version='2.0' > <a/>\r\n</topology >\n",
         TWO "<a/></topology>"},
        {"\xef\xbb\xbf \n<!-- <x> --><topology version=\"2.0\" other='1'></topology><!-- -->",
         TWO "</topology>"},
        {"<topology><a></a></topology>", HEAD "<topology><a/></topology>"},
        {"<root/>", HEAD "<root></root>"},
        {"<topology version='3.1'>\n<a b = 'c'\r\n\td=\"e\"><!-- > --><?p "
         ">?><f/>text</a></topology>",
         HEAD "<topology version=\"3.1\"><a b=\"c\" d=\"e\"><f/></a></topology>"},
        {"<topology version='2.0'><a b='\"&apos;>&#x41;&#10;\r\n&amp;&#174;' x:y='1' Z='' c=''/>"
         "</topology>",
         TWO "<a b=\"&quot;'&gt;A&#10; &amp;\xc2\xae\" c=\"\"/></topology>"},
        {"<topology version='2.0'><indexes length='4'>0 1\r\n</indexes><o><userdata n='1'>&x;<b/>"
         "</userdata></o></topology>",
         TWO "<indexes length=\"4\">0 1\n</indexes><o/></topology>"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct topo_xml xml, again;
        struct err err = {0};
        if (normalise(cases[i].text, strlen(cases[i].text), &xml, &err))
            fail_msg("%s: %s", cases[i].text, err.msg);
        assert_string_equal(xml.text, cases[i].expected);
        assert_int_equal(xml.bytes, strlen(xml.text));
        assert_int_equal(normalise(xml.text, xml.bytes, &again, &err), 0);
        assert_string_equal(again.text, xml.text);
        topo_xml_free(&again);
        topo_xml_free(&xml);
    }
}

TEST(topo_xml_tells_the_version)
{
    static const struct {
        const char *text;
        unsigned major, minor;
    } cases[] = {{"<root/>", 0, 9},
                 {"<topology/>", 1, 0},
                 {"<topology version='x'/>", 1, 0},
                 {"<topology version='2.0'/>", 2, 0},
                 {"<topology version='3.12'/>", 3, 12}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct topo_xml xml;
        assert_int_equal(normalise(cases[i].text, strlen(cases[i].text), &xml, NULL), 0);
        assert_int_equal(xml.major, cases[i].major);
        assert_int_equal(xml.minor, cases[i].minor);
        topo_xml_free(&xml);
    }
}

TEST(topo_xml_says_what_else_a_file_is)
{
#define BYTES(text) text, sizeof(text) - 1
    static const struct {
        const char *text;
        size_t bytes;
        const char *message;
    } cases[] = {
        {BYTES(""), "'m.xml' is empty"},
        {BYTES("\xef\xbb\xbf \r\n"), "'m.xml' is empty"},
        {BYTES("PK\003\004\0\0"), "binary file"},
        {BYTES("\xff\xfe<\0?\0"), "iconv -f UTF-16 -t UTF-8"},
        {BYTES("Machine \033[1m(31GB)\n  Core"), "begins with 'Machine ?[1m(31GB)'; 'lstopo "},
        {BYTES("<?xml version='1.0'?>\n<svg a='1'>"), "its root element is <svg>"},
        {BYTES("<!DOCTYPE html>\n<html><body>"), "its root element is <html>"},
        {BYTES("<topologydiff/>"), "its root element is <topologydiff>"},
        {BYTES("<?xml version='1.0'?>"), "incomplete: it ends before its first element"},
        {BYTES("<topology version='2.0'><object a='1"), "incomplete: it ends within <object>"},
        {BYTES("<topology><o></topology>"), "line 1: </topology> where </o> is due"},
        {BYTES("<topology>\n<o a></topology>"), "line 2: an attribute without a value"},
        {BYTES("<topology><o a=1/></topology>"), "a value without quotes"},
        {BYTES("<topology><o a='<'/></topology>"), "'<' in a value"},
        {BYTES("<topology><o a='&nbsp;'/></topology>"), "unknown reference '&nbsp;'"},
        {BYTES("<topology><o a='&#0;'/></topology>"), "unknown reference '&#0;'"},
        {BYTES("<topology><o a='&#xd800;'/></topology>"), "unknown reference '&#xd800;'"},
        {BYTES("<topology>< /></topology>"), "'<' without a name"},
        {BYTES("<topology></topology x>"), "no '>' behind an end"},
        {BYTES("<topology/ >"), "no '>' behind '/'"},
        {BYTES("</topology>"), "an end without a beginning"},
        {BYTES("<topology/>x"), "text outside of the root element"},
        {BYTES("<topology/><topology/>"), "a second root element"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct topo_xml xml;
        struct err err = {0};
        assert_int_equal(normalise(cases[i].text, cases[i].bytes, &xml, &err), -EINVAL);
        if (!strstr(err.msg, cases[i].message) || !strstr(err.msg, "m.xml"))
            fail_msg("%s: not '%s'", err.msg, cases[i].message);
        topo_xml_free(&xml);
    }
}

TEST(topo_xml_refuses_every_part_of_a_file)
{
    static const char whole[] =
        "\xef\xbb\xbf<?xml version='1.0'?><!DOCTYPE topology SYSTEM 'x' [<!-- ' --> <!ENTITY a "
        "'>'>]>"
        "<topology version='2.0'><a b='&#65;&quot;'/><!-- - --><![CDATA[]]><u64values length='1'>1"
        "</u64values><?p?></topology>";
    struct topo_xml xml;
    struct err err;
    for (size_t n = 0; n + 1 < sizeof(whole); n++) {
        assert_int_equal(normalise(whole, n, &xml, &err), -EINVAL);
        topo_xml_free(&xml);
    }
    assert_int_equal(normalise(whole, sizeof(whole) - 1, &xml, &err), 0);
    topo_xml_free(&xml);
}

TEST(topo_xml_bounds_the_depth)
{
    char text[1024] = "<topology>";
    struct topo_xml xml;
    struct err err;
    for (unsigned i = 0; i < 300; i++)
        strcat(text, "<a>");
    assert_int_equal(normalise(text, strlen(text), &xml, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "more than 256 deep"));
    topo_xml_free(&xml);
}
