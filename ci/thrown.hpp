// What an error says that a test expects.
#pragma once

#include <string>

namespace reprobench {

template <class Error, class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace reprobench
