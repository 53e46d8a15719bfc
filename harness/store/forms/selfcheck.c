#include "harness/store/forms/selfcheck.h"

#include <math.h>

#include "harness/store/json/findings.h"
#include "harness/store/json/value.h"
#include "version.h"

static json_t *kind_to_json(const struct selfcheck *check, enum selfcheck_kind kind,
                            const struct selfcheck_count *count)
{
    const struct selfcheck_kind_info *info = &selfcheck_kinds[kind];
    double share = count->trials ? (double)count->hits / count->trials : NAN;
    double limit_s = check->limit_s[kind] > 0 ? check->limit_s[kind] : NAN;
    double promise = info->promise > 0 ? info->promise : NAN;
    return json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "kind",
        info->name, "title", info->title, "trials", (int)count->trials, "hits", (int)count->hits,
        "wrong", (int)count->wrong, "errors", (int)count->errors, "share", json_value_real(share),
        "low", json_value_real(count->share.low), "high", json_value_real(count->share.high),
        "promise", json_value_real(promise), "limit_s", json_value_real(limit_s), "rounds_median",
        json_value_real(count->rounds), "rounds_worst", json_value_real(count->rounds_worst),
        "took_median_s", json_value_real(count->took_s), "took_worst_s",
        json_value_real(count->took_worst_s), "outcome", finding_outcome_name(count->outcome));
}

static json_t *kinds_to_json(const struct selfcheck *check)
{
    json_t *array = json_array();
    struct err err;
    for (int kind = 0; array && kind < SELFCHECK_KINDS; kind++) {
        struct selfcheck_count count;
        if (selfcheck_count(check, (enum selfcheck_kind)kind, &count, &err)) {
            json_decref(array);
            return NULL;
        }
        if (count.trials + count.errors)
            (void)json_array_append_new(array,
                                        kind_to_json(check, (enum selfcheck_kind)kind, &count));
    }
    return array;
}

static json_t *trials_to_json(const struct selfcheck *check)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < check->n; i++) {
        const struct selfcheck_trial *trial = &check->all[i];
        (void)json_array_append_new(
            array,
            json_pack("{s:s, s:i, s:s, s:i, s:o, s:o}", "kind", selfcheck_kinds[trial->kind].name,
                      "trial", (int)trial->number, "outcome", finding_outcome_name(trial->outcome),
                      "rounds", (int)trial->rounds, "took_s", json_value_real(trial->took_s),
                      "said", json_value_text_or_null(trial->said)));
    }
    return array;
}

json_t *selfcheck_to_json(const struct selfcheck *check, const struct selfcheck_about *about,
                          const struct findings *findings)
{
    return json_pack("{s:i, s:o, s:s, s:s, s:o, s:b, s:i, s:o, s:{s:i, s:i}, s:o, s:o}", "schema",
                     1, "host", json_value_text(about->host), "utc", about->utc, "contend",
                     CONTEND_VERSION, "scenario", json_value_text(about->scenario), "complete",
                     about->complete, "exit_code", about->exit_code, "kinds", kinds_to_json(check),
                     "all_pairs", "pairs", (int)check->pairs, "changed", (int)check->pairs_changed,
                     "trials", trials_to_json(check), "findings", findings_to_json(findings));
}
