#include "harness/lib/sys/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The value of COLUMNS; 0 = unset, or not a number up to 9999. */
static unsigned wanted_columns(void)
{
    const char *text = getenv("COLUMNS");
    char *end = NULL;
    unsigned long columns = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    return end && !*end && columns <= 9999 ? (unsigned)columns : 0;
}

unsigned terminal_columns(int fd)
{
    struct winsize size = {0};
    if (!isatty(fd))
        return 0;
    unsigned there = ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_col, wanted = wanted_columns();
    return there && (!wanted || there < wanted) ? there : wanted;
}

unsigned terminal_rows(int fd)
{
    struct winsize size = {0};
    return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) ? size.ws_row : 0;
}

bool terminal_has_escapes(int fd)
{
    const char *name = getenv("TERM");
    return isatty(fd) && name && *name && strcmp(name, "dumb") != 0;
}

bool terminal_has_color(int fd)
{
    const char *no_color = getenv("NO_COLOR");
    return terminal_has_escapes(fd) && !(no_color && *no_color);
}
