# Writes the cost profiles into a C++ file, so that a program needs no path to find them.
#
#   cmake -DPROFILES=DIRECTORY -DNAMES=a,b -DOUTPUT=FILE -P embed_profiles.cmake
string(REPLACE "," ";" names "${NAMES}")
set(code "// Written by the build from core/model/profiles.\n#include \"core/model/profile_embedded.hpp\"\n\n#include <array>\n\n")
list(LENGTH names count)
string(APPEND code "namespace xdc {\n\nstd::span<const EmbeddedProfile> embedded_profiles() {\n")
string(APPEND code "  static constexpr std::array<EmbeddedProfile, ${count}> kProfiles{{\n")
foreach(name IN LISTS names)
  file(READ "${PROFILES}/${name}.toml" text)
  string(FIND "${text}" ")profile\"" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${PROFILES}/${name}.toml holds the end of the literal that it is written into")
  endif()
  string(APPEND code "      {\"${name}\", R\"profile(${text})profile\"},\n")
endforeach()
string(APPEND code "  }};\n  return kProfiles;\n}\n\n}  // namespace xdc\n")
file(WRITE "${OUTPUT}" "${code}")
