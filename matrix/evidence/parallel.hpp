// Work that can be done in any order, on all cores: a run has hundreds of traces to read, which nothing else waits for.
#pragma once

#include <cstddef>
#include <functional>

namespace reprobench {

// Calls `work(i)` once for each i below `count`, several at a time, and returns when all have ended. So `work` may only
// change what belongs to its own i. If some throw, the exception of the smallest i is thrown on, whatever the number of
// cores: the others are called all the same.
void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace reprobench
