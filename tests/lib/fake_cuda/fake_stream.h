/* How fake_nccl.cu puts work on a stream of fake_gpus.cu: done there in its turn, or captured. */
#ifndef CONTEND_TESTS_LIB_FAKE_CUDA_FAKE_STREAM_H
#define CONTEND_TESTS_LIB_FAKE_CUDA_FAKE_STREAM_H

#include <functional>

#include <cuda_runtime.h>

void fake_enqueue(cudaStream_t stream, std::function<void()> task);

#endif
