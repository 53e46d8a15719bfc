#include "harness/comms/json/ras.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/comms/json/comms.h"
#include "harness/lib/base/text.h"
#include "harness/store/json/findings.h"
#include "harness/store/json/value.h"

/* -1 where that key has no whole number. */
static int64_t number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
}

/* 0 of what is none. */
static int64_t code_of(const json_t *object, const char *key)
{
    int64_t code = number_of(object, key);
    return code < 0 ? 0 : code;
}

static bool is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/* By name, as one line; a new one is added. RAS_FUNCS: there is no room. */
static size_t find_func(struct ras *ras, const char *told)
{
    char name[RAS_NAME_MAX];
    if ((size_t)snprintf(name, sizeof(name), "%s", told) >= sizeof(name))
        return RAS_FUNCS;
    (void)text_one_line(name);
    size_t at = ras_find_func(ras, name);
    if (at == ras->nfuncs && at < RAS_FUNCS)
        memcpy(ras->func[ras->nfuncs++], name, sizeof(name));
    return at;
}

static void read_counts(struct ras *ras, json_t *counts, struct ras_rank *rank)
{
    const char *name;
    json_t *count;
    json_object_foreach(counts, name, count)
    {
        size_t at = find_func(ras, name);
        if (at < RAS_FUNCS && json_is_integer(count) && json_integer_value(count) > 0)
            rank->counts[at] = (uint64_t)json_integer_value(count);
    }
}

static void read_rank(struct ras *ras, const json_t *told, bool missing, struct ras_rank *rank)
{
    const json_t *status = json_object_get(told, "status");
    *rank = (struct ras_rank){.rank = number_of(told, "rank"),
                              .pid = number_of(told, "pid"),
                              .gpu = number_of(told, "nvml_dev"),
                              .init_state = code_of(status, "init_state"),
                              .async_error = code_of(status, "async_error"),
                              .leaves = is_true(status, "finalize_called") ||
                                        is_true(status, "destroy_flag") ||
                                        is_true(status, "abort_flag"),
                              .missing = missing,
                              .unresponsive = is_true(status, "unresponsive"),
                              .dead = is_true(status, "considered_dead")};
    json_value_copy_text(told, "host", rank->host, sizeof(rank->host));
    if (!missing)
        read_counts(ras, json_object_get(told, "collective_counts"), rank);
}

static int refuse(const char *what, struct err *err)
{
    return err_set(err, -EPROTO, "cannot read the answer of NCCL's RAS service: %s", what);
}

static int read_communicator(struct ras *ras, const json_t *told, struct ras_communicator *to,
                             struct err *err)
{
    const json_t *ranks = json_object_get(told, "ranks");
    const json_t *missing = json_object_get(told, "missing_ranks");
    size_t n = json_array_size(ranks), absent = json_array_size(missing);
    if (!json_is_array(ranks) || n > RAS_RANKS_MOST || absent > RAS_RANKS_MOST)
        return refuse("a communicator without ranks, or with too many", err);
    json_value_copy_text(told, "hash", to->hash, sizeof(to->hash));
    json_value_copy_text(told, "secondary_hash", to->second, sizeof(to->second));
    to->size = number_of(told, "size");
    to->rank = calloc(n + absent + 1, sizeof(*to->rank));
    if (!to->rank)
        return err_set(err, -ENOMEM, "no memory for ranks");
    for (size_t i = 0; i < n; i++)
        read_rank(ras, json_array_get(ranks, i), false, &to->rank[to->nranks++]);
    for (size_t i = 0; i < absent; i++)
        read_rank(ras, json_array_get(missing, i), true, &to->rank[to->nranks++]);
    return 0;
}

static int read_document(const json_t *document, struct ras *ras, struct err *err)
{
    const json_t *all = json_object_get(document, "communicators");
    size_t n = json_array_size(all);
    int rc = 0;
    if (!json_is_array(all) || n > RAS_COMMUNICATORS_MOST)
        return refuse("no list of communicators, or too long a one", err);
    json_value_copy_text(document, "nccl_version", ras->version, sizeof(ras->version));
    ras->timeouts = code_of(json_object_get(document, "ras"), "timeouts_count");
    ras->communicator = calloc(n + 1, sizeof(*ras->communicator));
    if (!ras->communicator)
        return err_set(err, -ENOMEM, "no memory for communicators");
    for (size_t i = 0; i < n && !rc; i++)
        rc = read_communicator(ras, json_array_get(all, i), &ras->communicator[ras->n++], err);
    return rc;
}

int ras_from_json(const char *text, size_t size, struct ras *ras, struct err *err)
{
    json_error_t why;
    *ras = (struct ras){.n = 0};
    json_t *document = json_loadb(text, size, 0, &why);
    if (!document)
        return refuse(text_one_line(why.text), err); /* it quotes the answer */
    int rc = read_document(json_value_one_line(document), ras, err);
    json_decref(document);
    return rc;
}

/* ---- as JSON of ours ---- */

static json_t *rank_to_json(const struct ras *ras, const struct ras_rank *rank)
{
    json_t *counts = json_object();
    for (size_t f = 0; f < ras->nfuncs && counts; f++)
        if (rank->counts[f])
            (void)json_object_set_new(counts, ras->func[f],
                                      json_integer((json_int_t)rank->counts[f]));
    return json_pack("{s:I, s:o, s:I, s:I, s:b, s:b, s:b, s:b, s:I, s:I, s:o}", "rank",
                     (json_int_t)rank->rank, "host", json_value_text(rank->host), "process",
                     (json_int_t)rank->pid, "gpu", (json_int_t)rank->gpu, "missing", rank->missing,
                     "unresponsive", rank->unresponsive, "dead", rank->dead, "leaves", rank->leaves,
                     "init_state", (json_int_t)rank->init_state, "async_error",
                     (json_int_t)rank->async_error, "launched", counts);
}

static json_t *communicator_to_json(const struct ras *ras, const struct ras_communicator *of)
{
    json_t *ranks = JSON_LIST(rank, of->rank, of->nranks, rank_to_json(ras, rank));
    return json_pack("{s:o, s:I, s:o}", "hash", json_value_text(of->hash), "size",
                     (json_int_t)of->size, "ranks", ranks);
}

static json_t *side_to_json(const struct comms_nvlink_delta_side *side)
{
    return json_pack("{s:o, s:o, s:o}", "counted_bytes",
                     isnan(side->bytes) ? json_null() : json_integer((json_int_t)side->bytes),
                     "bytes_per_s", json_value_real(side->rate), "share",
                     json_value_real(side->share));
}

static json_t *sides_to_json(const struct comms_nvlink_delta_sides *sides)
{
    return json_pack("{s:o, s:o}", "sent", side_to_json(&sides->sent), "received",
                     side_to_json(&sides->received));
}

static json_t *moved_gpu_to_json(const struct comms_nvlink_delta *nvlink_delta,
                                 const struct comms_nvlink_delta_gpu *gpu)
{
    const struct comms_nvlink_delta_sides sides = comms_nvlink_delta_of(nvlink_delta, gpu);
    bool is_known = nvlink_delta->by != COMMS_NVLINK_DELTA_BY_NOBODY;
    return json_pack("{s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o}", "host",
                     json_value_text(nvlink_delta->counted.host), "pci_bdf",
                     json_value_text_or_null(gpu->counted->pci_bdf), "of_job",
                     is_known ? json_boolean(gpu->of_job) : json_null(), "ranks", (int)gpu->ranks,
                     "rank", gpu->ranks ? json_integer((json_int_t)gpu->rank) : json_null(),
                     "process", gpu->ranks ? json_integer((json_int_t)gpu->pid) : json_null(),
                     "gbps", gpu->gbps > 0 ? json_real(gpu->gbps) : json_null(), "sent",
                     side_to_json(&sides.sent), "received", side_to_json(&sides.received));
}

/*
 * {"seconds", "by": "ranks"|"process"|null, "note" | null,
 *  "gpus": [{"host", "pci_bdf", "of_job" | null of nobody, "ranks", "rank" | null, "process" |
 * null, "gbps" | null, "sent": SIDE, "received": SIDE}], "job": {"sent": SIDE, "received": SIDE} |
 * null, "all": {"sent": SIDE, "received": SIDE}, "not_counted": [{"host", "why"}]} with SIDE =
 * {"counted_bytes", "bytes_per_s", "share"}, each of them or null; what names it shares with
 * comms_to_json is the same there.
 */
static json_t *moved_to_json(const struct comms_nvlink_delta *nvlink_delta)
{
    static const char *const by[] = {NULL, "ranks", "process"};
    const struct comms_nvlink_delta_sides all = comms_nvlink_delta_all(nvlink_delta, false);
    const struct comms_nvlink_delta_sides job = comms_nvlink_delta_all(nvlink_delta, true);
    const char *why = comms_counted_why(&nvlink_delta->counted);
    json_t *gpus =
        JSON_LIST(gpu, nvlink_delta->gpu, nvlink_delta->n, moved_gpu_to_json(nvlink_delta, gpu));
    json_t *not_counted = json_array();
    if (why[0])
        (void)json_array_append_new(not_counted,
                                    json_pack("{s:o, s:o}", "host",
                                              json_value_text(nvlink_delta->counted.host), "why",
                                              json_value_text(why)));
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "seconds", json_value_real(nvlink_delta->seconds),
        "by", json_value_text(by[nvlink_delta->by]), "note",
        json_value_text_or_null(nvlink_delta->note), "gpus", gpus, "job",
        nvlink_delta->by == COMMS_NVLINK_DELTA_BY_NOBODY ? json_null() : sides_to_json(&job), "all",
        sides_to_json(&all), "not_counted", not_counted);
}

json_t *ras_to_json(const struct ras *ras, const char *not_told,
                    const struct comms_nvlink_delta *nvlink_delta, const struct findings *findings)
{
    json_t *all = ras ? JSON_LIST(each, ras->communicator, ras->n, communicator_to_json(ras, each))
                      : json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "nccl",
                     json_value_text(ras ? ras->version : NULL), "communicators", all, "not_told",
                     json_value_text(ras ? NULL : not_told), "findings", findings_to_json(findings),
                     "nvlink", moved_to_json(nvlink_delta));
}
