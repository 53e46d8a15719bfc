/* Does in the host's memory what the kernels of gpu_matmul_data.cu do: these GPUs are threads. */
#include "fake_stream.h"
#include "kernels/matmul/gpu_matmul_data.cuh"
#include "tests/lib/fixture_product.h"

static product product_of(const matmul_data *data)
{
    return {data->type,
            data->shape,
            data->seed,
            matmul_storage_in(data->type),
            matmul_storage_out(data->type),
            data->a,
            data->b,
            data->c};
}

cudaError_t matmul_data_fill(const matmul_data *data)
{
    product p = product_of(data);
    fake_enqueue(data->stream, [=] { product_fill(&p); });
    return cudaSuccess;
}

int matmul_data_residuals(const matmul_data *data, freivalds *sums, struct err *)
{
    product p = product_of(data);
    (void)cudaStreamSynchronize(data->stream);
    *sums = product_sums(&p);
    return 0;
}
