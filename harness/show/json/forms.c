#include "harness/show/json/forms.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"
#include "harness/record/json_value.h"
#include "harness/verdict/runs/dosing.h"
#include "harness/verdict/runs/predict.h"
#include "harness/verdict/runs/sizing.h"
#include "harness/verdict/runs/tune.h"

json_t *collection_to_json(const struct collection *collection, json_t *const *rows)
{
    json_t *all = json_array();
    for (size_t i = 0; i < collection->n; i++) {
        const struct collected *one = &collection->all[i];
        json_value_append(&all,
                          json_value_object("scenario:t status:t says:T rounds:i rounds_planned:i "
                                            "took_s:r doubts:z bad:z rows:o",
                                            one->scenario, collected_name(one->end), one->sentence,
                                            one->rounds, one->rounds_planned, one->took_s,
                                            one->doubts, one->bad,
                                            rows && rows[i] ? json_incref(rows[i]) : json_null()));
    }
    return json_value_object("host:t command:t started:t scenarios:o", collection->host,
                             collection->command, collection->started, all);
}

static json_t *change_to_json(const struct history_series *series, const struct change *change)
{
    return json_value_object("run:i ratio:r low:r high:r before:r after:r",
                             (int)series->point[change->at].run, change->evidence.ratio,
                             change->evidence.low, change->evidence.high, change->evidence.base,
                             change->evidence.other);
}

static json_t *series_to_json(const struct history_series *series)
{
    const struct history_figure *figure = &series->figure;
    return json_value_object(
        "arm:t params:t metric:t unit:t better:t canary:b runs:o values:o changes:o", figure->arm,
        figure->params, figure->metric, figure->unit, figure->better, figure->is_control,
        JSON_ARRAY(point, series->point, series->n, json_integer(point->run)),
        JSON_ARRAY(point, series->point, series->n, json_value_real(point->value)),
        JSON_ARRAY(change, series->changes.change, series->changes.n,
                   change_to_json(series, change)));
}

json_t *history_to_json(const struct history *history, const char *machine,
                        const struct findings *findings)
{
    return json_value_object(
        "machine:T runs:o figures:o findings:o", machine,
        JSON_ARRAY(run, history->runs, history->nruns,
                   json_value_object("started:T run_id:t commit:T", run->started, run->run_id,
                                     run->commit)),
        JSON_ARRAY(series, history->series, history->nseries, series_to_json(series)),
        findings_to_json(findings));
}

static json_t *odd_to_json(const struct symmetry_unit *unit, const struct topo *topo)
{
    return json_value_object(
        "of:t id:i other:n pci_bdf:t value:r ratio:r z:r", symmetry_kind_name(unit->kind), unit->id,
        unit->other, symmetry_unit_bdf(topo, unit), unit->value.value, unit->ratio, unit->z);
}

static json_t *symmetry_comparison_to_json(const struct symmetry_comparison *c,
                                           const struct topo *topo)
{
    bool judged = c->verdict != OUTLIER_NONE;
    json_t *object = json_value_object(
        "bench:t placement:t params:t metric:t unit:t better:t of:t key:t units:z verdict:t "
        "typical:r spread:r odd:o",
        c->row->bench, c->row->placement, c->row->params, c->row->metric, c->row->unit,
        c->row->better, symmetry_kind_name(c->kind), dims_format(c->row->arm->bench, &c->dims),
        c->n, outlier_verdict_name(c->verdict), judged ? c->typical : (double)NAN,
        judged ? c->spread : (double)NAN, JSON_ARRAY(odd, c->odd, c->nodd, odd_to_json(odd, topo)));
    if (c->power_limited)
        (void)json_value_add(object, "power_limited:b", true);
    return object;
}

json_t *symmetry_to_json(const struct symmetry *symmetry, const struct topo *topo)
{
    return JSON_ARRAY(each, symmetry->all, symmetry ? symmetry->n : 0,
                      symmetry_comparison_to_json(each, topo));
}

json_t *sizing_to_json(const struct analysis *analysis)
{
    struct sizing_curves curves;
    (void)sizing_read(analysis, &curves);
    const size_t points[] = {curves.knee, curves.enough, curves.knee_all, curves.enough_all};
    int cores[4];
    json_t *all = json_array();
    for (size_t i = 0; i < 4; i++)
        cores[i] = points[i] < curves.n ? (int)curves.solo[points[i]].cores : -1;
    for (size_t i = 0; i < curves.n; i++)
        json_value_append(&all, json_value_object("cores:i alone:r all:r predicted:r error:r",
                                                  curves.solo[i].cores, curves.solo[i].rate,
                                                  curves.all[i].rate, curves.predicted[i],
                                                  curves.error[i]));
    return json_value_object("workers:i points:o knee:n enough:n knee_all:n enough_all:n "
                             "median_error:r worst_error:r",
                             curves.workers, all, cores[0], cores[1], cores[2], cores[3],
                             curves.median_error, curves.worst_error);
}

json_t *prediction_to_json(const struct analysis *analysis)
{
    struct prediction of;
    if (!predict_read(analysis, &of))
        return json_null();
    json_t *cells = JSON_ARRAY(
        cell, of.cell, of.n,
        json_value_object("workers:i placement:t profile:b bound:b rate:r low:r high:r "
                          "limit:t times_one:r line:r measured:r error:r",
                          cell->arm->planned_workers, placement_infos[cell->arm->placement].name,
                          cell->is_profile, cell->is_bound, cell->rate, cell->low, cell->high,
                          predict_limit_name(cell->limit), cell->times_one, cell->line,
                          cell->measured, cell->error));
    return json_value_object(
        "unit:t one:r beta:r gamma:r gpu_share:r cells:o drift:r verified:z inside:z "
        "bounds:z bounds_held:z median_error:r worst_error:r",
        bench_rate_unit(analysis->result->arms[0].bench), of.one, of.beta, of.gamma, of.gpu_share,
        cells, of.drift, of.verified, of.inside, of.bounds, of.bounds_held, of.errors.median,
        of.errors.worst);
}

static json_t *dose_to_json(double level, const struct dosing_point *point)
{
    return json_value_object("dose:r held:r rate:r retention:r low:r high:r p99:r", level,
                             point->held, point->rate, point->retention.ratio, point->retention.low,
                             point->retention.high, point->p99);
}

static json_t *curve_to_json(const struct dosing_curves *curves, size_t p)
{
    return json_value_object(
        "placement:t points:o", placement_infos[curves->placement[p]].name,
        JSON_ARRAY(point, curves->point[p], curves->n,
                   dose_to_json(curves->level[point - curves->point[p]], point)));
}

json_t *dosing_to_json(const struct analysis *analysis)
{
    struct dosing_curves curves;
    (void)dosing_read(analysis, &curves);
    return json_value_object("kind:t workers:i curves:o", dose_names[curves.kind], curves.workers,
                             JSON_ARRAY(each, curves.placement, curves.nplacements,
                                        curve_to_json(&curves, (size_t)(each - curves.placement))));
}

static json_t *tune_line_to_json(const struct analysis *analysis, const struct tune_line *line)
{
    const struct arm *arm = &analysis->result->arms[line->arm];
    const struct arm_rounds *rounds = &analysis->rounds.arms[line->arm];
    const struct plan_worker *first = arm->plan.nworkers ? &arm->plan.workers[0] : NULL;
    const struct evidence none = evidence_none;
    const struct evidence *gain = line->fresh ? &line->against : &none;
    return json_value_object(
        "setting:t fresh:b recommended:b placement:t workers:i threads:n passive:b rounds:z rate:r "
        "unit:t reference:b of_best:r speed_up:r low:r high:r reason:T",
        arm_name(arm), line->fresh, line->recommended, placement_infos[arm->placement].name,
        arm->workers, first ? (int)first->threads : -1, first && first->passive, rounds->n,
        line->rate, rounds->rate_unit, line->is_reference,
        line->fresh ? (double)NAN : line->against.ratio, gain->ratio, gain->low, gain->high,
        arm->plan.reason[0] ? arm->plan.reason : rounds->reason);
}

json_t *tune_to_json(const struct analysis *analysis)
{
    struct tune_lines lines;
    int failed = tune_lines_make(analysis, &lines, NULL);
    json_t *array =
        failed ? NULL : JSON_ARRAY(line, lines.all, lines.n, tune_line_to_json(analysis, line));
    tune_lines_free(&lines);
    return array;
}

static json_t *entry_to_json(const struct list_entry *entry)
{
    json_t *one = json_value_object("name:t summary:t", entry->name, entry->summary);
    if (entry->asked)
        (void)json_value_add(one, "not_here:T", entry->not_here);
    return one;
}

void list_add_json(json_t *object, const struct list *lists, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)json_object_set_new(
            object, lists[i].kind,
            JSON_ARRAY(entry, lists[i].entries, lists[i].n, entry_to_json(entry)));
}

#define SCHEMA "contend-fingerprint"

enum { SCHEMA_VERSION = 1, BYTES_MOST = 1 << 20 };

static json_t *value_to_json(const struct fingerprint_value *value)
{
    return json_value_object("part:t name:t kind:t unit:t better:t", value->part, value->name,
                             value->is_retention ? "retention" : "rate", value->unit,
                             value->less_is_better ? "lower" : "higher");
}

json_t *fingerprint_to_json(const struct fingerprint *print, const char *version)
{
    json_t *values = json_array(), *absent = json_array();
    for (size_t i = 0; i < print->n; i++) {
        const struct fingerprint_value *value = &print->value[i];
        json_t *json = value_to_json(value);
        if (isnan(value->value))
            (void)json_value_add(json, "reason:t", value->reason);
        else
            (void)json_value_add(json, "value:r low:r high:r rounds:i", value->value, value->low,
                                 value->high, value->rounds);
        (void)json_array_append_new(isnan(value->value) ? absent : values, json);
    }
    json_t *machine = json_value_object("key:T kind:T cpu_model:T cpus:i gpu_model:T gpus:i",
                                        print->key, print->kind, print->cpu_model, print->cpus,
                                        print->gpu_model, print->gpus);
    return json_value_object(
        "schema:t schema_version:i version:t host:T started:T machine:o values:o absent:o", SCHEMA,
        SCHEMA_VERSION, version, print->host, print->started, machine, values, absent);
}

static void take_values(const json_t *array, struct fingerprint *print)
{
    size_t i;
    const json_t *json;
    json_array_foreach(array, i, json)
    {
        struct fingerprint_value value = {
            .is_retention = !strcmp(json_value_text_of(json, "kind"), "retention"),
            .less_is_better = !strcmp(json_value_text_of(json, "better"), "lower"),
            .value = json_value_number_of(json, "value"),
            .low = json_value_number_of(json, "low"),
            .high = json_value_number_of(json, "high"),
            .rounds = json_value_count_of(json, "rounds")};
        text_set(value.part, "%s", json_value_copy_text(json, "part"));
        text_set(value.name, "%s", json_value_copy_text(json, "name"));
        text_set(value.unit, "%s", json_value_copy_text(json, "unit"));
        text_set(value.reason, "%s", json_value_copy_text(json, "reason"));
        fingerprint_add(print, &value);
    }
}

int fingerprint_from_json(const json_t *json, struct fingerprint *print, struct err *err)
{
    const json_t *machine = json_object_get(json, "machine");
    unsigned version = json_value_count_of(json, "schema_version");
    *print = (struct fingerprint){.cpus = json_value_count_of(machine, "cpus"),
                                  .gpus = json_value_count_of(machine, "gpus")};
    if (strcmp(json_value_text_of(json, "schema"), SCHEMA) != 0 || !version)
        return err_set(err, -EINVAL, "its schema is not '" SCHEMA "'");
    if (version > SCHEMA_VERSION)
        return err_set(err, -EINVAL, "it is of a newer contend: schema %u, this version reads %d",
                       version, SCHEMA_VERSION);
    text_set(print->host, "%s", json_value_copy_text(json, "host"));
    text_set(print->started, "%s", json_value_copy_text(json, "started"));
    text_set(print->key, "%s", json_value_copy_text(machine, "key"));
    text_set(print->kind, "%s", json_value_copy_text(machine, "kind"));
    text_set(print->cpu_model, "%s", json_value_copy_text(machine, "cpu_model"));
    text_set(print->gpu_model, "%s", json_value_copy_text(machine, "gpu_model"));
    take_values(json_object_get(json, "values"), print);
    take_values(json_object_get(json, "absent"), print);
    return 0;
}

/* The path of a fingerprint, or of the one in a directory; "" if it is no regular file. */
static char *file_of(const char *path, char *file, size_t size)
{
    struct stat at;
    bool is_directory = !stat(path, &at) && S_ISDIR(at.st_mode);
    (void)snprintf(file, size, "%s%s", path, is_directory ? "/" FINGERPRINT_NAME : "");
    if (stat(file, &at) || !S_ISREG(at.st_mode))
        file[0] = '\0';
    return file;
}

bool fingerprint_is_at(const char *path)
{
    char file[4200];
    return file_of(path, file, sizeof(file))[0] != '\0';
}

int fingerprint_read(const char *path, struct fingerprint *print, struct err *err)
{
    char file[4200], *text = NULL;
    size_t size;
    json_error_t wrong;
    struct err why;
    if (!file_of(path, file, sizeof(file))[0])
        return err_set(err, -ENOENT, "'%.150s' is no fingerprint: type 'contend run fingerprint'",
                       path);
    int rc = file_read(AT_FDCWD, file, BYTES_MOST, &text, &size);
    if (rc)
        return err_sys(err, rc, "cannot read '%.150s'", file);
    json_t *json = json_value_one_line(json_loadb(text, size, JSON_REJECT_DUPLICATES, &wrong));
    free(text);
    if (!json)
        return err_set(err, -EINVAL, "'%.150s', line %d: %.150s", file, wrong.line,
                       text_one_line(wrong.text));
    rc = fingerprint_from_json(json, print, &why);
    json_decref(json);
    return rc ? err_set(err, rc, "'%.150s': %s", file, why.msg) : 0;
}

static json_t *difference_to_json(const struct fingerprint_difference *one)
{
    const struct fingerprint_value *any = one->a ? one->a : one->b;
    return json_value_object("part:t name:t unit:t a:r b:r ratio:r units:r", any->part, any->name,
                             any->unit, one->a ? one->a->value : NAN, one->b ? one->b->value : NAN,
                             one->ratio, one->units);
}

json_t *fingerprint_distance_to_json(const struct fingerprint_distance *distance)
{
    const char *verdict = fingerprint_is_same(distance) ? "same" : "another";
    return json_value_object(
        "verdict:t text:t distance:r parts:o values:o", distance->shared ? verdict : NULL,
        fingerprint_format(distance), distance->distance,
        JSON_ARRAY(
            part, distance->part, distance->nparts,
            json_value_object("part:t values:z distance:r", part->name, part->n, part->distance)),
        JSON_ARRAY(one, distance->difference, distance->n, difference_to_json(one)));
}

json_t *fingerprint_fleet_to_json(const struct fingerprint_machine *all, size_t n)
{
    return json_value_object(
        "machines:o",
        JSON_ARRAY(machine, all, n,
                   json_value_object("path:t host:t median:o", machine->path, machine->print.host,
                                     fingerprint_distance_to_json(&machine->distance))));
}
