/* Graphs as NCCL writes them, truncated graphs, and made-up ones. */
#include "harness/comms/merge.h"

#include "harness/lib/text.h"
#include "tests/lib/unit.h"

#define RING "<channel><gpu dev=\"0\"/><gpu dev=\"0x1\"/></channel>"

/* A graph with `rings` rings and as many trees, each followed by `more`. */
static bool parse(unsigned rings, const char *more, struct comms_graph *graph)
{
    const char *text = "<graphs version=\"1\">";
    for (unsigned id = 0; id < 2; id++) {
        str_add(&text, "", "<graph id=\"%u\" nchannels=\"1\">", id);
        for (unsigned ring = 0; ring < rings; ring++)
            str_add(&text, "", RING);
        str_add(&text, "", "%s</graph>", more);
    }
    str_add(&text, "", "</graphs>");
    return comms_graph_parse(text, graph);
}

TEST(order_reads_rings)
{
    struct comms_graph graph;
    assert_true(parse(3, "", &graph));
    assert_int_equal(graph.nrings, 3);
    assert_int_equal(graph.ngpus, 2);
    assert_int_equal(graph.gpu[2][1], 1);
    assert_true(parse(COMMS_RINGS, "", &graph));
    assert_int_equal(graph.nrings, COMMS_RINGS);
}

TEST(order_refuses_what_is_none)
{
    char ends[COMMS_RINGS * 20] = "";
    struct comms_graph graph;
    for (unsigned i = 0; i < COMMS_RINGS + 9; i++)
        (void)strcat(ends, "</channel>");
    assert_false(parse(1, ends, &graph));
    assert_false(parse(1, "</channel>", &graph));
    assert_false(parse(COMMS_RINGS + 1, "", &graph));
    assert_false(parse(0, "", &graph));
    assert_false(parse(1, "<channel><gpu dev=\"0\"/></channel>", &graph));
    assert_false(parse(1, "<channel><gpu dev=\"-1\"/><gpu dev=\"1\"/></channel>", &graph));
    assert_false(comms_graph_parse("<graphs version=\"1\"><graph id=\"0\">" RING, &graph));
    assert_false(comms_graph_parse("", &graph));
}
