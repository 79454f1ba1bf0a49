# Kernels of the device `cuda`, compiled by nvcc when it is there into one file for many GPUs (machine code for each architecture, and
# PTX of the lowest for those yet to come), which src/device/gpu_image.c takes into the library. Nothing links to CUDA.
option(HOPCAST_CUDA "Compile the reduction kernels when nvcc is found" ON)
set(HOPCAST_CUDA_ARCHITECTURES 70 75 80 90 100 120 CACHE STRING "GPU architectures to compile for; those nvcc does not know are left out")
set(HOPCAST_CUDA_MISSING "")
if(HOPCAST_CUDA)
  find_program(HOPCAST_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES bin)
endif()
if(NOT HOPCAST_CUDA)
  set(HOPCAST_CUDA_MISSING "HOPCAST_CUDA is off")
elseif(NOT HOPCAST_NVCC)
  set(HOPCAST_CUDA_MISSING "nvcc not found")
else()
  # It may be there and still not work, for want of a host compiler that it accepts.
  set(HOPCAST_CUDA_TRIAL ${CMAKE_CURRENT_BINARY_DIR}/cuda_trial)
  file(CONFIGURE OUTPUT ${HOPCAST_CUDA_TRIAL}.cu CONTENT "extern \"C\" __global__ void trial(float *x) { *x = 1; }\n")
  execute_process(COMMAND ${HOPCAST_NVCC} --list-gpu-arch OUTPUT_VARIABLE HOPCAST_CUDA_KNOWN ERROR_QUIET)
  set(HOPCAST_CUDA_USED)
  foreach(number ${HOPCAST_CUDA_ARCHITECTURES})
    if(HOPCAST_CUDA_KNOWN MATCHES "compute_${number}[\r\n]")
      list(APPEND HOPCAST_CUDA_USED ${number})
    endif()
  endforeach()
  list(GET HOPCAST_CUDA_USED 0 HOPCAST_CUDA_LOWEST)
  execute_process(COMMAND ${HOPCAST_NVCC} -fatbin -arch=sm_${HOPCAST_CUDA_LOWEST} -o ${HOPCAST_CUDA_TRIAL}.fatbin ${HOPCAST_CUDA_TRIAL}.cu
                  RESULT_VARIABLE HOPCAST_CUDA_FAILED OUTPUT_QUIET ERROR_VARIABLE HOPCAST_CUDA_WHY)
  if(NOT HOPCAST_CUDA_FAILED EQUAL 0)
    set(HOPCAST_CUDA_MISSING "${HOPCAST_NVCC} does not work: ${HOPCAST_CUDA_WHY}")
  endif()
endif()

if(HOPCAST_CUDA_MISSING)
  message(STATUS "${HOPCAST_CUDA_MISSING}: reductions on a GPU will be refused")
else()
  set(HOPCAST_CUDA_CODES -gencode arch=compute_${HOPCAST_CUDA_LOWEST},code=compute_${HOPCAST_CUDA_LOWEST})
  foreach(number ${HOPCAST_CUDA_USED})
    list(APPEND HOPCAST_CUDA_CODES -gencode arch=compute_${number},code=sm_${number})
  endforeach()
  set(HOPCAST_CUDA_FATBIN ${CMAKE_CURRENT_BINARY_DIR}/gpu_reduce.fatbin)
  add_custom_command(OUTPUT ${HOPCAST_CUDA_FATBIN}
    COMMAND ${HOPCAST_NVCC} -fatbin -Xfatbin -compress-all -std=c++17 -O3 -fmad=false ${HOPCAST_CUDA_CODES} -I${PROJECT_SOURCE_DIR}/src
            -o ${HOPCAST_CUDA_FATBIN} ${PROJECT_SOURCE_DIR}/src/device/gpu_reduce.cu
    DEPENDS ${PROJECT_SOURCE_DIR}/src/device/gpu_reduce.cu ${PROJECT_SOURCE_DIR}/src/device/gpu_reduce.h
    COMMENT "CUDA kernels for sm_${HOPCAST_CUDA_USED}" VERBATIM)
  set_source_files_properties(src/device/gpu_image.c PROPERTIES COMPILE_DEFINITIONS "HOP_GPU_IMAGE_CUDA=\"${HOPCAST_CUDA_FATBIN}\""
                              OBJECT_DEPENDS ${HOPCAST_CUDA_FATBIN})
  message(STATUS "nvcc found: reduction kernels for sm_${HOPCAST_CUDA_USED}")
endif()
