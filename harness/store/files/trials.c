#include "harness/store/files/trials.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/lib/files/file.h"
#include "harness/store/files/csv.h"

static void put(const struct selfcheck *check, FILE *out)
{
    (void)fputs(TRIALS_COLUMNS "\n", out);
    for (size_t i = 0; i < check->n; i++) {
        const struct selfcheck_trial *trial = &check->all[i];
        const struct selfcheck_kind_info *info = &selfcheck_kinds[trial->kind];
        (void)fprintf(out, "%s,%u,%u,%s,%u,%.3f,", info->name, trial->number, info->busy,
                      finding_outcome_name(trial->outcome), trial->rounds, trial->took_s);
        csv_put_text(trial->said, out);
        (void)fputc('\n', out);
    }
}

int trials_write(int dir_fd, const struct selfcheck *check, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return err_set(err, -ENOMEM, "no memory for " TRIALS_NAME);
    put(check, out);
    int rc = fclose(out) ? -ENOMEM : file_replace(dir_fd, TRIALS_NAME, text, size);
    free(text);
    return rc ? err_sys(err, rc, "cannot write " TRIALS_NAME) : 0;
}
