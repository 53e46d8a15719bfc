#include "harness/doctor/options.h"

static const struct opt doctor_opts[] = {
    OPT_TEXTS("pid", doctor_args, pids, "PID",
              "Look at this process and what it started; may be repeated", .group = "Processes"),
    OPT_FLAG("gpu-procs", doctor_args, gpu_procs, NULL,
             "Look at the processes that use a GPU, as NVML lists them, and what they started"),
    OPT_FLAG("all", doctor_args, all, NULL, "Look at all processes, not only those that are busy"),
    OPT_SECONDS("time", doctor_args, look_s, NULL, 0.2, 31536000, "T",
                "How long to watch (default 5s, with --live and --plan 1s)"),
    OPT_TEXT("plan", doctor_args, plan, NULL, "FILE",
             "Only watch for threads outside this plan, written by 'contend place --json'; --pid "
             "names the processes of its workers, in their order"),
    OPT_FLAG("live", doctor_args, live, NULL, "Show where their time goes until q is pressed"),
    OPT_INT("looks", doctor_args, looks, NULL, 1, 1e9, "N",
            "With --live: end after so many updates; 1 prints one and ends", .level = OPT_RARE),
    OPT_FLAG(
        "apply", doctor_args, apply, NULL,
        "Then bind processes as the findings say, after asking; refused where a binding is not "
        "the fix",
        .group = "The fix"),
    OPT_TEXTS(
        "verify", doctor_args, verify.metrics, "METRIC",
        "Then try the fix, undo it, and report the gain; by blocks in alternation; METRIC is "
        "how fast "
        "the job is: lines:LOG[:REGEX] (lines its log grows by), file:LOG:REGEX (the rate in "
        "new lines), counter:COMMAND (prints a number that grows) or rate:COMMAND (prints the "
        "rate); once for each worker, summed"),
    OPT_TEXT("restart", doctor_args, verify.restart, NULL, "COMMAND",
             "With --verify: start the job by this shell line, look at it, and try the settings "
             "that the findings name for the next start; LOG '-' is what it prints"),
    OPT_SECONDS("max-time", doctor_args, verify.max_time_s, "60", 1, 86400, "T",
                "With --verify: the longest time for which anything is changed"),
    OPT_TEXT("placement", doctor_args, applied.placement, NULL, "P",
             "With --apply and --verify: by this placement, see 'contend info', not as the "
             "findings say",
             .letter = 'P', .level = OPT_RARE),
    OPT_FLAG("force", doctor_args, applied.force, NULL,
             "With --apply and --verify: bind all busy workers, also where it is not the fix "
             "(default placement: partition)",
             .level = OPT_RARE),
    OPT_FLAG("less-is-better", doctor_args, verify.less_is_better, NULL,
             "With --verify file: and rate:: the number is a time or a cost", .level = OPT_RARE),
    OPT_SECONDS("block", doctor_args, verify.block_s, "4", 1.5, 600, "T",
                "With --verify: longest time of a block; its first second does not count",
                .level = OPT_RARE),
    OPT_FLAG("keep", doctor_args, verify.keep, NULL,
             "With --verify: keep the fix if a gain is proven", .level = OPT_RARE),
    OPT_FLAG("yes", doctor_args, applied.yes, NULL, "With --apply and --verify: do not ask",
             .level = OPT_RARE),
    OPT_FLAG("undo", doctor_args, undo, NULL, "Restore the masks that --apply replaced"),
    OPT_TEXT("state", doctor_args, applied.state, NULL, "FILE",
             "Where --apply keeps them (default: doctor.state in ~/.local/state/contend)",
             .level = OPT_RARE),
    OPT_FLAG("list", doctor_args, list, NULL, "Explain the checks, and look at nothing",
             .group = "Output"),
    OPT_FLAG("markdown", doctor_args, markdown, NULL, "With --list: print Markdown",
             .level = OPT_RARE),
    OPT_FLAG("json", doctor_args, json, NULL,
             "Print JSON, with --live a document an update, with --plan a line a change"),
    OPT_TEXT("root", doctor_args, root, NULL, "DIR", "/proc and /sys are looked up below it",
             .level = OPT_HIDDEN),
    {.name = NULL}};

const struct command doctor_command = {
    .name = "doctor",
    .group = "Fix",
    .tool = "doctor",
    .summary = "what costs running processes time, and the fix; --live: a view",
    .about = "Watches busy processes for a few seconds, and prints what costs them time and the "
             "command that fixes it, the largest cost first. It also finds processes that hang. "
             "Changes nothing without --apply or --verify, and needs no root; root also sees the "
             "environment, the pages and the waits of other users' processes. Exit code: 0 nothing "
             "found, 1 something costs time, 3 it could not watch; of --apply: 0 bound, or nothing "
             "to fix, 1 the problem stands; of --verify: 0 a gain is proven, 1 there is none, "
             "4 inconclusive, or nothing was tried.",
    .examples = {{"contend doctor", "what costs busy processes time"},
                 {"contend doctor --live --pid 4711", "where the time of one job goes"},
                 {"contend doctor --verify lines:train.log", "prove the fix on this job"}},
    .opts = doctor_opts,
    .word_option = "pid",
};
