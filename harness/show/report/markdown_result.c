#include "harness/show/report/markdown_result.h"

#include <math.h>
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/lib/base/units.h"
#include "harness/rows/metric.h"
#include "harness/show/report/blocks.h"
#include "harness/show/report/escape.h"
#include "harness/show/report/markdown.h"
#include "harness/verdict/advice/advice.h"

enum { CELL = 40 };

/* "19x (17x to 27x)", "1x" of what others are relative to. */
static void print_gain(const struct block *block, size_t i, FILE *out)
{
    char ratio[16], low[16], high[16];
    const struct paired_ratio *gain = &block->gain[i];
    if (block->made.reference == (int)block->arm[i]) {
        (void)fputs("1x", out);
        return;
    }
    (void)fputs(advice_format_ratio(gain->median, ratio, sizeof(ratio)), out);
    if (!isnan(gain->low))
        (void)fprintf(out, " (%s to %s)", advice_format_ratio(gain->low, low, sizeof(low)),
                      advice_format_ratio(gain->high, high, sizeof(high)));
}

static void print_row(const struct block *block, size_t i, FILE *out)
{
    char rate[CELL], step[CELL], queue[CELL];
    (void)fprintf(out, "| `%s`%s | %s | ", block_arm_name(block, i),
                  block_is_recommended(block, i) ? " (recommended)" : "",
                  units_format_si(block_median(block, i, METRIC_RATE), rate, sizeof(rate)));
    print_gain(block, i, out);
    (void)fprintf(out, " | %s | %s |\n",
                  units_format_seconds(block_median(block, i, "step_time"), step, sizeof(step)),
                  text_percent(block_share(block, i, PART_QUEUE), queue, sizeof(queue)));
}

static void print_block(const struct block *block, FILE *out)
{
    char name[160];
    const struct row *rate = block_row(block, 0, METRIC_RATE);
    (void)fputs("\n**", out);
    escape_markdown(block_name(block, name, sizeof(name)), out);
    (void)fputs("**\n\n| placement | ", out);
    escape_markdown(rate ? rate->unit : "per second", out);
    (void)fprintf(out,
                  " | speed-up | %s | waiting for a CPU |\n"
                  "|---|---:|---:|---:|---:|\n",
                  rate ? bench_step_name(rate->arm->bench) : "step");
    for (size_t i = 0; i < block->n; i++)
        print_row(block, i, out);
}

static void print_source(const struct recorded *recorded, const char *path, FILE *out)
{
    (void)fputs("\nRun ", out);
    escape_markdown_code(recorded->result.run_id, out);
    (void)fprintf(out, ", %s, %u of %u rounds", device_infos[recorded->result.device].title,
                  recorded->result.rounds_done, recorded->result.rounds_planned);
    if (recorded->version) {
        (void)fputs(", contend ", out);
        escape_markdown(recorded->version, out);
    }
    if (recorded->commit) {
        (void)fputs(", commit ", out);
        escape_markdown_code(recorded->commit, out);
    }
    (void)fputs(", ", out);
    escape_markdown_code(path, out);
    (void)fputc('\n', out);
}

/* Of the whole as sentences, then what applies them; of an ab its table begins with the verdict. */
static void print_whole(const struct findings *findings, bool of_ab, FILE *out)
{
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        if (finding->subject[0] || (of_ab && !strcmp(finding->id, "comparison")))
            continue;
        (void)fputc('\n', out);
        escape_markdown(finding->sentence, out);
        (void)fputc('\n', out);
        if (finding->command[0])
            markdown_print_command(finding->command, out);
    }
}

static void print_subjects(const struct findings *findings, FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < findings->n; i++) {
        if (!findings->all[i].subject[0])
            continue;
        (void)fputs(any ? "" : "\n<details><summary>Findings</summary>\n\n", out);
        any = true;
        markdown_print_finding(&findings->all[i], out);
    }
    (void)fputs(any ? "\n</details>\n" : "", out);
}

/* The blocks of the run, best first; arms of an ab are variants, and what counts is their pairs. */
static void print_tables(const struct recorded *recorded, FILE *out)
{
    struct block block;
    if (recorded->comparisons.n) {
        (void)fputc('\n', out);
        markdown_print_comparisons(&recorded->comparisons, NULL, out);
        return;
    }
    for (size_t at = 0; block_next(&recorded->analysis, &at, &block);) {
        print_block(&block, out);
        block_free(&block);
    }
}

void markdown_print_result(const struct recorded *recorded, const char *path, FILE *out)
{
    (void)fputs("### contend: ", out);
    escape_markdown(recorded->result.scenario, out);
    (void)fputc('\n', out);
    print_whole(&recorded->findings, recorded->comparisons.n > 0, out);
    print_tables(recorded, out);
    print_subjects(&recorded->findings, out);
    print_source(recorded, path, out);
}
