/* The page of a result: before and after, with the comparison of both, and the name of the
 * result. */
#include "harness/show/html.h"

#include <fcntl.h>

#include "harness/show/comparison.h"
#include "tests/lib/fixture_comparison.h"
#include "tests/lib/fixture_findings.h"
#include "tests/lib/unit.h"

static const struct bench *const no_benches[] = {NULL};
static struct recorded recorded;
static struct about about;

static int read_result(void **state)
{
    int fd = open("results/h200-x2-vm/pipeline", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -errno : recorded_read(fd, no_benches, &recorded, NULL);
    if (fd >= 0)
        (void)close(fd);
    return rc ? rc : about_read(&recorded, &about, NULL);
}

static int free_result(void **state)
{
    recorded_free(&recorded);
    return 0;
}

/* The caller frees the text. */
static char *print(const struct html_page *page)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(html_print(page, out, NULL), 0);
    assert_int_equal(fclose(out), 0);
    assert_true(html_is_contend_page(text, size));
    return text;
}

static struct html_side side(void)
{
    return (struct html_side){
        .path = fixture_hostile, .recorded = &recorded, .about = &about, .nfigures = 0};
}

TEST(html_of_a_document_alone)
{
    struct comparison all[] = {fixture_slower};
    const struct comparisons comparisons = {.n = 1, .all = all};
    struct finding verdict = {.severity = FINDING_BAD, .command = "<again>"};
    put_text(verdict.sentence, "25%% slower <b>");
    const struct findings findings = {.n = 1, .all = &verdict};
    AUTO(doc) doc = {0};
    FREED char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    compared_add_to_doc(&comparisons, &findings, &doc);
    const struct html_document document = {fixture_hostile, &doc};
    assert_int_equal(html_print_document(&document, out, NULL), 0);
    assert_int_equal(fclose(out), 0);
    assert_true(html_is_contend_page(text, size));
    assert_has(text,
               "<div class=\"verdict bad\">\n<p>25% slower &lt;b&gt;</p>\n<pre>&lt;again&gt;");
    assert_has(text, "data-name=\"change\">-25.0%</td>");
    assert_lacks(text, "<script");
    assert_null(strchr(text, '\x01'));
}

TEST(html_of_two_runs_alone_is_no_verdict)
{
    const struct html_side sides[] = {side(), side()};
    const struct html_page page = {.nsides = 2, .sides = sides};
    FREED char *text = print(&page);
    assert_has(text, "Two runs side by side are no verdict");
}

TEST(html_embeds_figures_as_images)
{
    static const char *const svg[] = {"", "f", "fo", "foo"}; /* RFC 4648, section 10 */
    static const char *const encoded[] = {",\"", ",Zg==\"", ",Zm8=\"", ",Zm9v\""};
    for (size_t i = 0; i < 4; i++) {
        const struct html_figure figure = {"step_time", fixture_hostile, svg[i], i};
        struct html_side one = side();
        one.nfigures = 1;
        one.figures = &figure;
        const struct html_page page = {.nsides = 1, .sides = &one};
        FREED char *text = print(&page);
        char expected[64];
        put_text(expected, "src=\"data:image/svg+xml;base64%s>", encoded[i]);
        assert_has(text, expected);
        assert_has(text, "alt=\"]]&gt;&lt;script&gt;");
    }
}

TEST(html_knows_its_own)
{
    static const char other[] = "<!DOCTYPE html>\n<html lang=\"en\">\n";
    assert_false(html_is_contend_page(other, sizeof(other) - 1));
    assert_false(html_is_contend_page("", 0));
}

TEST(html_says_that_it_could_not_be_written)
{
    const struct html_side one = side();
    const struct html_page page = {.nsides = 1, .sides = &one};
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    assert_int_equal(html_print(&page, full, NULL), -EIO);
    (void)fclose(full);
}

AROUND_TESTS(read_result, free_result)
