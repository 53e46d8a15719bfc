#include "harness/comms/cmd/options.h"

static const struct opt comms_opts[] = {
    OPT_TEXT("read", comms_args, read, NULL, "DIR",
             "Print what the logs in DIR tell, and write it there as CSV, figures and "
             "report.html; runs nothing"),
    OPT_TEXT("out", comms_args, out, NULL, "DIR",
             "Keep the logs of the command in DIR, which is to be empty or new, with CSV files, "
             "figures and report.html of them"),
    OPT_FLAG("no-timing", comms_args, no_timing, NULL,
             "Do not time collectives on the GPU; else one in 64 is, by CUDA events"),
    OPT_FLAG("copies", comms_args, copies, NULL,
             "Also count what CUDA copies: between host and GPUs, within them and between them, by "
             "CUPTI"),
    OPT_TEXT(
        "attach", comms_args, attach, NULL, "PID",
        "Look at the running NCCL job that has this process, by NCCL's RAS service and NVLink's "
        "counters"),
    OPT_FLAG("all", comms_args, all, NULL, "The same of the job that NCCL_RAS_ADDR names"),
    OPT_SECONDS("time", comms_args, seconds, "2", 0.01, 3600, "T",
                "With --attach and --all: time between two looks"),
    OPT_FLAG("json", comms_args, json, NULL,
             "Print JSON, with --read, --attach or --all, and write nothing"),
    {.name = NULL},
};

const struct command comms_command = {
    .name = "comms",
    .group = "Look",
    .tool = "comms",
    .summary = "who sent how much to whom over NCCL, of a command or of its logs",
    .about = "Runs the command after '--' under our profiler plugin of NCCL, and reports who sent "
             "how much to whom. The command keeps its stdin, stdout and stderr. Every process that "
             "uses NCCL leaves a log; at the end one report on stderr has the calls of each "
             "communicator by collective, algorithm and protocol, and who sent how much to whom. "
             "The exit code is that of the command, 127 where there is no such command; 3: nothing "
             "was started, since another profiler plugin is set, or the plugin is not there.",
    .operands = "[-- COMMAND [ARGUMENT...]]",
    .opts = comms_opts,
    .examples = {{"contend comms -- ./train", "of a command"},
                 {"contend comms --attach 4711", "of a job that runs"}},
};
