# The C++ library, what `cmake --install` installs, and the Debian packages that CPack makes of it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# --- libtakt ------------------------------------------------------------------------------------

# Objects, not an archive: the shared library must hold what nobody in it calls.
file(GLOB sdk CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/sdk/*.cc)
list(FILTER sdk EXCLUDE REGEX "_test\\.cc$")
add_library(takt_sdk OBJECT ${sdk} src/base/version.cc)
target_link_libraries(takt_sdk PUBLIC takt_server takt_worker_handlers takt_remote)
takt_unity(takt_sdk)
set_target_properties(takt_sdk PROPERTIES CXX_VISIBILITY_PRESET hidden
                                          VISIBILITY_INLINES_HIDDEN ON)

add_library(takt_shared SHARED)
add_library(takt::takt ALIAS takt_shared)
target_link_libraries(takt_shared PRIVATE takt_sdk)
# Only the names of include/takt leave it: those of the layers below and of their libraries stay
# inside, so that a program may have another version of any of them.
set(exports ${PROJECT_SOURCE_DIR}/cmake/takt.map)
target_link_options(takt_shared PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${exports})
set_property(TARGET takt_shared PROPERTY LINK_DEPENDS ${exports})
target_include_directories(takt_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(takt_shared INTERFACE cxx_std_20)
set_target_properties(takt_shared PROPERTIES
  OUTPUT_NAME takt EXPORT_NAME takt
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

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
  list(REMOVE_ITEM sdk_tests ${PROJECT_SOURCE_DIR}/src/sdk/scheduler_config_test.cc)
  # Against the shared library: what it forgets to export is missed here.
  takt_test(sdk_test SOURCES ${sdk_tests} DEPENDS takt::takt takt_store_testing)
  takt_test(sdk_config_test SOURCES src/sdk/scheduler_config_test.cc DEPENDS takt_sdk)
  find_program(TAKT_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
  foreach(name examples install package readme)
    add_test(NAME sdk_${name}
             COMMAND ${TAKT_PYTHON} ${PROJECT_SOURCE_DIR}/tests/sdk/${name}_test.py)
    set_tests_properties(sdk_${name} PROPERTIES TIMEOUT 300 ENVIRONMENT
      "TAKT_BUILD=${PROJECT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
  endforeach()
  # Both write what CMake installs from; one at a time.
  set_tests_properties(sdk_install sdk_package PROPERTIES RESOURCE_LOCK sdk_install)
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
install(TARGETS takt_shared EXPORT taktTargets
        LIBRARY COMPONENT library NAMELINK_COMPONENT development)
install(DIRECTORY include/takt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/takt)
configure_package_config_file(cmake/taktConfig.cmake.in ${PROJECT_BINARY_DIR}/taktConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change what programs see.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/taktConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(EXPORT taktTargets NAMESPACE takt:: DESTINATION ${package_dir} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/taktConfig.cmake ${PROJECT_BINARY_DIR}/taktConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT development)
# From where the file lies, so that an installation can be moved.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(cmake/takt.pc.in ${PROJECT_BINARY_DIR}/takt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/takt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)
foreach(part cli library development)
  set(package takt)
  if(part STREQUAL "library")
    set(package libtakt${PROJECT_VERSION_MAJOR})
  elseif(part STREQUAL "development")
    set(package libtakt-dev)
  endif()
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME copyright
          COMPONENT ${part})
endforeach()

# --- Packages -----------------------------------------------------------------------------------

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME takt)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Takt authors <takt@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL cli library development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# What each needs is read from what it is linked with.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_CLI_PACKAGE_NAME takt)
set(CPACK_DEBIAN_CLI_PACKAGE_SECTION net)
# The time zones of cron expressions.
set(CPACK_DEBIAN_CLI_PACKAGE_DEPENDS "tzdata")
set(CPACK_COMPONENT_CLI_DESCRIPTION "Distributed task scheduler
 Scheduler, worker and command line of Takt in one program: runs tasks now, later or by cron on a
 fleet of workers, with its state in a file, Redis, etcd or MySQL.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtakt${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "tzdata")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Distributed task scheduler, C++ library
 Workers, clients and embedded schedulers of Takt for C++ programs.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtakt-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libtakt${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Distributed task scheduler, C++ headers
 Headers of the C++ library of Takt, for CMake's find_package and for pkg-config.")
include(CPack)
