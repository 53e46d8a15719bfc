/* How fake_nccl.cu queues work on a stream of fake_gpus.cu: the stream does it in order, or
 * captures it. */
#ifndef CONTEND_TESTS_LIB_FAKE_CUDA_FAKE_STREAM_H
#define CONTEND_TESTS_LIB_FAKE_CUDA_FAKE_STREAM_H

#include <functional>

#include <cuda_runtime.h>

void fake_enqueue(cudaStream_t stream, std::function<void()> task);

#endif
