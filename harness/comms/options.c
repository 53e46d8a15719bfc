#include "harness/comms/options.h"

static const struct opt comms_opts[] = {
    OPT_TEXT("read", comms_args, read, NULL, "DIR",
             "Report the logs in DIR, and write CSV, figures and report.html there; runs nothing"),
    OPT_TEXT("out", comms_args, out, NULL, "DIR",
             "Keep the command's logs in DIR, which must be empty or new, with CSV, figures and "
             "report.html"),
    OPT_SECONDS("last", comms_args, last_s, NULL, 1, 31536000, "T",
                "With --read: judge late ranks by the last T before the last call, and write "
                "nothing; the log may belong to a running job"),
    OPT_FLAG("no-timing", comms_args, no_timing, NULL,
             "Do not time collectives on the GPU (default: one in 64, by CUDA events)"),
    OPT_FLAG("verbose", comms_args, verbose, NULL, CMD_VERBOSE_HELP, .letter = 'v'),
    OPT_FLAG("json", comms_args, json, NULL, "With --read: print JSON, and write nothing"),
    {.name = NULL},
};

const struct command comms_command = {
    .name = "comms",
    .group = "Look",
    .tool = "comms",
    .summary = "who sent how much to whom over NCCL, of a command or of its logs",
    .about =
        "Runs the command after '--' with a profiler plugin for NCCL, and reports on stderr who "
        "sent how much to whom, and the calls of each communicator by collective, algorithm and "
        "protocol. The command keeps its stdin, stdout and stderr. Every process that uses NCCL "
        "writes a log. The exit code is the command's; 127: there is no such command; 3: nothing "
        "was started, because another profiler plugin is set, or ours is missing.",
    .operands = "[-- COMMAND [ARGUMENT...]]",
    .opts = comms_opts,
    .examples = {{"contend comms -- ./train", "of a command"}},
};
