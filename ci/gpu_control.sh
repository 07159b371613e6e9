# shellcheck shell=bash
# Sourced by ci/gpu.sh and ci/first_gpu.sh: the negative control of a GPU. Sums by atomic operations differ from run to run there, so
# three trainings that all add up one gradient that way have to be found unequal. (On a CPU, which adds in turn, they are equal:
# ci/real_stack_test.sh holds that.)

# shellcheck disable=SC2034 # both are for who sources this
control_filter='suite == determinism and device != cpu and workload == mlp and precision == fp32'
control_faults=()
for repeat in 0 1 2; do
  control_faults+=(--inject "kind=atomic_add,repeat=$repeat,step=2,tensor=fc1.weight,element=0,suite=determinism,workload=mlp,precision=fp32")
done

# control_found STATUS FILE: of a run of both, and what it said. A cell that crashed fails the run as well, so the place has to be named.
control_found() {
  [ "$1" = 1 ] && tr -s ' \n' ' ' <"$2" | grep 'numerics.repeat_mismatches.* first at step 2 in fc1.weight' >/dev/null
}
