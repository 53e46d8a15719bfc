# Finds nvcc and says, in one line, whether the GPU parts are built.
#
# Sets CONTEND_HAVE_CUDA. If that is ON, also defines the target contend_cudart: the CUDA runtime, linked statically, so
# that the same program runs without a driver. The driver API and NVML are never linked; they are loaded when needed.

set(CONTEND_HAVE_CUDA OFF)
set(CONTEND_CUDA_REASON "CONTEND_CUDA is OFF")

if(CONTEND_CUDA)
    find_program(CONTEND_NVCC nvcc PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
                 PATH_SUFFIXES bin)
    mark_as_advanced(CONTEND_NVCC)
    # CUDA 11.8 is the first with fp8 (cuda_fp8.h), Ada (sm_89) and Hopper (sm_90).
    set(least_release 11.8)
    if(CONTEND_NVCC)
        execute_process(COMMAND "${CONTEND_NVCC}" --version OUTPUT_VARIABLE said ERROR_QUIET)
        string(REGEX MATCH "release ([0-9]+[.][0-9]+)" said "${said}")
    endif()
    if(NOT CONTEND_NVCC)
        set(CONTEND_CUDA_REASON "no nvcc on PATH or in /usr/local/cuda")
    elseif(said AND CMAKE_MATCH_1 VERSION_LESS least_release)
        string(CONCAT CONTEND_CUDA_REASON
               "${CONTEND_NVCC} is of CUDA ${CMAKE_MATCH_1}, and ${least_release} or later is "
               "needed: the first with fp8 (cuda_fp8.h) and with code for Ada and Hopper")
    else()
        # An older CMake does not know the newest architectures, so -arch tells nvcc directly.
        set(CMAKE_CUDA_ARCHITECTURES OFF)
        set(CMAKE_CUDA_RUNTIME_LIBRARY None)
        if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
            set(ENV{CUDACXX} "${CONTEND_NVCC}")
        endif()
        include(CheckLanguage)
        check_language(CUDA)
        if(NOT CMAKE_CUDA_COMPILER)
            string(CONCAT CONTEND_CUDA_REASON
                   "${CONTEND_NVCC} does not work with this C++ compiler; to try another, "
                   "remove ${CMAKE_BINARY_DIR} and set CUDAHOSTCXX")
        else()
            enable_language(CUDA)
            # What the program links in addition comes with other packages than nvcc.
            cmake_path(GET CMAKE_CUDA_COMPILER PARENT_PATH cuda_bin)
            cmake_path(GET cuda_bin PARENT_PATH cuda_root)
            find_library(CONTEND_CUDART_STATIC cudart_static
                         HINTS ${cuda_root} ${CMAKE_CUDA_HOST_IMPLICIT_LINK_DIRECTORIES}
                         PATH_SUFFIXES lib64 targets/x86_64-linux/lib lib)
            mark_as_advanced(CONTEND_CUDART_STATIC)
            execute_process(COMMAND "${CMAKE_C_COMPILER}" -print-file-name=libsupc++.a
                            OUTPUT_VARIABLE supcxx OUTPUT_STRIP_TRAILING_WHITESPACE)
        endif()
        if(CMAKE_CUDA_COMPILER AND NOT CONTEND_CUDART_STATIC)
            set(CONTEND_CUDA_REASON "no libcudart_static.a beside ${CONTEND_NVCC}: install cuda-cudart-dev")
        elseif(CMAKE_CUDA_COMPILER AND NOT IS_ABSOLUTE "${supcxx}")
            set(CONTEND_CUDA_REASON "no libsupc++.a: install g++")
        elseif(CMAKE_CUDA_COMPILER)
            # contend_cudart links instead, from an archive, the few parts of C++ that nvcc's launch stubs need.
            set(CMAKE_CUDA_IMPLICIT_LINK_LIBRARIES "")
            set(CONTEND_HAVE_CUDA ON)
        endif()
    endif()
endif()

# nvcc's flags for the GPUs of this machine: code for each kind of GPU, and intermediate code for newer ones. Without a
# GPU that nvcc knows: the oldest intermediate code, which every driver as new as nvcc can translate.
function(contend_gpu_flags flags)
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader TIMEOUT 30
                    OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE status)
    execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
    string(REGEX MATCHALL "compute_[0-9]+" known "${known}")
    set(kinds "")
    if(status EQUAL 0)
        string(REGEX MATCHALL "[0-9]+[.][0-9]" found "${found}")
        list(TRANSFORM found REPLACE "^([0-9]+)[.]" "\\1")
        list(SORT found COMPARE NATURAL)
        list(REMOVE_DUPLICATES found)
        foreach(kind IN LISTS found)
            if("compute_${kind}" IN_LIST known)
                list(APPEND kinds ${kind})
            endif()
        endforeach()
    endif()
    set(made "")
    foreach(kind IN LISTS kinds)
        list(APPEND made "-gencode=arch=compute_${kind},code=sm_${kind}")
    endforeach()
    if(kinds)
        list(GET kinds -1 newest)
        list(APPEND made "-gencode=arch=compute_${newest},code=compute_${newest}")
    elseif(known)
        list(GET known 0 oldest)
        list(APPEND made "-arch=${oldest}")
    endif()
    message(STATUS "contend: device code for ${made}")
    set(${flags} "${made}" PARENT_SCOPE)
endfunction()

if(CONTEND_HAVE_CUDA)
    find_package(Threads REQUIRED)
    add_library(contend_cudart INTERFACE)
    target_include_directories(contend_cudart SYSTEM INTERFACE
                               ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
    target_compile_definitions(contend_cudart INTERFACE CONTEND_HAVE_CUDA=1
        "CONTEND_CUDA_VERSION=\"${CMAKE_CUDA_COMPILER_VERSION}\"")
    target_link_libraries(contend_cudart INTERFACE
                          ${CONTEND_CUDART_STATIC} -l:libsupc++.a Threads::Threads
                          ${CMAKE_DL_LIBS} rt)

    set(CMAKE_CUDA_STANDARD 17)
    # Neither -lineinfo nor temporary files elsewhere: their paths would be in the program.
    set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -objtemp")
    set(CMAKE_CUDA_FLAGS_DEBUG "-O1 -g -lineinfo")
    set(gpu_flags "-arch=${CONTEND_GPU_CODE}")
    if(CONTEND_GPU_CODE STREQUAL "")
        contend_gpu_flags(gpu_flags)
    endif()
    add_compile_options(
        "$<$<COMPILE_LANGUAGE:CUDA>:${gpu_flags};-Wno-deprecated-gpu-targets;-Xcompiler=-Wall,-fno-exceptions,-fno-rtti>")
    # The matrix products are built only if cublasLt.h exists.
    set(CONTEND_HAVE_CUBLASLT OFF)
    file(WRITE "${CMAKE_BINARY_DIR}/cublaslt.cu" "#include <cublasLt.h>\n")
    separate_arguments(cuda_flags UNIX_COMMAND "${CMAKE_CUDA_FLAGS}")
    if(CMAKE_CUDA_HOST_COMPILER)
        list(APPEND cuda_flags -ccbin "${CMAKE_CUDA_HOST_COMPILER}")
    endif()
    execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" ${cuda_flags} -E "${CMAKE_BINARY_DIR}/cublaslt.cu"
                    RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
        set(CONTEND_HAVE_CUBLASLT ON)
        target_compile_definitions(contend_cudart INTERFACE CONTEND_HAVE_CUBLASLT=1)
    endif()
    message(STATUS "contend: GPU parts are built, with ${CMAKE_CUDA_COMPILER} "
                   "${CMAKE_CUDA_COMPILER_VERSION}")
else()
    message(STATUS "contend: GPU parts are not built (${CONTEND_CUDA_REASON}): a CPU-only program")
endif()
