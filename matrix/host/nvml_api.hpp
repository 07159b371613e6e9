// The part of the C interface of NVIDIA's management library (NVML) that is used here. The library comes with the
// driver and is opened at run time. So its few types are declared here, and not taken from a toolkit that this binary
// must not need. There are only queries: nothing that changes a clock, a limit or a mode is named anywhere in this
// project.
//
// Source: NVIDIA's NVML API reference and the structures of NVIDIA's own Python binding (nvidia-ml-py 13.615).
#pragma once

namespace reprobench::nvml {

using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kUnknown = 999;

using Device = void*;
using EventSet = void*;
using Count = unsigned long long;

inline constexpr unsigned kTextLength = 96;  // NVML's own buffers take 80 and 96 bytes
inline constexpr unsigned kClockSm = 1;      // nvmlClockType_t
inline constexpr unsigned kClockMemory = 2;
inline constexpr unsigned kSensorGpu = 0;         // nvmlTemperatureSensors_t
inline constexpr unsigned kUncorrected = 1;       // nvmlMemoryErrorType_t
inline constexpr unsigned kCounterVolatile = 0;   // nvmlEccCounterType_t: since the driver was loaded
inline constexpr unsigned kCounterAggregate = 1;  // over the life of the card
inline constexpr unsigned kPolicyPower = 0;       // nvmlPerfPolicyType_t
inline constexpr unsigned kPolicyThermal = 1;
inline constexpr Count kEventXid = 0x8;            // nvmlEventTypeXidCriticalError
inline constexpr Count kNotAvailable = ~Count{0};  // NVML_VALUE_NOT_AVAILABLE
inline constexpr unsigned kNvLinks = 18;           // NVML_NVLINK_MAX_LINKS
inline constexpr unsigned kRemoteSwitch = 2;       // nvmlIntNvLinkDeviceType_t
inline constexpr unsigned kP2pNvLink = 2;          // nvmlGpuP2PCapsIndex_t
inline constexpr unsigned kFieldNvLinkSpeed = 90;  // NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON: for each active link
inline constexpr unsigned kValueUnsigned = 1;      // nvmlValueType_t

struct Memory {
  Count total;
  Count free;
  Count used;
};

struct Utilisation {
  unsigned gpu;  // per cent of the last sampling period in which a kernel ran
  unsigned memory;
};

struct Pci {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};

struct Process {
  unsigned pid;
  Count used_memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};

// The structure of drivers before R460.
struct ProcessV1 {
  unsigned pid;
  Count used_memory;
};

struct Violation {
  Count reference_time;  // us
  Count violation_time;  // ns by the reference, summed since the driver was loaded
};

struct Event {
  Device device;
  Count type;
  Count data;  // for an Xid event its number
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp_us;
  long long latency_us;
  unsigned type;
  Return result;
  Count number;  // a union; an unsigned int lies in its first bytes
};

// A pointer is null if this driver's library has no such function. Only the first group is always there.
struct Functions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  Return (*driver_version)(char* text, unsigned length) = nullptr;
  Return (*device_count)(unsigned* count) = nullptr;
  Return (*device_by_index)(unsigned index, Device* device) = nullptr;
  Return (*name)(Device device, char* text, unsigned length) = nullptr;
  Return (*compute_capability)(Device device, int* major, int* minor) = nullptr;
  Return (*memory)(Device device, Memory* memory) = nullptr;

  Return (*cuda_version)(int* version) = nullptr;  // 12080 is 12.8
  Return (*uuid)(Device device, char* text, unsigned length) = nullptr;
  Return (*pci)(Device device, Pci* pci) = nullptr;
  Return (*cuda_cores)(Device device, unsigned* cores) = nullptr;
  Return (*clock)(Device device, unsigned type, unsigned* clock_mhz) = nullptr;
  Return (*max_clock)(Device device, unsigned type, unsigned* clock_mhz) = nullptr;
  Return (*application_clock)(Device device, unsigned type, unsigned* clock_mhz) = nullptr;
  Return (*temperature)(Device device, unsigned sensor, unsigned* celsius) = nullptr;
  Return (*power)(Device device, unsigned* milliwatts) = nullptr;
  Return (*power_limit)(Device device, unsigned* milliwatts) = nullptr;
  Return (*energy)(Device device, Count* millijoules) = nullptr;  // since the driver was loaded
  Return (*utilisation)(Device device, Utilisation* utilisation) = nullptr;
  Return (*processes)(Device device, unsigned* count, Process* processes) = nullptr;
  Return (*processes_v1)(Device device, unsigned* count, ProcessV1* processes) = nullptr;
  Return (*ecc_mode)(Device device, unsigned* current, unsigned* pending) = nullptr;
  Return (*ecc_errors)(Device device, unsigned type, unsigned counter, Count* count) = nullptr;
  Return (*clock_events)(Device device, Count* reasons) = nullptr;
  Return (*violation)(Device device, unsigned policy, Violation* violation) = nullptr;
  Return (*persistence_mode)(Device device, unsigned* mode) = nullptr;
  Return (*compute_mode)(Device device, unsigned* mode) = nullptr;
  Return (*mig_mode)(Device device, unsigned* current, unsigned* pending) = nullptr;
  Return (*pcie_generation)(Device device, unsigned* generation) = nullptr;
  Return (*pcie_width)(Device device, unsigned* lanes) = nullptr;
  Return (*max_pcie_generation)(Device device, unsigned* generation) = nullptr;
  Return (*max_pcie_width)(Device device, unsigned* lanes) = nullptr;
  Return (*nvlink_state)(Device device, unsigned link, unsigned* is_active) = nullptr;
  Return (*nvlink_version)(Device device, unsigned link, unsigned* version) = nullptr;
  Return (*nvlink_remote_type)(Device device, unsigned link, unsigned* type) = nullptr;
  Return (*nvlink_remote_pci)(Device device, unsigned link, Pci* pci) = nullptr;
  Return (*p2p_status)(Device from, Device to, unsigned what, unsigned* status) = nullptr;
  Return (*field_values)(Device device, int count, FieldValue* values) = nullptr;
  Return (*event_set_create)(EventSet* set) = nullptr;
  Return (*event_set_free)(EventSet set) = nullptr;
  Return (*event_set_wait)(EventSet set, Event* event, unsigned timeout_ms) = nullptr;
  Return (*register_events)(Device device, Count types, EventSet set) = nullptr;
};

}  // namespace reprobench::nvml
