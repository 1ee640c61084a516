# The C++ library, what `cmake --install` installs, and the Debian packages that CPack makes of it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# --- libtakt and libtakt-client -----------------------------------------------------------------

# takt_objects(NAME DIR …), of src/DIR/*.cc: objects, not an archive: the libraries must hold what nobody in them calls.
function(takt_objects name dir)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${dir}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  add_library(${name} OBJECT ${sources} ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  takt_unity(${name})
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

takt_objects(takt_sdk sdk SOURCES src/base/version.cc DEPENDS takt_words takt_worker_handlers takt_remote)
takt_objects(takt_sdk_whole sdk/whole DEPENDS takt_server takt_worker_grpc takt_remote)
takt_objects(takt_sdk_thin sdk/thin DEPENDS takt_worker)

# Before 1.0 a minor version may change what programs see; it is another library then.
set(takt_abi ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(takt_abi ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()

# takt_interface(TARGET NAME EXPORT): as users of libNAME see it, by CMake takt::EXPORT.
function(takt_interface target name exported)
  add_library(takt::${exported} ALIAS ${target})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} INTERFACE cxx_std_20)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${exported}
                        VERSION ${PROJECT_VERSION} SOVERSION ${takt_abi})
endfunction()

# Only the names of include/takt leave a library: those of the layers below stay inside. What is linked
# from an archive is inside, too, and a program may have another version of it; what is shared it meets.
set(exports ${PROJECT_SOURCE_DIR}/cmake/takt.map)
set(exports_only -Wl,--exclude-libs,ALL -Wl,--version-script=${exports} -Wl,--as-needed)

find_library(sqlite_archive libsqlite3.a REQUIRED)
add_library(takt_shared SHARED)
takt_interface(takt_shared takt takt)
target_link_libraries(takt_shared PRIVATE ${sqlite_archive} takt_sdk takt_sdk_whole)
target_link_options(takt_shared PRIVATE ${exports_only})
set_property(TARGET takt_shared PROPERTY LINK_DEPENDS ${exports})

# The same without schedulers, stores and gRPC. It must not need what is not linked on purpose.
find_library(zstd_archive libzstd.a REQUIRED)
add_library(takt_client SHARED)
takt_interface(takt_client takt-client client)
target_link_libraries(takt_client PRIVATE ${zstd_archive} takt_sdk takt_sdk_thin)
target_link_options(takt_client PRIVATE ${exports_only} -Wl,--gc-sections)
set_property(TARGET takt_client PROPERTY LINK_DEPENDS ${exports})

# For programs that link it in: an archive of all that is ours, the libraries of others beside it.
set(client_layers takt_sdk takt_words takt_base takt_tls takt_http takt_trace takt_wire takt_proto_worker
    takt_worker takt_worker_handlers takt_remote)
set(client_objects src/sdk/thin/thin_parts.cc)
foreach(layer ${client_layers})
  list(APPEND client_objects $<TARGET_OBJECTS:${layer}>)
endforeach()
add_library(takt_client_static STATIC ${client_objects})
target_include_directories(takt_client_static PRIVATE src include)
takt_interface(takt_client_static takt-client client_static)
set(client_libraries spdlog fmt boost_json protobuf zstd ssl crypto z pthread)
target_link_libraries(takt_client_static INTERFACE ${client_libraries})

# --- Examples -----------------------------------------------------------------------------------

# With the public headers only, as a user builds them.
foreach(name scheduler worker submit async http_worker workflow_worker workflows)
  add_executable(example_${name} examples/${name}.cc)
  target_link_libraries(example_${name} PRIVATE takt::takt)
endforeach()

# One of them brings an HTTP server of its own.
target_link_libraries(example_http_worker PRIVATE Boost::headers)

# --- Tests --------------------------------------------------------------------------------------

if(TAKT_TESTING)
  file(GLOB sdk_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/sdk/*_test.cc)
  # Against the shared library: what it forgets to export is missed here.
  takt_test(sdk_test SOURCES ${sdk_tests} DEPENDS takt::takt takt_store_testing)
  takt_test(sdk_config_test SOURCES src/sdk/whole/scheduler_config_test.cc DEPENDS takt_sdk takt_sdk_whole)
  find_program(TAKT_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
  foreach(name examples install package readme thin)
    add_test(NAME sdk_${name}
             COMMAND ${TAKT_PYTHON} ${PROJECT_SOURCE_DIR}/tests/sdk/${name}_test.py)
    set_tests_properties(sdk_${name} PROPERTIES TIMEOUT 300 ENVIRONMENT
      "TAKT_BUILD=${PROJECT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
  endforeach()
  # They write what CMake installs from; one at a time.
  set_tests_properties(sdk_install sdk_package sdk_thin PROPERTIES RESOURCE_LOCK sdk_install)
endif()

# --- Install ------------------------------------------------------------------------------------

# What is installed is built by name; the tests need not be.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
install(TARGETS takt RUNTIME COMPONENT cli)
set(completion ${PROJECT_BINARY_DIR}/completion/takt)
add_custom_command(OUTPUT ${completion}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/completion
  COMMAND takt completion bash > ${completion}
  DEPENDS takt VERBATIM)
add_custom_target(takt_completion ALL DEPENDS ${completion})
install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        COMPONENT cli)
# Units of systemd, their users and folders, and configuration to begin with. Of the package alone: they name
# /usr/bin/takt. deploy/systemd/postinst makes of them what a machine needs.
install(FILES deploy/systemd/takt-server.service deploy/systemd/takt-worker@.service
        DESTINATION lib/systemd/system COMPONENT cli EXCLUDE_FROM_ALL)
foreach(kind sysusers tmpfiles)
  install(FILES deploy/systemd/takt.${kind} DESTINATION lib/${kind}.d RENAME takt.conf
          COMPONENT cli EXCLUDE_FROM_ALL)
endforeach()
install(FILES deploy/systemd/server.yaml deploy/systemd/worker.yaml
        DESTINATION ${CMAKE_INSTALL_DATADIR}/takt COMPONENT cli EXCLUDE_FROM_ALL)
install(TARGETS takt_shared EXPORT taktTargets
        LIBRARY COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS takt_client takt_client_static EXPORT takt-clientTargets
        LIBRARY COMPONENT client_library NAMELINK_COMPONENT client_development
        ARCHIVE COMPONENT client_development)
# Both libraries have the same headers.
install(DIRECTORY include/takt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT client_development)

# From where the file lies, so that an installation can be moved.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")

# takt_findable(NAME COMPONENT WHAT LIBRARY…): for find_package(NAME) and pkg-config; static programs need
# the LIBRARYs.
function(takt_findable name component what)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  configure_package_config_file(cmake/taktConfig.cmake.in ${PROJECT_BINARY_DIR}/${name}Config.cmake
                                INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/${name}ConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(EXPORT ${name}Targets NAMESPACE takt:: DESTINATION ${package_dir} COMPONENT ${component})
  install(FILES ${PROJECT_BINARY_DIR}/${name}Config.cmake ${PROJECT_BINARY_DIR}/${name}ConfigVersion.cmake
          DESTINATION ${package_dir} COMPONENT ${component})
  list(TRANSFORM ARGN PREPEND -l)
  list(JOIN ARGN " " private)
  configure_file(cmake/takt.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT ${component})
endfunction()
takt_findable(takt development "C++ library")
takt_findable(takt-client client_development "C++ library for clients and workers" ${client_libraries})

set(package_cli takt)
set(package_library libtakt${takt_abi})
set(package_development libtakt-dev)
set(package_client_library libtakt-client${takt_abi})
set(package_client_development libtakt-client-dev)
set(components cli library development client_library client_development)
foreach(component ${components})
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package_${component}} RENAME copyright
          COMPONENT ${component})
endforeach()

# --- Packages -----------------------------------------------------------------------------------

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME takt)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Takt authors <takt@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# What each needs is read from what it is linked with.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
foreach(component ${components})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package_${component}})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION libs)
endforeach()
set(CPACK_DEBIAN_CLI_PACKAGE_SECTION net)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_CLIENT_DEVELOPMENT_PACKAGE_SECTION libdevel)
# The time zones of cron expressions.
set(CPACK_DEBIAN_CLI_PACKAGE_DEPENDS "tzdata")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "tzdata")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "${package_library} (= ${PROJECT_VERSION}), ${package_client_development} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_CLIENT_DEVELOPMENT_PACKAGE_DEPENDS "${package_client_library} (= ${PROJECT_VERSION})")
# The ${client_libraries} of the archive; who links the shared library needs none of them.
set(CPACK_DEBIAN_CLIENT_DEVELOPMENT_PACKAGE_SUGGESTS
    "libboost-json1.81-dev, libfmt-dev, libprotobuf-dev, libspdlog-dev, libssl-dev, libzstd-dev, zlib1g-dev")
set(CPACK_DEBIAN_CLI_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/deploy/systemd/postinst)
set(CPACK_DEBIAN_CLI_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENT_CLI_DESCRIPTION "Distributed task scheduler
 Scheduler, worker and command line of Takt in one program: runs tasks now, later or by cron on a
 fleet of workers, with its state in a file, Redis, etcd or MySQL.")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Distributed task scheduler, C++ library
 Workers, clients and embedded schedulers of Takt for C++ programs.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Distributed task scheduler, C++ library for building
 The C++ library of Takt for CMake's find_package and for pkg-config.")
set(CPACK_COMPONENT_CLIENT_LIBRARY_DESCRIPTION "Distributed task scheduler, small C++ library
 Workers and clients of Takt for C++ programs, without schedulers and their stores.")
set(CPACK_COMPONENT_CLIENT_DEVELOPMENT_DESCRIPTION "Distributed task scheduler, C++ headers
 Headers of both C++ libraries of Takt, and the small one for CMake's find_package and for pkg-config.")
include(CPack)
