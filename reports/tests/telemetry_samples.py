"""A cell's telemetry as the coordinator writes it: healthy, throttled, and absent."""

import copy


def _point(index, clock, invalidated=False):
    return {
        "at_ns": index * 100_000_000, "sm_clock_mhz": clock, "temperature_c": 50 + index, "power_mw": 400_000 + 1000 * index,
        "utilisation_percent": 97, "invalidated": invalidated,
    }  # fmt: skip


def _range(least, median, most):
    return {"least": least, "median": median, "most": most}


HEALTHY = {
    "gpus": [{"uuid": "GPU-a", "pci_bus_id": "00000000:3B:00.0", "name": "NVIDIA H100 80GB HBM3"}],
    "samples": 24, "training_samples": 20, "invalidated_samples": 0,
    "ranges": {
        "sm_clock_mhz": _range(1965, 1980, 1980), "memory_clock_mhz": _range(2619, 2619, 2619), "temperature_c": _range(48, 55, 61),
        "power_mw": _range(310_000, 402_000, 415_000), "power_limit_mw": _range(700_000, 700_000, 700_000),
        "utilisation_percent": _range(90, 97, 99), "memory_used_bytes": _range(1 << 30, 3 << 30, 3 << 30),
    },
    "clock_events": {"sw_power_cap": 2}, "power_cap_share": 0.1, "foreign_pids": [], "faults": [], "invalid_reason": "",
    "invalid_sentence": "", "timed_steps": 2700, "steps_left_out": {}, "left_out_sentence": "", "problem": "", "series": [_point(i, 1980 - 5 * (i % 3)) for i in range(24)],
}  # fmt: skip


def throttled():
    telemetry = copy.deepcopy(HEALTHY)
    telemetry["invalidated_samples"] = 6
    telemetry["clock_events"] = {"hw_thermal_slowdown": 6, "0x1000": 1}
    telemetry["invalid_reason"] = "throttled"
    telemetry["invalid_sentence"] = "the GPU held itself back: hw_thermal_slowdown in 6 of 20 readings"
    telemetry["series"] = [_point(i, 1980 if i < 12 else 1410, 12 <= i < 18) for i in range(24)]
    return telemetry


def throttled_for_a_moment():
    telemetry = throttled()
    telemetry |= {"invalid_reason": "", "invalid_sentence": "", "steps_left_out": {"throttled": 810}}
    telemetry["left_out_sentence"] = "810 of 2700 steps left out: 810 throttled (hw_thermal_slowdown)"
    return telemetry


def absent():
    telemetry = copy.deepcopy(HEALTHY)
    telemetry |= {"samples": 0, "training_samples": 0, "ranges": {}, "clock_events": {}, "power_cap_share": 0, "series": [], "timed_steps": 0}
    telemetry["problem"] = "NVML has not answered for 2.0 s"
    return telemetry


def faulty():
    telemetry = copy.deepcopy(HEALTHY)
    sentence = "Xid 79 (GPU has fallen off the bus) on GPU-a"
    telemetry["faults"] = [{"fault": "xid 79", "uuid": "GPU-a", "device": True, "sentence": sentence}]
    return telemetry
