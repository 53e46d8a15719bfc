# Language, warnings, optimisation and hardening of every C source. nvcc's options are in cuda.cmake.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

# No -march=native: one binary runs on any machine. No -ffast-math: kernels are checked against a reference. No
# -DNDEBUG: a broken invariant must stop a measurement, not distort it.
# Frame pointers and names let users check a result with `perf record -g`. What measures is built with -O3 (below bench/
# and kernels/, CMakeLists.txt); the rest with -O1 and without -g, as the first build is what a new user waits for.
set(CMAKE_C_FLAGS_RELEASE "-O1 -fno-omit-frame-pointer")
set(CONTEND_MEASURED_OPTIONS $<$<AND:$<COMPILE_LANGUAGE:C>,$<CONFIG:Release>>:-O3>)
set(CMAKE_C_FLAGS_DEBUG "-Og -g3 -fno-omit-frame-pointer")

set(warnings
    -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef
    -Wformat=2 -Wno-missing-field-initializers)
if(CONTEND_WERROR)
    list(APPEND warnings -Werror)
endif()
foreach(warning IN LISTS warnings)
    add_compile_options($<$<COMPILE_LANGUAGE:C>:${warning}>)
endforeach()

add_compile_definitions(_GNU_SOURCE)

if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    # Without fused multiply-add, statistics match those of x86-64 to the last digit. Kernels may use it.
    add_compile_options($<$<COMPILE_LANGUAGE:C>:-ffp-contract=off>)
    set(CONTEND_KERNEL_OPTIONS $<$<COMPILE_LANGUAGE:C>:-ffp-contract=fast>)

    # gcc 12.2 (Debian 12) crashes on a maximum over converted values.
    include(CheckCSourceCompiles)
    set(CMAKE_REQUIRED_FLAGS -O3)
    check_c_source_compiles("
        double largest_of(const float *x, unsigned long n);
        double largest_of(const float *x, unsigned long n)
        {
            double largest = 0;
            for (unsigned long i = 0; i < n; i++)
                largest = __builtin_fmax(largest, x[i]);
            return largest;
        }
        int main(void) { return 0; }" CONTEND_LARGEST_IS_COMPILED)
    unset(CMAKE_REQUIRED_FLAGS)
    if(NOT CONTEND_LARGEST_IS_COMPILED)
        add_compile_options(
            -fno-builtin-fmax -fno-builtin-fmin -fno-builtin-fmaxf -fno-builtin-fminf)
    endif()
endif()

if(CONTEND_FUZZ)
    set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
    add_compile_options(${sanitize} -fsanitize=fuzzer-no-link -O1)
    add_link_options(${sanitize})
elseif(CONTEND_SANITIZE)
    set(sanitize -fsanitize=${CONTEND_SANITIZE} -fno-sanitize-recover=all)
    add_compile_options("$<$<COMPILE_LANGUAGE:C>:${sanitize}>")
    add_link_options(${sanitize})
else()
    # -U first: Ubuntu's gcc predefines another level, and redefining it is a warning.
    add_compile_options(
        $<$<COMPILE_LANGUAGE:C>:-fstack-protector-strong>
        "$<$<AND:$<COMPILE_LANGUAGE:C>,$<CONFIG:Release>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()

# Programs do not depend on the folder of the sources: equal sources give equal packages.
add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:C>,$<CONFIG:Release>>:-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=>")

include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
add_link_options(-Wl,-z,relro,-z,now -Wl,--as-needed)
