#!/bin/sh
# Makes the checked-in fatbins again (CUDA 13.0).
set -e
cd "$(dirname "$0")"
nvcc -fatbin -arch=sm_90 --compress-mode=default -o zstd.fatbin scale.cu
nvcc -fatbin -arch=sm_90 --compress-mode=speed -o lz4.fatbin scale.cu
nvcc -fatbin -arch=sm_90 --compress-mode=none -o plain.fatbin scale.cu
nvcc -fatbin -gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=compute_90 \
     -gencode arch=compute_90a,code=compute_90a -gencode arch=compute_100f,code=compute_100f \
     -gencode arch=compute_120,code=compute_120 -o many.fatbin scale.cu
nvcc -fatbin -gencode arch=compute_90,code=sm_90 -o sass.fatbin scale.cu
nvcc -ptx -arch=sm_90 -o scale.ptx scale.cu
ptxas -arch=sm_90 -lineinfo -o lineinfo.cubin scale.ptx
rm scale.ptx
