# The console: web/ copied to the build folder, built there by npm, and embedded by the library
# takt_console. The source tree is not written to; what npm installs stays in the build folder.
find_program(TAKT_NPM npm REQUIRED)
find_program(TAKT_NODE NAMES node nodejs REQUIRED)
find_program(TAKT_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)

set(web_source ${PROJECT_SOURCE_DIR}/web)
set(web ${PROJECT_BINARY_DIR}/web)
# What npm reads, and what eslint does: it looks for its rules beside its own file.
set(web_packages ${web_source}/package.json ${web_source}/package-lock.json ${web_source}/.npmrc
    ${web_source}/eslint.config.mjs)
set(web_settings ${web_source}/index.html ${web_source}/tsconfig.json ${web_source}/vite.config.mjs
    ${web_source}/documentation.mjs)
# The pages that the console shows as its help.
set(docs ${PROJECT_SOURCE_DIR}/docs)
file(GLOB web_pages CONFIGURE_DEPENDS ${docs}/*.md ${docs}/stores/*.md ${docs}/zh/*.md ${docs}/site/pages.json)
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
# The shapes of the API. Written only if they changed, so that other changes do not build the console anew.
add_executable(takt_print_schemas ${PROJECT_SOURCE_DIR}/cmake/print_schemas.cc)
target_link_libraries(takt_print_schemas PRIVATE takt_api)
add_custom_command(OUTPUT ${web}/schema.ts
  COMMAND ${CMAKE_COMMAND} -E make_directory ${web}
  COMMAND takt_print_schemas ${web}/schemas.json
  COMMAND ${TAKT_NODE} ${web_source}/types.mjs ${web}/schemas.json ${web}/schema.ts
  DEPENDS takt_print_schemas ${web_source}/types.mjs
  COMMENT "Making the console's types")
add_custom_command(OUTPUT ${web}/files.cc ${web}/files.blob
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${web}/src ${web}/public ${web}/dist
  COMMAND ${CMAKE_COMMAND} -E copy_directory ${web_source}/src ${web}/src
  COMMAND ${CMAKE_COMMAND} -E copy_directory ${web_source}/public ${web}/public
  COMMAND ${CMAKE_COMMAND} -E copy ${web}/schema.ts ${web}/src/api/schema.ts
  COMMAND ${CMAKE_COMMAND} -E copy ${web_settings} ${web}
  COMMAND ${CMAKE_COMMAND} -E chdir ${web}
          ${CMAKE_COMMAND} -E env CI=true TAKT_DOCS=${docs} ${TAKT_NPM} run --silent build
  COMMAND ${TAKT_PYTHON} ${PROJECT_SOURCE_DIR}/src/console/embed.py ${web}/dist ${web}/files.cc
  DEPENDS ${web}/.installed ${web}/schema.ts ${web_files} ${web_settings} ${web_pages}
          ${PROJECT_SOURCE_DIR}/src/console/embed.py
  COMMENT "Building the console")

takt_library(console DEPENDS takt_http)
target_sources(takt_console PRIVATE ${web}/files.cc)
set_source_files_properties(${web}/files.cc PROPERTIES OBJECT_DEPENDS ${web}/files.blob)

if(TAKT_TESTING)
  # What the console was built with is what the finished program says of itself.
  add_test(NAME console_types COMMAND ${TAKT_PYTHON} ${PROJECT_SOURCE_DIR}/tests/console/types_test.py)
  set_tests_properties(console_types PROPERTIES TIMEOUT 60 ENVIRONMENT
    "TAKT_BINARY=$<TARGET_FILE:takt>;TAKT_NODE=${TAKT_NODE};TAKT_WEB=${web};PYTHONDONTWRITEBYTECODE=1")
  # A real browser (Debian's chromium) at real schedulers; each file is one test.
  foreach(name access alerts charts editor findings flow form help jobs leader lists looks newcomer operate pages
          restart roles spaces tabs tasks times)
    add_test(NAME console_${name}
             COMMAND ${TAKT_NODE} ${PROJECT_SOURCE_DIR}/tests/console/${name}_test.mjs)
    # Each page in two languages, two themes and three widths takes its time.
    set_tests_properties(console_${name} PROPERTIES TIMEOUT 400 ENVIRONMENT
      "TAKT_BINARY=$<TARGET_FILE:takt>;TAKT_WEB=${web}")
  endforeach()
endif()
