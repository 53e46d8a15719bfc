#include "harness/validate/cmd/options.h"

const char *const validate_levels[] = {"quick", "standard", "long", NULL};

static const struct opt validate_opts[] = {
    OPT_CHOICE("level", validate_args, level, "quick", validate_levels, "LEVEL",
               "how long to measure: quick (at most 2 to 3 min), standard (15), long (60)"),
    OPT_SECONDS("max-time", validate_args, max_time_s, NULL, 1, 86400, "TIME",
                "measure no longer than this: what tells most a second comes first, and what does "
                "not fit is skipped"),
    OPT_FLAG("no-measure", validate_args, no_measure, NULL,
             "only what can be read, in two seconds"),
    OPT_TEXT("only", validate_args, only, NULL, "RULE[,..]", "these rules alone"),
    OPT_TEXT("require", validate_args, require, NULL, "RULE[,..]",
             "these rules may not be skipped: what keeps them from being judged is an error"),
    OPT_TEXT("expect", validate_args, expect, NULL, "NAME=N[,..]",
             "how many there must be: gpus=8,cpus=128,memory=2T; also sockets, nodes (NUMA), nics, "
             "nvme, nvswitches; gpus=0 accepts a machine without GPUs, which else is no pass"),
    OPT_TEXT("waivers", validate_args, waivers, NULL, "FILE",
             "failures that are known, as JSON: an array of {rule, unit, reason, until}"),
    OPT_FLAG("strict", validate_args, strict, NULL, "warnings fail, too"),
    OPT_FLAG("all", validate_args, all, NULL, "a line for each rule that passes or is skipped"),
    OPT_FLAG("list", validate_args, list, NULL, "explain the rules, and judge nothing"),
    OPT_TEXT("bounds", validate_args, bounds, NULL, "FILE",
             "of a fleet: judge by the bounds that 'validate bounds' made, not by each other"),
    OPT_FLAG("markdown", validate_args, markdown, NULL, "of --list and a fleet: print Markdown"),
    OPT_FLAG("json", validate_args, json, NULL, "print JSON"),
    OPT_TEXT("junit", validate_args, outputs.junit, NULL, "FILE",
             "also write JUnit XML; %h in the name is the host, here and below"),
    OPT_TEXT("prometheus", validate_args, outputs.prometheus, NULL, "FILE",
             "also write metrics for node_exporter's textfile collector"),
    OPT_TEXT("out", validate_args, outputs.dir, NULL, "DIR",
             "also write validate.json and summary.txt there; of bounds the new file with them",
             .letter = 'o'),
    OPT_TEXT("root", validate_args, root, NULL, "DIR",
             "for tests: /proc, /sys and /dev are looked up below it"),
    {.name = NULL}};

const struct command validate_command = {
    .name = "validate",
    .group = "Accept",
    .tool = "validate",
    .operands = "[fleet DIR... | bounds DIR...]",
    .summary = "is this server fit? counts, physics, peers, health; and the fix",
    .about =
        "Judges this server by rules that need no table of models, with short measurements: "
        "counts, "
        "physics, units against their peers, health. Changes nothing; root sees more. 'fleet' "
        "judges the results of many machines below DIR..., and runs nothing. 'bounds' makes "
        "bounds of such results for machines of one kind, a JSON file to be read and edited, by "
        "which 'fleet --bounds' judges. Exit code: 0 pass, 1 a rule failed, 3 one that should have "
        "run did "
        "not, 4 nothing was judged, or no GPU (see --expect gpus=0).",
    .opts = validate_opts,
};
