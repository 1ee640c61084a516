# takt_unity(TARGET): its sources are compiled twelve at a time. Two thirds of the time of compiling one
# goes into the headers, which they share: the whole build takes a third of the time. Names in anonymous
# namespaces must differ within a folder therefore; `./dev lint deep` compiles each source alone, so that
# one that misses an include is found. Not by CMake's UNITY_BUILD: that names the sources by absolute paths, and
# nothing would come from the compiler's cache in another clone. Sources with definitions of their own stay alone.
function(takt_unity target)
  if(NOT TAKT_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(alone "")
  set(together "")
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${source} made)
    if(definitions OR made)
      list(APPEND alone ${source})
    else()
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
      list(APPEND together ${source})
    endif()
  endforeach()
  set(number 0)
  while(together)
    list(SUBLIST together 0 12 batch)
    list(REMOVE_ITEM together ${batch})
    list(TRANSFORM batch REPLACE "(.+)" "#include \"\\1\"\n")
    string(JOIN "" text ${batch})
    set(file ${CMAKE_CURRENT_BINARY_DIR}/unity/${target}_${number}.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    list(APPEND alone ${file})
    math(EXPR number "${number} + 1")
  endwhile()
  set_target_properties(${target} PROPERTIES SOURCES "${alone}")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()

# takt_library(DIR DEPENDS …): the library takt_DIR of src/DIR/*.cc, and the test program DIR_test of
# src/DIR/*_test.cc and *_testing.cc. Slashes become underscores. A folder without sources is only a set of
# headers. WITHOUT: sources that another library has.
# TEST_WHOLE: the test program is one test of ctest's, because its tests share a server that is slow to
# start.
function(takt_library dir)
  cmake_parse_arguments(ARG "TEST_WHOLE" "" "DEPENDS;TEST_DEPENDS;WITHOUT" ${ARGN})
  string(REPLACE "/" "_" name ${dir})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${dir}/*.cc)
  list(TRANSFORM ARG_WITHOUT PREPEND ${PROJECT_SOURCE_DIR}/src/${dir}/)
  if(ARG_WITHOUT)
    list(REMOVE_ITEM sources ${ARG_WITHOUT})
  endif()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_testing|/main)\\.cc$")
  list(FILTER tests INCLUDE REGEX "(_test|_testing)\\.cc$")
  if(sources)
    add_library(takt_${name} STATIC ${sources})
    target_include_directories(takt_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src
                                                   ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(takt_${name} PUBLIC ${ARG_DEPENDS})
    takt_unity(takt_${name})
  else()
    add_library(takt_${name} INTERFACE)
    target_include_directories(takt_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(takt_${name} INTERFACE ${ARG_DEPENDS})
  endif()
  if(TAKT_TESTING AND tests)
    set(whole "")
    if(ARG_TEST_WHOLE)
      set(whole WHOLE TIMEOUT 300)
    endif()
    takt_test(${name}_test SOURCES ${tests} DEPENDS takt_${name} ${ARG_TEST_DEPENDS} ${whole})
  endif()
endfunction()

# takt_part(NAME DIR SOURCE… DEPENDS …): the library takt_NAME of some sources of src/DIR, for who must not
# have the others; takt_library(DIR WITHOUT …) has those.
function(takt_part name dir)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  list(TRANSFORM ARG_UNPARSED_ARGUMENTS PREPEND ${PROJECT_SOURCE_DIR}/src/${dir}/ OUTPUT_VARIABLE sources)
  add_library(takt_${name} STATIC ${sources})
  target_include_directories(takt_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(takt_${name} PUBLIC ${ARG_DEPENDS})
endfunction()

# takt_test(NAME SOURCES … DEPENDS …): a GoogleTest program; each of its tests is one of ctest's, or with
# WHOLE the program.
function(takt_test name)
  cmake_parse_arguments(ARG "WHOLE" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  # What is tested is optimised; the tests themselves need not be, and compile twice as fast so.
  target_compile_options(${name} PRIVATE -O0 -U_FORTIFY_SOURCE)
  takt_unity(${name})
  if(ARG_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
    return()
  endif()
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST
                       PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()

# Whatever sources include and no one wrote by hand.
add_custom_target(generated)

# takt_proto(NAME): the library takt_proto_NAME of proto/NAME.proto; include "NAME.pb.h".
function(takt_proto name)
  set(out ${PROJECT_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(
    OUTPUT ${out}/${name}.pb.cc ${out}/${name}.pb.h
    COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR}/proto --cpp_out=${out} ${name}.proto
    DEPENDS ${PROJECT_SOURCE_DIR}/proto/${name}.proto)
  add_library(takt_proto_${name} STATIC ${out}/${name}.pb.cc)
  target_include_directories(takt_proto_${name} SYSTEM PUBLIC ${out})
  target_link_libraries(takt_proto_${name} PUBLIC protobuf::libprotobuf)
  add_dependencies(generated takt_proto_${name})
endfunction()

# takt_grpc_proto(NAME): as takt_proto, with the client and server classes in "NAME.grpc.pb.h".
function(takt_grpc_proto name)
  takt_proto(${name})
  set(out ${PROJECT_BINARY_DIR}/proto)
  find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
  add_custom_command(
    OUTPUT ${out}/${name}.grpc.pb.cc ${out}/${name}.grpc.pb.h
    COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR}/proto --grpc_out=${out}
            --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} ${name}.proto
    DEPENDS ${PROJECT_SOURCE_DIR}/proto/${name}.proto)
  target_sources(takt_proto_${name} PRIVATE ${out}/${name}.grpc.pb.cc)
  target_link_libraries(takt_proto_${name} PUBLIC PkgConfig::grpc)
endfunction()

# takt_fuzz(NAME DEPENDS …): the libFuzzer program NAME_fuzz of tests/fuzz/NAME_fuzz.cc. Configure with
# TAKT_FUZZ=ON and TAKT_SANITIZE=address,undefined,fuzzer-no-link so that the libraries are watched too.
function(takt_fuzz name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_executable(${name}_fuzz ${PROJECT_SOURCE_DIR}/tests/fuzz/${name}_fuzz.cc)
  target_link_libraries(${name}_fuzz PRIVATE ${ARG_DEPENDS})
  target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
endfunction()
