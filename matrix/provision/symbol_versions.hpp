// Versions of symbols that a program needs from the C and C++ runtime, and those that a library defines. They tell
// whether a program that was built here starts there. They are read from the files; nothing is loaded.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace reprobench {

// Maps a library to versions: {"libc.so.6": {"GLIBC_2.34", ...}}. Empty if the file is no ELF program, or names none.
std::map<std::string, std::set<std::string>> needed_symbol_versions(const std::filesystem::path& program);

std::set<std::string> defined_symbol_versions(const std::filesystem::path& library);

// Names of the symbols that a library takes from others, without weak ones, and of those that it defines. Empty if the
// file is no ELF library.
std::set<std::string> undefined_symbols(const std::filesystem::path& library);
std::set<std::string> defined_symbols(const std::filesystem::path& library);

// One sentence for every version in `needed` that the first file of the library's name below the folders of `search`
// lacks. One too for every library that is in none of them. Each is a line; empty if the program starts there.
std::string missing_symbol_versions(const std::map<std::string, std::set<std::string>>& needed,
                                    const std::vector<std::string>& search);

}  // namespace reprobench
