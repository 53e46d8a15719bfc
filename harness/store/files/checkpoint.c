#include "harness/store/files/checkpoint.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/arms/parcel.h"
#include "harness/engine/run/run.h"
#include "harness/lib/files/file.h"
#include "harness/lib/files/sha256.h"

static const size_t most_bytes = (size_t)4 << 30;

/* Of the two structs their pointers mean nothing here. */
struct head {
    char magic[16];
    size_t observation_bytes, worker_bytes, narms; /* of another build they differ */
    struct result result;
    struct observe_config config;
};

/* In front of each round. */
struct frame {
    size_t bytes; /* behind it */
    unsigned round, observations;
    uint8_t sum[SHA256_BYTES];
};

static struct head empty_head(const struct result *result)
{
    struct head head;
    memset(&head, 0, sizeof(head)); /* its gaps are written, too */
    memcpy(head.magic, "contend resume", sizeof("contend resume"));
    head.observation_bytes = sizeof(struct observation);
    head.worker_bytes = sizeof(struct worker_result);
    head.narms = result->narms;
    return head;
}

int checkpoint_open(struct growing_file *file, int dir_fd, const struct result *result,
                    const struct observe_config *config, struct err *err)
{
    struct head head = empty_head(result);
    head.result = *result;
    head.config = *config;
    int rc = growing_open(file, dir_fd, CHECKPOINT_NAME, err);
    return rc ? rc : growing_append(file, &head, sizeof(head), err);
}

/* The arm's index and its observation, of each that the round has. Returns how many. */
static unsigned put_round(struct parcel *parcel, const struct result *result, unsigned round)
{
    unsigned n = 0;
    for (size_t a = 0; a < result->narms; a++)
        for (size_t o = 0; o < result->arms[a].nobservations; o++) {
            if (result->arms[a].observations[o].round != round)
                continue;
            parcel_put(parcel, &a, sizeof(a));
            parcel_put_observation(parcel, &result->arms[a].observations[o]);
            n++;
        }
    return n;
}

int checkpoint_append(struct growing_file *file, const struct result *result, unsigned round,
                      struct err *err)
{
    struct parcel counted = {0};
    struct frame frame;
    memset(&frame, 0, sizeof(frame));
    frame.round = round;
    frame.observations = put_round(&counted, result, round);
    frame.bytes = counted.bytes;
    unsigned char *bytes = calloc(1, sizeof(frame) + frame.bytes);
    if (!bytes)
        return err_set(err, -ENOMEM, "no memory for " CHECKPOINT_NAME);
    struct parcel parcel = {.at = bytes + sizeof(frame)};
    (void)put_round(&parcel, result, round);
    sha256(bytes + sizeof(frame), frame.bytes, frame.sum);
    memcpy(bytes, &frame, sizeof(frame));
    int rc = growing_append(file, bytes, sizeof(frame) + frame.bytes, err);
    free(bytes);
    return rc ? rc : growing_sync(file, err);
}

static bool take_head(struct parcel *parcel, struct result *result, struct observe_config *config)
{
    struct head head, ours = empty_head(result);
    if (!parcel_take(parcel, &head, sizeof(head)) ||
        memcmp(&head, &ours, offsetof(struct head, result)) != 0)
        return false;
    memcpy(result->run_id, head.result.run_id, sizeof(result->run_id) - 1);
    result->seed = head.result.seed;
    result->rounds_planned = head.result.rounds_planned;
    result->rounds_least = head.result.rounds_least;
    result->rounds_s = head.result.rounds_s;
    result->until_clear = head.result.until_clear;
    result->solo_turns = head.result.solo_turns;
    config->warmup_s = head.config.warmup_s;
    config->least_warmup_s = head.config.least_warmup_s;
    config->settle_s = head.config.settle_s;
    config->measure_s = head.config.measure_s;
    config->limit_s = head.config.limit_s;
    config->setup_s = head.config.setup_s;
    return true;
}

static bool take_round(struct parcel *parcel, unsigned round, struct result *result)
{
    struct frame frame;
    uint8_t sum[SHA256_BYTES];
    if (!parcel_take(parcel, &frame, sizeof(frame)) || frame.round != round ||
        frame.bytes > (size_t)(parcel->end - parcel->at))
        return false;
    sha256(parcel->at, frame.bytes, sum);
    bool good = !memcmp(sum, frame.sum, sizeof(sum));
    for (unsigned i = 0; i < frame.observations && good; i++) {
        size_t arm = 0;
        good = parcel_take(parcel, &arm, sizeof(arm)) && arm < result->narms;
        struct observation *into = good ? run_add_observation(&result->arms[arm], NULL) : NULL;
        good = into && parcel_take_observation(parcel, into);
    }
    return good;
}

int checkpoint_reopen(struct growing_file *file, int dir_fd, unsigned rounds, struct result *result,
                      struct observe_config *config, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    int rc = file_read(dir_fd, CHECKPOINT_NAME, most_bytes, &text, &size);
    if (rc)
        return err_sys(err, rc, "cannot read " CHECKPOINT_NAME);
    unsigned char *bytes = (unsigned char *)text;
    struct parcel parcel = {.at = bytes, .end = bytes + size};
    bool good = take_head(&parcel, result, config);
    for (result->rounds_done = 0; good && result->rounds_done < rounds; result->rounds_done++)
        good = take_round(&parcel, result->rounds_done, result);
    off_t valid_bytes = parcel.at - bytes;
    free(text);
    if (!good)
        return err_set(err, -EINVAL, CHECKPOINT_NAME " is damaged, or of another build of contend");
    return growing_reopen(file, dir_fd, CHECKPOINT_NAME, valid_bytes, err);
}
