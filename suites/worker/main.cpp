// reprobench-worker: built once per stack, linked with that stack's LibTorch.
//
//   reprobench-worker describe                        what this stack can do, as JSON on stdout
//   reprobench-worker predict REQUESTS.json            the memory that each of these requests will take, as JSON
//   reprobench-worker run REQUEST.json --data DIR     one attempt; writes trace.jsonl and result.json beside the
//                                                     request
//   reprobench-worker telemetry-cost DEVICE --data DIR   what recording adds to a step (telemetry_cost.hpp), as JSON
//
// SIGTERM lets the step in hand finish; the result then says "interrupted".
// Exit: 0 all steps done, 1 failed with a result that says why, 2 usage, 3 no result could be written.
#include "suites/worker/command_line.hpp"

int main(int argc, char** argv) { return reprobench::run_command(argc, argv); }
