#include "harness/comms/plugin/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* For each, in the order of the enumerations: NCCL's text, NCCL's number, the name that we show. */
struct comms_name {
    const char *text;
    size_t length; /* of the text */
    int number;    /* -1: interface 1 does not have it */
    const char *shown;
    uint32_t bytes;
};

#define TEXT(text) text, sizeof(text) - 1

static const struct comms_name funcs[COMMS_FUNCS] = {
    [COMMS_FUNC_OTHER] = {NULL, 0, -1, "other"},
    [COMMS_ALL_REDUCE] = {TEXT("AllReduce"), 4, "AllReduce"},
    [COMMS_ALL_GATHER] = {TEXT("AllGather"), 2, "AllGather"},
    [COMMS_REDUCE_SCATTER] = {TEXT("ReduceScatter"), 3, "ReduceScatter"},
    [COMMS_BROADCAST] = {TEXT("Broadcast"), 0, "Broadcast"},
    [COMMS_REDUCE] = {TEXT("Reduce"), 1, "Reduce"},
    [COMMS_ALL_TO_ALL] = {TEXT("AlltoAll"), -1, "AlltoAll"},
    [COMMS_GATHER] = {TEXT("Gather"), -1, "Gather"},
    [COMMS_SCATTER] = {TEXT("Scatter"), -1, "Scatter"},
    [COMMS_SEND] = {TEXT("Send"), 6, "Send"},
    [COMMS_RECV] = {TEXT("Recv"), 7, "Recv"},
};

static const struct comms_name datatypes[COMMS_TYPES] = {
    [COMMS_TYPE_OTHER] = {NULL, 0, -1, "other", 0},
    [COMMS_INT8] = {TEXT("ncclInt8"), 0, "int8", 1},
    [COMMS_UINT8] = {TEXT("Unknown"), 1, "uint8", 1},
    [COMMS_INT32] = {TEXT("ncclInt32"), 2, "int32", 4},
    [COMMS_UINT32] = {TEXT("ncclUint32"), 3, "uint32", 4},
    [COMMS_INT64] = {TEXT("ncclInt64"), 4, "int64", 8},
    [COMMS_UINT64] = {TEXT("ncclUint64"), 5, "uint64", 8},
    [COMMS_FLOAT16] = {TEXT("ncclFloat16"), 6, "float16", 2},
    [COMMS_FLOAT32] = {TEXT("ncclFloat32"), 7, "float32", 4},
    [COMMS_FLOAT64] = {TEXT("ncclFloat64"), 8, "float64", 8},
    [COMMS_BFLOAT16] = {TEXT("ncclBfloat16"), 9, "bfloat16", 2},
    [COMMS_FLOAT8E4M3] = {TEXT("ncclFloat8e4m3"), 10, "float8e4m3", 1},
    [COMMS_FLOAT8E5M2] = {TEXT("ncclFloat8e5m2"), 11, "float8e5m2", 1},
};

static const struct comms_name algos[COMMS_ALGOS] = {
    [COMMS_ALGO_OTHER] = {NULL, 0, -1, "other"},
    [COMMS_RING] = {TEXT("RING"), 1, "RING"},
    [COMMS_TREE] = {TEXT("TREE"), 0, "TREE"},
    [COMMS_COLLNET_DIRECT] = {TEXT("COLLNET_DIRECT"), 2, "COLLNET_DIRECT"},
    [COMMS_COLLNET_CHAIN] = {TEXT("COLLNET_CHAIN"), 3, "COLLNET_CHAIN"},
    [COMMS_NVLS] = {TEXT("NVLS"), 4, "NVLS"},
    [COMMS_NVLS_TREE] = {TEXT("NVLS_TREE"), 5, "NVLS_TREE"},
    [COMMS_PAT] = {TEXT("PAT"), 6, "PAT"},
    [COMMS_COPY_ENGINE] = {NULL, 0, -1, "COPY_ENGINE"},
    [COMMS_POINT_TO_POINT] = {NULL, 0, -1, "P2P"},
    [COMMS_CALLED] = {NULL, 0, -1, "CALLED"},
};

static const struct comms_name protos[COMMS_PROTOS] = {
    [COMMS_PROTO_OTHER] = {NULL, 0, -1, "-"},
    [COMMS_LL] = {TEXT("LL"), 0, "LL"},
    [COMMS_LL128] = {TEXT("LL128"), 1, "LL128"},
    [COMMS_SIMPLE] = {TEXT("SIMPLE"), 2, "SIMPLE"},
};

const struct comms_names comms_funcs = {funcs, COMMS_FUNCS};
const struct comms_names comms_datatypes = {datatypes, COMMS_TYPES};
const struct comms_names comms_algos = {algos, COMMS_ALGOS};
const struct comms_names comms_protos = {protos, COMMS_PROTOS};

uint32_t comms_name_find(const struct comms_names *names, const char *text)
{
    /* This runs in each call: texts of a table begin alike, but most differ in length. */
    size_t length = text ? strlen(text) : 0;
    for (uint32_t i = 1; length && i < names->n; i++)
        if (names->name[i].length == length && memcmp(names->name[i].text, text, length) == 0)
            return i;
    return 0;
}

uint32_t comms_name_numbered(const struct comms_names *names, unsigned number)
{
    for (uint32_t i = 1; i < names->n; i++)
        if (names->name[i].number == (int)number)
            return i;
    return 0;
}

const char *comms_func_name(uint32_t func)
{
    return func < COMMS_FUNCS ? funcs[func].shown : "?";
}

const char *comms_datatype_name(uint32_t datatype)
{
    return datatype < COMMS_TYPES ? datatypes[datatype].shown : "?";
}

const char *comms_algo_name(uint32_t algo)
{
    return algo < COMMS_ALGOS ? algos[algo].shown : "?";
}

const char *comms_proto_name(uint32_t proto)
{
    return proto < COMMS_PROTOS ? protos[proto].shown : "?";
}

uint32_t comms_datatype_bytes(uint32_t datatype)
{
    return datatype < COMMS_TYPES ? datatypes[datatype].bytes : 0;
}

void comms_host_find(char host[static COMMS_HOST_MAX])
{
    int before = errno;
    if (gethostname(host, COMMS_HOST_MAX) || !host[0])
        (void)strcpy(host, "host");
    host[COMMS_HOST_MAX - 1] = '\0';
    for (char *at = host; *at; at++)
        *at = (char)(*at == '/' || *at == '.' || (unsigned char)*at <= ' ' ? '-' : *at);
    errno = before;
}

static int digit_of(char text)
{
    return text >= '0' && text <= '9'   ? text - '0'
           : text >= 'a' && text <= 'f' ? text - 'a' + 10
                                        : -1;
}

bool comms_boot_parse(const char *text, uint8_t boot[static COMMS_BOOT_MAX])
{
    const size_t digits = (size_t)2 * COMMS_BOOT_MAX;
    size_t n = 0;
    memset(boot, 0, COMMS_BOOT_MAX);
    for (; *text && *text != '\n' && n < digits; text++) {
        int digit = digit_of(*text);
        if (digit < 0 && *text == '-')
            continue;
        if (digit < 0)
            break;
        boot[n / 2] = (uint8_t)(boot[n / 2] << 4 | digit);
        n++;
    }
    if (n == digits && (!*text || *text == '\n'))
        return true;
    memset(boot, 0, COMMS_BOOT_MAX);
    return false;
}

void comms_boot_find(uint8_t boot[static COMMS_BOOT_MAX])
{
    char text[64] = "";
    int before = errno;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    (void)comms_boot_parse(text, boot);
    errno = before;
}
