#include "harness/doctor/cure.h"

#include <stdio.h>
#include <string.h>

static const char name_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
/* What a shell takes as it stands. */
static const char value_characters[] = "abcdefghijklmnopqrstuvwxyz"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:-+/@{}%";

static bool has_name(const struct cure *cure, const char *word, size_t length)
{
    for (size_t i = 0; i < cure->n; i++)
        if (strncmp(cure->env[i], word, length) == 0 &&
            (cure->env[i][length] == '=' || !cure->env[i][length]))
            return true;
    return false;
}

static void add(struct cure *cure, const char *word, size_t name, size_t length)
{
    if (has_name(cure, word, name) || cure->n == CURE_MOST ||
        cure->used + length >= sizeof(cure->text))
        return;
    char *to = cure->text + cure->used;
    memcpy(to, word, length);
    to[length] = '\0';
    cure->env[cure->n++] = to;
    cure->used += length + 1;
}

/* The words behind "export " or "unset ". */
static void add_words(struct cure *cure, const char *at, bool exports)
{
    for (;;) {
        at += strspn(at, " ");
        size_t name = strspn(at, name_characters), length = name;
        if (name && exports && at[name] == '=')
            length += 1 + strspn(at + name + 1, value_characters);
        if (!name || exports != (length > name) || (at[length] && !strchr(" ;&\n\\", at[length])))
            return;
        add(cure, at, name, length);
        at += length;
    }
}

/* What settings stand behind, in a shell and in the lines of launchers. */
static const struct {
    const char *text;
    bool exports; /* else they are unset */
} verbs[] = {
    {"export ", true}, {"unset ", false},         {"-x ", true},
    {"-e ", true},     {"\\nEnvironment=", true}, {"kubectl set env deployment/NAME ", true}};

/* A word of the line, and no part of one or of a text in quotes. */
static bool begins(const char *line, const char *at)
{
    return at == line || strchr(" ;&\n", at[-1]) || at[0] == '\\';
}

static void add_command(struct cure *cure, const char *command)
{
    add_words(cure, command, true); /* "NAME=VALUE python3 train.py" */
    for (const char *at = command; *at; at++)
        for (size_t v = 0; v < sizeof(verbs) / sizeof(verbs[0]); v++)
            if (strncmp(at, verbs[v].text, strlen(verbs[v].text)) == 0 && begins(command, at))
                add_words(cure, at + strlen(verbs[v].text), verbs[v].exports);
}

void cure_make(const struct diagnosis *diagnosis, struct cure *cure)
{
    *cure = (struct cure){0};
    for (size_t i = 0; i < diagnosis->n; i++)
        add_command(cure, diagnosis->all[i].finding.command);
}

char *cure_format(const struct cure *cure, char *buf, size_t size)
{
    bool exports = false, unsets = false;
    buf[0] = '\0';
    for (size_t i = 0; i < cure->n; i++)
        if (strchr(cure->env[i], '=')) {
            (void)check_append(buf, size, "%s %s", exports ? "" : "export", cure->env[i]);
            exports = true;
        }
    for (size_t i = 0; i < cure->n; i++)
        if (!strchr(cure->env[i], '=')) {
            (void)check_append(buf, size, "%s %s",
                               unsets    ? ""
                               : exports ? " && unset"
                                         : "unset",
                               cure->env[i]);
            unsets = true;
        }
    return buf;
}
