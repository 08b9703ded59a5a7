"""Reads a safetensors file by the published description alone, and prints each tensor's name, shape and values."""
import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    raw = file.read()
(length,) = struct.unpack("<Q", raw[:8])
header = json.loads(raw[8 : 8 + length].decode("utf-8"))
assert (8 + length) % 8 == 0, "the data do not begin at a multiple of 8"
data = raw[8 + length :]
end_before = 0
for name, entry in header.items():
    if name == "__metadata__":
        assert all(isinstance(value, str) for value in entry.values())
        continue
    begin, end = entry["data_offsets"]
    assert begin == end_before and entry["dtype"] == "F32"
    end_before = end
    values = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    print(name, entry["shape"], list(values))
assert end_before == len(data)
