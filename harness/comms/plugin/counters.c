#include "harness/comms/plugin/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/comms/plugin/names.h"
#include "harness/lib/array.h"
#include "harness/lib/pci.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/text.h"

enum { FILE_MOST = 16384 };
static const char first_line[] = "contend nvlink 1";

bool comms_is_counted(const struct nvlink_gpu *gpu)
{
    return gpu->pci_bdf[0] && gpu->sent_bytes >= 0 && gpu->received_bytes >= 0;
}

const char *comms_counted_why(const struct comms_counted *counted)
{
    if (counted->why[0])
        return counted->why;
    for (size_t i = 0; i < counted->counts.n; i++)
        if (comms_is_counted(&counted->counts.gpu[i]))
            return "";
    return "its GPUs have no NVLink, or count nothing there";
}

/* ---- writing ---- */

static const char *format_number(int64_t value)
{
    return value < 0 ? "-" : str_fmt("%" PRId64, value);
}

static void add_boot(const char **text)
{
    static const uint8_t none[COMMS_BOOT_MAX];
    uint8_t boot[COMMS_BOOT_MAX];
    comms_boot_find(boot);
    if (memcmp(boot, none, sizeof(boot)) == 0)
        return;
    str_add(text, "", "boot ");
    for (size_t i = 0; i < sizeof(boot); i++)
        str_add(text, "", "%02x", boot[i]);
    str_add(text, "", "\n");
}

int comms_counters_write(const char *directory, const struct nvlink_counts *counts, const char *why,
                         struct err *err)
{
    char host[COMMS_HOST_MAX], name[COMMS_HOST_MAX + 64], reason[160];
    comms_host_find(host);
    (void)snprintf(name, sizeof(name), "%s-%ld" COMMS_COUNTERS_SUFFIX, host, (long)getpid());
    (void)snprintf(reason, sizeof(reason), "%s", why);
    const char *text = str_fmt("%s\nhost %s\n", first_line, host);
    add_boot(&text);
    if (why[0])
        str_add(&text, "", "none %s\n", text_one_line(reason));
    for (size_t i = 0; i < counts->n && !why[0]; i++) {
        const struct nvlink_gpu *gpu = &counts->gpu[i];
        str_add(&text, "", "gpu %s %s %s\n", gpu->pci_bdf[0] ? gpu->pci_bdf : "-",
                format_number(gpu->sent_bytes), format_number(gpu->received_bytes));
    }
    int dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = dir_fd < 0 ? -errno : file_write(dir_fd, name, text, strlen(text));
    if (dir_fd >= 0)
        (void)close(dir_fd);
    return rc ? err_sys(err, rc, "cannot write '%.150s'", name) : 0;
}

/* ---- reading ---- */

struct reader {
    const char *name;
    unsigned line;
    struct err *err;
};

static int refuse(const struct reader *reader, const char *why)
{
    return err_set(reader->err, -EINVAL, "'%.80s', line %u: %s", reader->name, reader->line, why);
}

static bool read_number(const char *word, int64_t *value)
{
    char *end = NULL;
    *value = -1;
    if (strcmp(word, "-") == 0)
        return true;
    if (*word < '0' || *word > '9')
        return false;
    errno = 0;
    *value = strtoll(word, &end, 10);
    return !errno && !*end;
}

static int read_gpu(const struct reader *reader, char *words, struct nvlink_counts *counts)
{
    const char *address = strsep(&words, " "), *sent = strsep(&words, " ");
    struct nvlink_gpu gpu;
    bool known = strcmp(address, "-") == 0;
    gpu.pci_bdf[0] = '\0';
    if (counts->n == NVLINK_GPUS)
        return refuse(reader, "more GPUs than there can be");
    if ((!known && pci_bdf_normalise(address, gpu.pci_bdf)) || !sent || !words ||
        !read_number(sent, &gpu.sent_bytes) || !read_number(words, &gpu.received_bytes))
        return refuse(reader, "not 'gpu PCI_ADDRESS SENT RECEIVED'");
    counts->gpu[counts->n++] = gpu;
    return 0;
}

static int read_line(const struct reader *reader, char *line, struct comms_counted *counted)
{
    char *rest = text_one_line(line); /* names and reasons reach a terminal */
    const char *word = strsep(&rest, " ");
    if (reader->line == 1)
        return strcmp(word, "contend") == 0 && rest && strcmp(rest, "nvlink 1") == 0
                   ? 0
                   : refuse(reader, "no counters of 'contend comms', or of another version");
    if (rest && strcmp(word, "host") == 0)
        return (size_t)snprintf(counted->host, sizeof(counted->host), "%s", rest) <
                       sizeof(counted->host)
                   ? 0
                   : refuse(reader, "a host's name that is too long");
    if (rest && strcmp(word, "none") == 0) {
        (void)snprintf(counted->why, sizeof(counted->why), "%.159s", rest);
        return 0;
    }
    if (rest && strcmp(word, "boot") == 0)
        return comms_boot_parse(rest, counted->boot) ? 0 : refuse(reader, "no boot_id");
    if (rest && strcmp(word, "gpu") == 0)
        return read_gpu(reader, rest, &counted->counts);
    return refuse(reader, "a line of an unknown kind");
}

int comms_counted_parse(const char *name, char *text, struct comms_counted *counted,
                        struct err *err)
{
    struct reader reader = {.name = name, .err = err};
    int rc = 0;
    *counted = (struct comms_counted){0};
    for (char *line; !rc && (line = strsep(&text, "\n")) && (*line || text);) {
        reader.line++;
        rc = read_line(&reader, line, counted);
    }
    if (!rc && !counted->host[0])
        rc = refuse(&reader, "no host");
    return rc;
}

static int take_counters(void *into, const char *name, char *text, size_t size, struct err *err)
{
    struct comms_counters *counters = into;
    struct comms_counted *counted = array_add(counters->counted, counters->n, counters->capacity);
    (void)size;
    if (!counted)
        return err_set(err, -ENOMEM, "no memory for counters");
    int rc = comms_counted_parse(name, text, counted, err);
    counters->n -= rc != 0;
    return rc;
}

int comms_counters_read(const char *directory, struct comms_counters *counters,
                        struct comms_unread *unread, struct err *err)
{
    return comms_folder_read(directory, COMMS_COUNTERS_SUFFIX, FILE_MOST, take_counters, counters,
                             unread, err);
}

void comms_counters_free(struct comms_counters *counters)
{
    free(counters->counted);
    *counters = (struct comms_counters){0};
}
