# Writes xdc_version.hpp: version, build id (the commit, marked when files differ from it), build type. Called at build time with SOURCE,
# OUT, VERSION, BUILD_TYPE; the file is touched only when it changes. Outside of a Git checkout the id says so.
find_package(Git QUIET)
set(id "no commit")
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=8 --exclude=* WORKING_DIRECTORY ${SOURCE}
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed EQUAL 0)
    set(id "${described}")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "// Written by the build. Which program is this?
#pragma once

namespace xdc {
inline constexpr char kVersion[] = \"@VERSION@\";
inline constexpr char kBuildId[] = \"@id@\";
inline constexpr char kBuildType[] = \"@BUILD_TYPE@\";
}  // namespace xdc
" @ONLY)
