#include "harness/validate/options.h"

const char *const validate_profiles[] = {"quick", "standard", "full", NULL};

static const struct opt validate_opts[] = {
    OPT_TEXT("machine", validate_args, machine, NULL, "KIND",
             "What this machine must have and reach: 8xh100-sxm, 1xl4, cpu-2s-epyc, vm, or a FILE "
             "of your own; what cannot be judged of it is an error",
             .group = "What is judged"),
    OPT_TEXT("expect", validate_args, expect, NULL, "NAME=N[,..]",
             "How many there must be: gpus=8,cpus=128,memory=2T; also sockets, nodes (NUMA), nics, "
             "nvme, nvswitches; gpus=0 lets a machine without GPUs pass"),
    OPT_TEXT("only", validate_args, only, NULL, "RULE[,..]", "These rules alone"),
    OPT_TEXT("require", validate_args, require, NULL, "RULE[,..]",
             "Rules that must be judged: if one cannot be, that is an error", .level = OPT_RARE),
    OPT_TEXT("bounds", validate_args, bounds, NULL, "FILE",
             "For a fleet: judge by bounds from 'validate bounds'"),
    OPT_TEXT("waivers", validate_args, waivers, NULL, "FILE",
             "Known failures, as JSON: an array of {rule, unit, reason, until}"),
    OPT_FLAG("strict", validate_args, strict, NULL, "Warnings fail too"),
    OPT_CHOICE(
        "profile", validate_args, profile, "quick", validate_profiles, "P",
        "How long and how often to measure: quick (at most 3 minutes), standard (15), full (60)",
        .group = "How long"),
    OPT_SECONDS("max-time", validate_args, max_time_s, NULL, 1, 86400, "T",
                "Measure no longer than this; what does not fit is skipped"),
    OPT_SECONDS("burn", validate_args, burn_s, NULL, 1, 604800, "T",
                "Then keep all GPUs, links, CPUs and memory busy together for T (3m, 1h), every "
                "result checked"),
    OPT_FLAG("no-measure", validate_args, no_measure, NULL, "Measure nothing; takes two seconds"),
    OPT_FLAG("list", validate_args, list, NULL, "Explain the rules, and judge nothing",
             .group = "Output"),
    OPT_FLAG("verbose", validate_args, verbose, NULL, "Also what passed or was skipped, and why",
             .letter = 'v'),
    OPT_FLAG("markdown", validate_args, markdown, NULL, "Print Markdown", .level = OPT_RARE),
    OPT_FLAG("json", validate_args, json, NULL, "Print JSON"),
    OPT_FLAG("brief", validate_args, brief, NULL,
             "Print one line: the verdict and the worst finding, for Slurm and other monitors",
             .level = OPT_RARE),
    OPT_TEXT("html", validate_args, outputs.html, NULL, "FILE",
             "Also write a page; %h in the name is the host, here and below"),
    OPT_TEXT("junit", validate_args, outputs.junit, NULL, "FILE", "Also write JUnit XML",
             .level = OPT_RARE),
    OPT_TEXT("prometheus", validate_args, outputs.prometheus, NULL, "FILE",
             "Also write metrics for node_exporter's textfile collector", .level = OPT_RARE),
    OPT_TEXT("superbench", validate_args, outputs.superbench, NULL, "FILE",
             "Also append a line in the form of SuperBench's results-summary.jsonl",
             .level = OPT_RARE),
    OPT_TEXT("out", validate_args, outputs.dir, NULL, "DIR",
             "Also write validate.json and summary.txt there; with 'bounds': the new file",
             .letter = 'o', .level = OPT_RARE),
    OPT_TEXT("root", validate_args, root, NULL, "DIR",
             "/proc, /sys and /dev are looked up below it", .level = OPT_HIDDEN),
    {.name = NULL}};

const struct command validate_command = {
    .name = "validate",
    .group = "Accept",
    .tool = "validate",
    .operands = "[fleet DIR... | bounds DIR...]",
    .summary = "is this server fit? counts, physics, peers, health; and the fix",
    .about =
        "Judges this server by short measurements: counts, physics, units against their "
        "peers, health; with --machine, also by what its kind must reach. Changes nothing; root "
        "sees more. "
        "'fleet' judges the results of many machines below DIR..., and runs nothing. 'bounds' "
        "makes bounds for machines of one kind from such results: a JSON file to read and "
        "edit, for 'fleet --bounds'. Exit code: 0 pass, 1 a rule failed, 3 a rule that should "
        "have run did not, 4 nothing was judged, or no GPU (see --expect gpus=0).",
    .opts = validate_opts,
    .examples = {{"contend validate --machine 8xh100-sxm", "is it what was ordered?"},
                 {"contend validate fleet results/", "which server differs?"}},
};
