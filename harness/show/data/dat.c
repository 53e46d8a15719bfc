#include "harness/show/data/dat.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "harness/lib/stats/stats.h"

#include "harness/rows/say.h"

enum { HOST_MOST = 48, LINE_MOST = 150 };

void dat_put_clean(FILE *out, const char *text, size_t most)
{
    for (size_t i = 0; text[i] && i < most; i++) {
        unsigned char c = (unsigned char)text[i];
        bool safe = (c < 0x80 && isalnum(c)) || strchr(" ._:/()+,-%", c);
        (void)fputc(safe ? c : '_', out);
    }
}

void dat_put_text(FILE *out, const char *text, size_t most)
{
    (void)fputs(" \"", out);
    dat_put_clean(out, text, most);
    (void)fputc('"', out);
}

/* With fewer workers, perhaps. */
static bool is_had(const struct result *result, enum placement placement)
{
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].placement == placement && result->arms[i].plan.status == PLAN_OK)
            return true;
    return false;
}

/* ` "not on this machine: numa, pcores"`, or ` ""`. */
static void put_footnote(const struct result *result, FILE *out)
{
    bool skipped[PLACEMENTS] = {false}, any = false;
    (void)fputs(" \"", out);
    for (size_t i = 0; i < result->narms; i++) {
        const struct arm *arm = &result->arms[i];
        if (arm->plan.status != PLAN_SKIPPED || skipped[arm->placement] ||
            is_had(result, arm->placement))
            continue;
        (void)fprintf(out, "%s%s",
                      any ? ", " : "not on this machine: ", placement_infos[arm->placement].name);
        skipped[arm->placement] = any = true;
    }
    (void)fputc('"', out);
}

void dat_put_heading(const struct figure_data *data, const char *what, unsigned workers,
                     const char *how, FILE *out)
{
    enum device device = DEVICE_NONE;
    for (size_t i = 0; i < data->result->narms; i++)
        if (arm_device(data->result, &data->result->arms[i]) != DEVICE_NONE)
            device = arm_device(data->result, &data->result->arms[i]);
    (void)fputs(" \"", out);
    dat_put_clean(out, data->result->scenario, HOST_MOST);
    (void)fprintf(out, ": %s - %s\" \"", what, device_infos[device].title);
    dat_put_clean(out, data->host, HOST_MOST);
    (void)fputs(data->host[0] ? ". " : "", out);
    if (workers)
        (void)fprintf(out, "%u worker%s. ", workers, workers == 1 ? "" : "s");
    (void)fprintf(out, "%s\"", how);
    put_footnote(data->result, out);
}

const char *dat_say_rounds(const struct figure_data *data, const char *what, char *buf, size_t size)
{
    unsigned rounds = data->result->rounds_done;
    if (rounds > 1)
        (void)snprintf(buf, size, "%s. Medians and %s %u rounds", what,
                       rounds < STATS_RANGE_BELOW ? "ranges of" : "95% intervals over", rounds);
    else
        (void)snprintf(buf, size, "%s. One round, so no intervals", what);
    return buf;
}

void dat_end_block(FILE *out)
{
    (void)fputs("\n\n", out);
}

void dat_put_figure_heading(const struct figure_data *data, const struct arm *arm, const char *how,
                            const char *rest, FILE *out)
{
    char line[480];
    const struct arm_rounds *rounds = &data->rounds->arms[arm - data->result->arms];
    (void)snprintf(line, sizeof(line), "%.*s: %s%s", HOST_MOST, data->result->scenario,
                   data->figure->title, device_mark(arm_device(data->result, arm)));
    dat_put_text(out, line, LINE_MOST);
    (void)snprintf(line, sizeof(line), "%.*s%s%s", HOST_MOST, data->host, data->host[0] ? ". " : "",
                   how);
    dat_put_text(out, line, LINE_MOST);
    bool all_well = rounds->status == STATUS_OK;
    (void)snprintf(line, sizeof(line), "%s%s%.*s%s%s", all_well ? "" : status_name(rounds->status),
                   all_well ? "" : ": ", DAT_REASON_MOST, all_well ? "" : rounds->reason,
                   all_well || !rest[0] ? "" : ". ", rest);
    dat_put_text(out, line, LINE_MOST);
}

const struct arm *dat_find_arm(const struct figure_data *data, const char *metric)
{
    for (size_t i = 0; i < data->result->narms; i++) {
        size_t at = 0;
        const struct arm *arm = &data->result->arms[i];
        if (arm->bench == data->bench && rows_next(data->rows, arm, metric, &at))
            return arm;
    }
    return NULL;
}

const char *dat_say_only(const struct figure_data *data, const struct arm *arm, const char *end,
                         char *buf, size_t size)
{
    char name[96];
    const char *placement = placement_infos[arm->placement].name;
    (void)say_arm(data->result, arm, NULL, name, sizeof(name));
    bool by_placement = strncmp(name, placement, strlen(placement)) == 0;
    buf[0] = '\0';
    for (size_t i = 0; i < data->result->narms; i++) {
        size_t at = 0;
        const struct arm *other = &data->result->arms[i];
        if (other != arm && other->bench == arm->bench &&
            rows_next(data->rows, other, data->figure->metric, &at))
            (void)snprintf(buf, size, "%s%s only. Others are in rows.csv%s",
                           by_placement ? "Placement " : "", name[0] ? name : "One arm", end);
    }
    return buf;
}

void dat_start_block(FILE *out, const char *nothing)
{
    (void)fprintf(out, "%s\n", nothing);
}

double dat_round_125(double value, bool up)
{
    static const double digits[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(value)));
    double below = power, above = 10 * power;
    for (int i = 0; i < 4; i++) {
        if (digits[i] * power <= value * (1 + 1e-12))
            below = digits[i] * power;
        if (digits[3 - i] * power >= value * (1 - 1e-12))
            above = digits[3 - i] * power;
    }
    return up ? above : below;
}
