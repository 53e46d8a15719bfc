#include "harness/comms/plugin/host.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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
