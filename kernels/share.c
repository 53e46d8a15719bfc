#include "kernels/share.h"

void share_count(volatile uint8_t *counter, uint32_t writes)
{
    for (uint32_t i = 0; i < writes; i++)
        *counter = (uint8_t)(*counter + 1);
}
