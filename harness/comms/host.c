#include "harness/comms/host.h"

#include <errno.h>
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
