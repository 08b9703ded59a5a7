# How a room of the code base becomes a target.
#
#   xdc_room(NAME SOURCES a.cpp b.cpp USES xdc_base fmt::fmt)     a static library, or INTERFACE without sources
#   xdc_test(NAME SOURCES a.cpp USES xdc_base [LABELS gpu] [PREFIX "gpu: "])   a Catch2 executable whose cases ctest knows one by one
#   xdc_bench(NAME SOURCES a.cpp USES ...)                        a program that prints figures; ctest never runs it
#
# A room sees the headers of the rooms it USES and no others: that is how the dependency rule of the README is kept.

find_package(fmt REQUIRED)
find_package(Threads REQUIRED)

add_library(xdc_options INTERFACE)
target_compile_features(xdc_options INTERFACE cxx_std_20)
target_include_directories(xdc_options INTERFACE ${CMAKE_SOURCE_DIR})
# -ffp-contract=off: a fused multiply-add rounds once where two operations round twice, so bits would depend on the compiler.
target_compile_options(xdc_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -ffp-contract=off>)
set(CMAKE_CXX_EXTENSIONS OFF)
# Every translation unit keeps the same meaning of XDC_CHECK in every build type; assert() is not used.
if(XDC_SANITIZE)
  # Instrumented, GCC 12 takes the standard library's own <regex> and <functional> for uninitialised.
  target_compile_options(xdc_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_compile_options(xdc_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${XDC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  target_link_options(xdc_options INTERFACE -fsanitize=${XDC_SANITIZE})
endif()

function(xdc_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES" ${ARGN})
  if(ROOM_SOURCES)
    add_library(${name} STATIC ${ROOM_SOURCES})
    target_link_libraries(${name} PUBLIC xdc_options ${ROOM_USES})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE xdc_options ${ROOM_USES})
  endif()
endfunction()

function(xdc_test name)
  cmake_parse_arguments(T "" "PREFIX" "SOURCES;USES;LABELS" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE xdc_options xdc_test_main ${T_USES})
  target_compile_definitions(${name} PRIVATE XDC_SOURCE_DIR="${CMAKE_SOURCE_DIR}" XDC_BINARY_DIR="${CMAKE_BINARY_DIR}")
  set(properties TIMEOUT 300)
  if(T_LABELS)
    list(APPEND properties LABELS "${T_LABELS}")
  endif()
  if("gpu" IN_LIST T_LABELS)
    # What such a test prints where there is no GPU: skipped, with the reason, and not passed.
    list(APPEND properties SKIP_REGULAR_EXPRESSION "xdc skipped: ")
  endif()
  catch_discover_tests(${name} TEST_PREFIX "${T_PREFIX}" PROPERTIES ${properties})
endfunction()

function(xdc_bench name)
  cmake_parse_arguments(B "" "" "SOURCES;USES" ${ARGN})
  add_executable(${name} ${B_SOURCES})
  target_link_libraries(${name} PRIVATE xdc_options ${B_USES})
  target_compile_definitions(${name} PRIVATE XDC_SOURCE_DIR="${CMAKE_SOURCE_DIR}" XDC_BINARY_DIR="${CMAKE_BINARY_DIR}")
endfunction()
