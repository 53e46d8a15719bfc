/* Small files of /proc and /sys. `root` is "", or in tests a directory in place of "/". */
#ifndef CONTEND_LIB_SYS_PROC_H
#define CONTEND_LIB_SYS_PROC_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/bitset.h"

enum { PROC_TEXT_MAX = 128 };

/* Copies text, cut to size. */
void proc_copy_text(char *out, size_t size, const char *text);

/*
 * Reads the file's first size - 1 bytes, without trailing white space. False and "": unreadable or
 * empty. This function and the next three format the path as printf does.
 */
bool proc_read_text(const char *root, char *out, size_t size, const char *path, ...)
    __attribute__((format(printf, 4, 5)));

/* proc_read_text into an array. */
#define PROC_TEXT(root, out, ...) proc_read_text(root, out, sizeof(out), __VA_ARGS__)

/* Reads a file whose whole content is one number; else NaN. */
double proc_read_number(const char *root, const char *path, ...)
    __attribute__((format(printf, 2, 3)));
/* Reads the number of the line "NAME<separator>NUMBER"; NaN = no such line. */
double proc_read_count(const char *root, const char *name, char separator, const char *path, ...)
    __attribute__((format(printf, 4, 5)));
/* Reads a list such as "0-3,8"; false and an empty set: no such file, or no list. */
bool proc_read_list(const char *root, struct bitset *set, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
/* A field of /proc/meminfo in bytes; NaN = unknown. */
double proc_read_memory_bytes(const char *root, const char *name);

/*
 * Finds the first line "NAME<separator>value" of a file and copies the value, without the quotes
 * of os-release. Reads line by line: /proc/cpuinfo of a large machine has megabytes. False and "":
 * no such line or an empty value.
 */
bool proc_read_field(const char *root, const char *path, const char *name, char separator,
                     char *out, size_t size);

/*
 * Finds the line "NAME: VALUE" or "NAME VALUE" in the text of a file. Returns the start of VALUE;
 * NULL = no such line.
 */
const char *proc_find(const char *text, const char *name);
/* The same for a number; NaN = no such line. For a list such as "0-3,8": false and an empty set. */
double proc_find_number(const char *text, const char *name);
bool proc_find_list(const char *text, const char *name, struct bitset *set);

/* Total of the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234" of a PSI file, in s; NaN.
 */
double proc_read_pressure_s(const char *root, const char *path);

/* Times of a CPU; idle includes waits for input and output. */
enum { PROC_USER, PROC_NICE, PROC_SYSTEM, PROC_IDLE, PROC_IRQ, PROC_STEAL, PROC_TIMES };
/*
 * Parses a line "cpu3 user nice system idle iowait irq softirq steal ..." of /proc/stat. *os_cpu:
 * -1 for the sum of all CPUs. False: another line.
 */
bool proc_parse_cpu(const char *line, int *os_cpu, double times_s[static PROC_TIMES]);

#endif
