/* Findings as a person reads them: marks, order, line ends, commands, color. */
#include "harness/show/doc.h"
#include "tests/lib/unit.h"

enum { COLUMNS = 79 };

static const struct finding whole = {.id = "advice",
                                     .sentence = "partition is 2.1x as fast as none.",
                                     .command = "contend place --placement partition"};
static const struct finding bad = {.id = "unit_odd",
                                   .severity = FINDING_BAD,
                                   .subject = "GPU 2",
                                   .sentence = "14.1 GB/s is 0.25 of its peers' 56.9 GB/s",
                                   .evidence = "z -50.7"};
static const struct finding doubt = {.id = "noisy",
                                     .severity = FINDING_DOUBT,
                                     .subject = "none, 4 workers",
                                     .sentence = "noisy: 12% steal",
                                     .command = "contend info"};
static const struct finding note = {
    .id = "units_alike", .subject = "symmetry", .sentence = "4 GPUs alike"};

/* The printed findings; free the text. */
static char *print(const struct finding *const *all, size_t n, bool color)
{
    AUTO(findings) findings = {0};
    char *text = NULL;
    for (size_t i = 0; i < n; i++)
        findings_put(&findings, all[i]);
    FILE *out = unit_print_into(&text);
    doc_print_findings(&findings, out, color);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void assert_prints(const struct finding *const *all, size_t n, bool color,
                          const char *expected)
{
    FREED char *text = print(all, n, color);
    assert_string_equal(text, expected);
}

/* The opening tag of the box on a page whose findings about the whole have these severities. */
static void assert_box(enum finding_severity first, enum finding_severity second,
                       const char *expected)
{
    const struct finding all[] = {{.id = "verdict", .severity = first, .sentence = "It is."},
                                  {.id = "other",
                                   .severity = second,
                                   .sentence = "It may not be.",
                                   .command = "contend info"}};
    AUTO(findings) findings = {0};
    AUTO(doc) doc = {0};
    FREED char *text = NULL;
    for (size_t i = 0; i < 2; i++)
        findings_put(&findings, &all[i]);
    FILE *out = unit_print_into(&text);
    doc_findings(&doc, &findings, DOC_LEADING);
    doc_print_html(&doc, out);
    assert_int_equal(fclose(out), 0);
    assert_memory_equal(text, expected, strlen(expected));
}

/* A warning below a verdict does not change its colour, an error does. */
TEST(findings_color_a_page_by_the_verdict)
{
    assert_box(FINDING_NOTE, FINDING_DOUBT, "<div class=\"verdict\">");
    assert_box(FINDING_DOUBT, FINDING_NOTE, "<div class=\"verdict doubt\">");
    assert_box(FINDING_NOTE, FINDING_BAD, "<div class=\"verdict bad\">");
}

TEST(findings_print_nothing_of_none)
{
    assert_prints(NULL, 0, true, "");
}

/* The finding about the whole comes first, the others in their order. Evidence is only for
 * files. */
TEST(findings_print_marks_order_and_commands)
{
    const struct finding *const all[] = {&note, &bad, &whole, &doubt};
    assert_prints(all, 4, false,
                  "\npartition is 2.1x as fast as none.\n"
                  "to apply it: contend place --placement partition\n"
                  "\n- symmetry: 4 GPUs alike\n"
                  "! GPU 2: 14.1 GB/s is 0.25 of its peers' 56.9 GB/s\n"
                  "~ none, 4 workers: noisy: 12% steal\n"
                  "  to see more: contend info\n");
}

static void assert_label(const char *label, const char *command)
{
    struct finding finding = {0};
    (void)snprintf(finding.command, sizeof(finding.command), "%s", command);
    assert_string_equal(finding_command_label(&finding), label);
}

/* A line is to be applied unless each of its commands only shows. */
TEST(findings_tell_what_a_command_is_for)
{
    assert_label("to see more", "py-spy dump --pid 7; gdb -p 7 -batch -ex 'thread apply all bt'");
    assert_label("to see more", "sudo lspci -vv | grep -e '^[0-9a-f]' -e LnkSta:");
    assert_label("to see more", "NCCL_DEBUG=INFO contend bench collective -b 8M -e 8M");
    assert_label("to see more", "ssh n4 sudo contend validate");
    assert_label("to apply it", "OMP_NUM_THREADS=4 python3 train.py");
    assert_label("to apply it", "sudo nvidia-smi -e 1 && sudo nvidia-smi --gpu-reset");
    assert_label("to apply it", "grep . /sys/x; echo 1 > /sys/x");
    assert_label("to apply it", "A=");
}

TEST(findings_print_each_of_the_whole_apart)
{
    const struct finding *const all[] = {&whole, &whole};
    assert_prints(all, 2, false,
                  "\npartition is 2.1x as fast as none.\n"
                  "to apply it: contend place --placement partition\n"
                  "\npartition is 2.1x as fast as none.\n"
                  "to apply it: contend place --placement partition\n");
}

/* The finding about the whole is bold, bad ones are red, and commands are neither. */
TEST(findings_print_in_color)
{
    const struct finding *const all[] = {&whole, &bad, &doubt, &note};
    assert_prints(all, 4, true,
                  "\n\033[1mpartition is 2.1x as fast as none.\n\033[0m"
                  "to apply it: contend place --placement partition\n"
                  "\n\033[31m! GPU 2: 14.1 GB/s is 0.25 of its peers' 56.9 GB/s\n\033[0m"
                  "~ none, 4 workers: noisy: 12% steal\n"
                  "  to see more: contend info\n"
                  "- symmetry: 4 GPUs alike\n");
}

/* Fills the buffer with "word word ..." to its last byte. */
static void fill(char *text, size_t size)
{
    for (size_t i = 0; i + 1 < size; i++)
        text[i] = "word "[i % 5];
    text[size - 1] = '\0';
    text[size - 2] = '.';
}

/* Sentences wrap, indented below their subject, down to the last word; commands do not wrap. */
TEST(findings_wrap_sentences_but_no_command)
{
    struct finding full = {.id = "x", .severity = FINDING_DOUBT};
    fill(full.subject, sizeof(full.subject));
    fill(full.sentence, sizeof(full.sentence));
    fill(full.command, sizeof(full.command));
    const struct finding *const all[] = {&full};
    FREED char *text = print(all, 1, false);
    char *line = strtok(text, "\n");
    size_t words = 0, lines = 0;
    assert_non_null(line);
    assert_memory_equal(line, "~ word word ", 12);
    for (; line && !strstr(line, "to apply it: "); line = strtok(NULL, "\n")) {
        assert_in_range(strlen(line), 3, COLUMNS);
        assert_int_not_equal(line[strlen(line) - 1], ' ');
        assert_true(!lines++ || (line[0] == ' ' && line[1] == ' ' && line[2] != ' '));
        for (const char *at = line; (at = strstr(at, "wor")) != NULL; at++)
            words++;
    }
    assert_int_equal(words, (sizeof(full.subject) + 3) / 5 + (sizeof(full.sentence) + 3) / 5);
    assert_non_null(line);
    assert_memory_equal(line, "  to apply it: ", 15);
    assert_string_equal(line + 15, full.command);
    assert_null(strtok(NULL, "\n"));
}

TEST(findings_wrap_the_whole_from_the_margin)
{
    struct finding full = {.id = "x"};
    fill(full.sentence, sizeof(full.sentence));
    const struct finding *const all[] = {&full};
    FREED char *text = print(all, 1, false);
    assert_int_equal(text[0], '\n');
    for (const char *line = text + 1; *line; line += strcspn(line, "\n") + 1) {
        assert_in_range(strcspn(line, "\n"), 1, COLUMNS);
        assert_int_equal(line[0], 'w');
    }
}
