/* The table of commands. For a tool's command it needs only the description. */
#include "harness/cmd/common/cmd.h"

const struct command *const command_table[] = {
    &run_command,
    &bench_command,
    &tune_command,
    &place_command,
    &predict_command,
    &doctor_command,
    &validate_command,
    &ab_command,
    &compare_command,
    &info_command,
    &comms_command,
    &report_command,
    &help_command,
    &version_command,
    &completion_command,
    &man_command,
    NULL,
};
