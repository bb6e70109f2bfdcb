# How eGPU's targets are made: one function per kind, so that every directory's
# CMakeLists.txt is a list of files.

find_package(Threads REQUIRED)
find_package(GTest REQUIRED)

add_library(egpu_options INTERFACE)
target_include_directories(egpu_options INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
target_compile_options(egpu_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                       $<$<BOOL:${EGPU_WERROR}>:-Werror>)

# What is tested has every sanitizer. The code of the tests themselves has not UBSan, which doubles the time
# that GoogleTest's macros take to compile.
add_library(egpu_sanitize INTERFACE)
add_library(egpu_sanitize_test INTERFACE)
if(EGPU_SANITIZE)
  string(REGEX REPLACE ",?undefined" "" test_sanitizers "${EGPU_SANITIZE}")
  target_compile_options(egpu_sanitize INTERFACE -fsanitize=${EGPU_SANITIZE})
  target_compile_options(egpu_sanitize_test INTERFACE $<$<BOOL:${test_sanitizers}>:-fsanitize=${test_sanitizers}>)
  foreach(kind egpu_sanitize egpu_sanitize_test)
    target_compile_options(${kind} INTERFACE -fno-omit-frame-pointer -fno-sanitize-recover=all
                           # GCC 12 sees these in the sanitizers' own code paths through libstdc++.
                           -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-restrict)
    target_link_options(${kind} INTERFACE -fsanitize=${EGPU_SANITIZE})
  endforeach()
endif()

# egpu_declares_options(SOURCES...): files that hold little else than uses of CLI11, whose templates compile
# in half the time without UBSan.
function(egpu_declares_options)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -fno-sanitize=undefined)
endfunction()

# egpu_library(NAME SOURCES... [DEPENDS...]): a static library of the project.
function(egpu_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC egpu_options ${arg_DEPENDS} PRIVATE egpu_sanitize)
endfunction()

# egpu_program(NAME SOURCES... [DEPENDS...]): a program in bin/.
function(egpu_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE egpu_options egpu_sanitize ${arg_DEPENDS})
  if(EGPU_PORTABLE)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
    # Zydis, which Debian has as a shared library only, travels in lib/ (scripts/package.sh).
    set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN/../lib" INSTALL_RPATH "$ORIGIN/../lib")
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()

# egpu_tool(NAME SOURCES... [DEPENDS...]): a program that is installed.
function(egpu_tool name)
  egpu_program(${name} ${ARGN})
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()

# egpu_test(NAME SOURCES... [DEPENDS...]): a GoogleTest program, one ctest per test case.
function(egpu_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)  # each file has its own Row and Case
  target_link_libraries(${name} PRIVATE egpu_options egpu_sanitize_test ${arg_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE EGPU_SOURCE_DIR="${CMAKE_SOURCE_DIR}" EGPU_BINARY_DIR="${CMAKE_BINARY_DIR}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()
