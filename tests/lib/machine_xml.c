/* machine_xml NAME: prints the XML of a machine of fixture_machines.c, for tests of the program. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/fixture_machines.h"

int main(int argc, char **argv)
{
    const struct fixture_machine *machine = argc == 2 ? fixture_machine(argv[1]) : NULL;
    if (machine) {
        char *text = fixture_machine_xml(machine);
        int rc = fputs(text, stdout) < 0;
        free(text);
        return rc;
    }
    for (machine = fixture_machines; machine->name; machine++)
        (void)fprintf(stderr, "%-26s %s\n", machine->name, machine->is);
    return 2;
}
