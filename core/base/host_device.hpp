// How is a small function written once for the CPU and for a GPU? With this in front of it: a CPU's loop must have it inlined,
// to be compiled for the processor that the loop is compiled for, and CUDA must be told that it is for both.
#pragma once

#ifdef __CUDACC__
#define XDC_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define XDC_HOST_DEVICE [[gnu::always_inline]] inline
#endif
