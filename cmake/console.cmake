# The console: web/ copied to the build folder, built there by npm, and embedded by the library
# takt_console. The source tree is not written to; what npm installs stays in the build folder.
find_program(TAKT_NPM npm REQUIRED)
find_program(TAKT_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)

set(web_source ${PROJECT_SOURCE_DIR}/web)
set(web ${PROJECT_BINARY_DIR}/web)
# What npm reads, and what eslint does: it looks for its rules beside its own file.
set(web_packages ${web_source}/package.json ${web_source}/package-lock.json ${web_source}/.npmrc
    ${web_source}/eslint.config.mjs)
set(web_settings ${web_source}/index.html ${web_source}/tsconfig.json ${web_source}/vite.config.mjs)
file(GLOB_RECURSE web_files CONFIGURE_DEPENDS ${web_source}/src/* ${web_source}/public/*)

add_custom_command(OUTPUT ${web}/.installed
  COMMAND ${CMAKE_COMMAND} -E make_directory ${web}
  COMMAND ${CMAKE_COMMAND} -E copy ${web_packages} ${web}
  # What is built needs none of the packages' install scripts.
  COMMAND ${CMAKE_COMMAND} -E chdir ${web}
          ${TAKT_NPM} ci --ignore-scripts --loglevel=error --no-audit --no-fund --prefer-offline
  COMMAND ${CMAKE_COMMAND} -E touch ${web}/.installed
  DEPENDS ${web_packages}
  COMMENT "Installing what builds the console")
add_custom_command(OUTPUT ${web}/files.cc ${web}/files.blob
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${web}/src ${web}/public ${web}/dist
  COMMAND ${CMAKE_COMMAND} -E copy_directory ${web_source}/src ${web}/src
  COMMAND ${CMAKE_COMMAND} -E copy_directory ${web_source}/public ${web}/public
  COMMAND ${CMAKE_COMMAND} -E copy ${web_settings} ${web}
  COMMAND ${CMAKE_COMMAND} -E chdir ${web} ${CMAKE_COMMAND} -E env CI=true ${TAKT_NPM} run --silent build
  COMMAND ${TAKT_PYTHON} ${PROJECT_SOURCE_DIR}/src/console/embed.py ${web}/dist ${web}/files.cc
  DEPENDS ${web}/.installed ${web_files} ${web_settings} ${PROJECT_SOURCE_DIR}/src/console/embed.py
  COMMENT "Building the console")

takt_library(console DEPENDS takt_http)
target_sources(takt_console PRIVATE ${web}/files.cc)
set_source_files_properties(${web}/files.cc PROPERTIES OBJECT_DEPENDS ${web}/files.blob
                            SKIP_UNITY_BUILD_INCLUSION ON)

if(TAKT_TESTING)
  # web/src/api/schema.ts is made from /openapi.json, and kept with the sources so that npm alone builds
  # the console.
  add_test(NAME console_types COMMAND ${TAKT_PYTHON} ${PROJECT_SOURCE_DIR}/tests/console/types_test.py)
  find_program(TAKT_NODE NAMES node nodejs REQUIRED)
  set_tests_properties(console_types PROPERTIES TIMEOUT 60 ENVIRONMENT
    "TAKT_BINARY=$<TARGET_FILE:takt>;TAKT_NODE=${TAKT_NODE};PYTHONDONTWRITEBYTECODE=1")
  # A real browser (Debian's chromium) at real schedulers; each file is one test.
  foreach(name access leader newcomer operate pages tasks)
    add_test(NAME console_${name}
             COMMAND ${TAKT_NODE} ${PROJECT_SOURCE_DIR}/tests/console/${name}_test.mjs)
    set_tests_properties(console_${name} PROPERTIES TIMEOUT 180 ENVIRONMENT
      "TAKT_BINARY=$<TARGET_FILE:takt>;TAKT_WEB=${web}")
  endforeach()
endif()
