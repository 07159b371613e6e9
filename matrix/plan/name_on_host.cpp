#include "matrix/plan/plan.hpp"

namespace reprobench {

std::string name_on_host(const std::string& name, const std::string& host) { return name + "@" + host; }

std::string name_without_host(const std::string& name) { return name.substr(0, name.find('@')); }

}  // namespace reprobench
