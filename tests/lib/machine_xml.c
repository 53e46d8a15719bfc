/* machine_xml NAME: the XML of a machine of fixture_machines.c, for tests of the program. */
#include <stdio.h>

#include "tests/lib/fixture_machines.h"

int main(int argc, char **argv)
{
    const struct fixture_machine *machine = argc == 2 ? fixture_machine(argv[1]) : NULL;
    if (machine)
        return fputs(fixture_machine_xml(machine), stdout) < 0;
    for (machine = fixture_machines; machine->name; machine++)
        (void)fprintf(stderr, "%-26s %s\n", machine->name, machine->is);
    return 2;
}
