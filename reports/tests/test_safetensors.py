"""The safetensors files of the contract's tests against the public package of that name, in both directions.

The C++ tests hold the writer to the bytes of written_here.safetensors and the reader to written_by_the_public_package.safetensors. Here the
public package reads the first and writes the second.
"""

import ctypes
import unittest

import golden_run

try:
    import safetensors
except ImportError:
    safetensors = None

TESTDATA = golden_run.REPOSITORY / "matrix" / "contract" / "testdata"
WRITTEN_HERE = TESTDATA / "written_here.safetensors"
WRITTEN_BY_THE_PACKAGE = TESTDATA / "written_by_the_public_package.safetensors"
SIZES = {
    "bool": 1, "uint8": 1, "int8": 1, "float8_e5m2": 1, "float8_e4m3fn": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2,
    "int32": 4, "uint32": 4, "float32": 4, "float64": 8, "int64": 8, "uint64": 8,
}  # fmt: skip
# As the package spells the types it reads.
FILE_NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "float8_e5m2": "F8_E5M2", "float8_e4m3fn": "F8_E4M3", "int16": "I16", "uint16": "U16",
    "float16": "F16", "bfloat16": "BF16", "int32": "I32", "uint32": "U32", "float32": "F32", "float64": "F64", "int64": "I64",
    "uint64": "U64",
}  # fmt: skip


def sample():
    """Name -> (dtype, shape, bytes), as SampleTensors of safetensors_test.cpp makes them."""
    tensors = {}
    for first, (dtype, size) in enumerate(SIZES.items(), 1):
        values = [i % 2 if dtype == "bool" else first + i for i in range(3 * size)]
        tensors[f"type.{dtype}"] = (dtype, [3], bytes(values))
    tensors["scalar"] = ("float32", [], bytes(range(100, 104)))
    tensors["empty"] = ("float64", [0, 5], b"")
    tensors['größe "1"'] = ("bfloat16", [2, 2], bytes(range(200, 208)))
    return tensors


def written_by_the_package(tensors, metadata):
    """The package's low-level writer took dictionaries up to 0.7 and takes addresses since."""
    if not hasattr(safetensors, "TensorSpec"):
        plain = {name: {"dtype": d, "shape": s, "data": b} for name, (d, s, b) in tensors.items()}
        return bytes(safetensors.serialize(plain, metadata))
    buffers = {name: ctypes.create_string_buffer(data, max(len(data), 1)) for name, (_, _, data) in tensors.items()}
    specs = {
        name: safetensors.TensorSpec(dtype=d, shape=s, data_ptr=ctypes.addressof(buffers[name]), data_len=len(b))
        for name, (d, s, b) in tensors.items()
    }
    return bytes(safetensors.serialize(specs, metadata))


@unittest.skipUnless(safetensors, "the Python package safetensors is not installed")
class PublicPackage(unittest.TestCase):
    def test_reads_what_is_written_here(self):
        read = dict(safetensors.deserialize(WRITTEN_HERE.read_bytes()))
        self.assertEqual(set(read), set(sample()))
        for name, (dtype, shape, data) in sample().items():
            self.assertEqual(read[name]["dtype"], FILE_NAMES[dtype], name)
            self.assertEqual(list(read[name]["shape"]), shape, name)
            self.assertEqual(bytes(read[name]["data"]), data, name)

    def test_opens_the_file_with_its_metadata(self):
        with safetensors.safe_open(WRITTEN_HERE, framework="numpy") as file:
            self.assertEqual(file.metadata(), {"writer": "reprobench"})
            self.assertEqual(set(file.keys()), set(sample()))

    def test_still_writes_the_file_that_is_read_here(self):
        written = written_by_the_package(sample(), {"writer": "safetensors"})
        expected = WRITTEN_BY_THE_PACKAGE.read_bytes()
        as_read = [sorted((name, t["dtype"], list(t["shape"]), bytes(t["data"])) for name, t in safetensors.deserialize(data))
                   for data in (written, expected)]  # fmt: skip
        self.assertEqual(as_read[0], as_read[1])
        self.assertEqual(len(written), len(expected))


if __name__ == "__main__":
    unittest.main()
