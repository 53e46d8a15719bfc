/* Small files of /proc and /sys, looked up under `root`: "" or, in tests, what stands for "/". */
#ifndef CONTEND_ENV_FILES_H
#define CONTEND_ENV_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct env_cgroup;

/* Cut to fit. */
void env_copy_text(char *out, size_t size, const char *text);

/* The file's first size - 1 bytes without trailing white space; false and "" when unreadable. */
bool env_read_text(const char *root, const char *path, char *out, size_t size);

/* The file's whole content is one number, else NaN. */
double env_read_number(const char *root, const char *path);

/*
 * Finds the first line "NAME<separator>value" of a file and copies the value, without the quotes
 * of os-release. Reads line by line, as /proc/cpuinfo of a large machine has megabytes.
 */
bool env_read_field(const char *root, const char *path, const char *name, char separator, char *out,
                    size_t size);

/* Limits of this process's cgroups, of both versions; NaN and "" where there is none. */
void env_read_cgroup(const char *root, struct env_cgroup *cgroup);

#endif
