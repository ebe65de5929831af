#!/usr/bin/env python3
"""Writes small inputs for every fuzz target to start from, the same ones every time.

usage: make_corpus.py FOLDER
"""
import gzip
import io
import pathlib
import random
import struct
import sys

import numpy as np


def text_inputs():
    plain = b"# comment\n1 1 1 1.0\n2 3 4 -2.5e3\r\n\n7 1 2 .5\n"
    yield b"\x00" + plain
    yield b"\x01" + b"0 0 0 1\n4294967296 18446744073709551614 3 1e-300\n"
    yield b"\x02" + b"a header\n" + plain
    yield b"\x00" + b"sptensor\n3\n4 5 6\n2\n1 2 3 1.5\n4 5 6 2\n"
    yield b"\x00" + b"3\n4 5 6\n1 2 3 1.5\n4 5 6 2\n"
    yield b"\x00" + b"# extended\n3 2\n4 5 6\n1 2 3 1.5\n4.0e+00 5. 6 2\n"
    yield b"\x00" + gzip.compress(plain, mtime=0)
    yield b"\x00" + gzip.compress(plain, mtime=0) + gzip.compress(b"1 2 3 4\n", mtime=0) + bytes(16)
    # A zstd frame of one raw block.
    yield b"\x00" + b"\x28\xb5\x2f\xfd\x20" + bytes([len(plain)]) + struct.pack("<I", len(plain) << 3 | 1)[:3] + plain


def matrix_market_inputs():
    entries = b"3 3 3\n1 1 1.0\n2 1 2.0\n3 3 3.5\n"
    yield b"real general\n" + entries
    yield b"integer symmetric\n% comment\n" + entries.replace(b".0", b"").replace(b".5", b"")
    yield b"real skew-symmetric\n3 3 1\n2 1 2.0\n"
    yield b"pattern general\n3 3 2\n1 1\n2 3\n"
    yield b"complex hermitian\n" + entries


def csv_inputs():
    rows = b'x,"y, ""z""",1.5\nx,u,2\n\nw,"y, ""z""",-3e2\n'
    yield b"\x01\x00" + b"a,b,v\n" + rows
    yield b"\x00\x01" + b"\xef\xbb\xbf\n\"a\",v,b\r\n" + rows.replace(b"\n", b"\r\n")
    yield b"\x01\x02" + b"b\ta\tv\n" + b"1\t2\t3\n1\t3\t4"
    yield b"\x01\x00" + b"v;a;b\n" + b"1;2;3\n" + b"2;\"2\n3\";3\n"
    yield b"\x01\x00" + gzip.compress(b"a,b,v\n" + rows, mtime=0)
    yield b"\x03\x00" + b"a,b,v\n" + rows + b",NA,1\nnull,x,nan\n\"two\nlines\",5\" disk,None\n"
    yield b"\x17\x01" + b"v,\"n\n\",b,a\n1,\"\r\n\",,NULL\n-nan,,1.#IND,x\n"
    yield b"\x09\x03" + b"a;\"b\";v\n\xc3\xbc;\"\xf0\x9f\x98\x80\n\";1,5\nx;y;-2\n"
    yield b"\x01\x00" + b'{"a": 1, "b": 2}\n'
    yield b"\x20\x00" + b"a,b,v\n2024-03-05,1.5,1\n1709647653,-2,1\n"
    yield b"\x60\x00" + b"a,b,v\n2024-02-29T10:00Z,0,1\n2024-03-01,1e300,1\n"
    yield b"\x83\x00" + b"a,b,v\n" + rows + b",NA,1\nnull,x,nan\n\"two\nlines\",\"[0, 2.5)\",2\n"
    yield b"\xa7\x01" + b"a,b,v\n2024-03-05,1.5,1\n1709647653,-2,1\n\n,,2\n2024-02-29T10:00Z,1e300,1\n"
    yield b"\xe0\x00" + b"a,b,v\n2024-02-29T10:00Z,0,1\n2024-03-01,1e300,1\n"


def time_inputs():
    yield from (b"2024-03-05T14:07:33.25+01:00", b"20240305T140733Z", b"2024-02-29 23:59:60 UTC", b"2024-03", b"2024",
                b"1709647653123", b"-62135596800", b"1709647653.5", b"2020-W53", b"2024-Q4", b"Sunday", b"07",
                b"9999-12-31T23:59-0059", b"202403", b"20240305140733.25", b"202403051407", b"2024030514",
                b"45356.588576", b"2024065", b"638452444530000000", b"25122024", b"14.07", b"+2024030514",
                b"[0, 2.5]", b"when:day:every", b"price:quantiles=20")


def label_inputs():
    plain = b"ann\r\nbob, \"the third\"\nren\xc3\xa9\nann"
    yield b"\x00" + plain
    yield b"\x00" + b"\xef\xbb\xbf" + plain + b"\n"
    yield b"\x00" + plain.replace(b"\xc3\xa9", b"\xe9")
    yield b"\x00" + b"a\n\nb\n"
    yield b"\x01" + b"a label of some length\n" * 9
    yield b"\x00" + gzip.compress(plain, mtime=0)


def archive(save, **arrays):
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


def npz_inputs():
    coords = np.array([[0, 5, 2, 7], [1, 1, 9, 3], [4, 4, 1, 6]])
    values = np.array([1, 2.5, -3, 0.25])
    for save in (np.savez, np.savez_compressed):
        yield archive(save, coords=coords.astype("u1"), data=values.astype("f4"), shape=np.array([9, 9, 9], "u1"),
                      fill_value=np.float32(0))
        yield archive(save, indices=coords.T.astype(">u2"), values=values > 1)
        yield archive(save, row=coords[0].astype("i4"), col=coords[1].astype("i4"), data=values, format=np.array(b"coo"))
        yield archive(save, indptr=coords[0], indices=coords[1], data=values)


def npy_header_inputs():
    for array in (np.zeros((3, 2), "<i8", order="F"), np.zeros((), "?"), np.zeros(3, "O"), np.zeros(2, "i4,f8")):
        for version in ((1, 0), (2, 0), (3, 0)):
            file = io.BytesIO()
            np.lib.format.write_array(file, array, version=version, allow_pickle=True)
            yield file.getvalue()
            yield file.getvalue()[12 if version[0] > 1 else 10:]


def payload_inputs(source):
    yield b"\x01" + np.arange(600, dtype="u8").tobytes()
    yield b"\x01" + source.randbytes(2100)
    yield b"\x03" + np.arange(300).astype("f8").tobytes()
    yield b"\x03" + (np.arange(300) / 10).tobytes()
    yield b"\x03" + np.arange(300).astype("f4").astype("f8").tobytes()[::-1]
    frame = struct.pack("<II", 5, 1) + struct.pack("<4Q", *[source.getrandbits(64) for _ in range(4)]) + bytes(8)
    for codec in range(1, 7):
        header = struct.pack("<IHBBIIQQ", 0x50434C42, 1, codec, codec == 3, 200, 0, 32 + len(frame), 7)
        yield b"\x02" + struct.pack("<H", 200) + header + frame
    raw = struct.pack("<IHBBIIQQ", 0x50434C42, 1, 5, 0, 5, 0, 80, 0) + np.arange(5.0).tobytes() + bytes(8)
    yield b"\x02\x05\x00" + raw


def trailer_inputs():
    # A superblock of version 3, then data with a global heap of one object.
    heap = b"GCOL\x01\0\0\0" + struct.pack("<Q", 64) + struct.pack("<HHIQ", 1, 1, 0, 5) + b"hello\0\0\0"
    heap += struct.pack("<HHIQ", 0, 0, 0, 24) + bytes(8)
    data = heap.ljust(128, b"\0")
    superblock = b"\x89HDF\r\n\x1a\n\x03\x08\x08\0" + struct.pack("<QQQQI", 0, 2**64 - 1, 48 + len(data), 48, 0)
    for start in (b"\x00", b"\x01"):
        yield start + struct.pack("<HH", 48, 16) + superblock + data
    yield b"\x00" + bytes(4) + superblock + data + b"BLCT" + bytes(40)


def options_inputs():
    yield from (b"1x2x3", b"512MiB", b"1.5GiB", b"user,item,day", b"zstd:3", b"none", b"90s", b"2h", b"1e-5", b"99999")


def script_inputs(source):
    yield from (b"\x00", b"\x01", b"\x00\x01\x02\x03\x04")
    for length in (8, 16, 32, 64, 128, 256):
        for _ in range(4):
            yield source.randbytes(length)


def model_inputs(source):
    yield from script_inputs(source)
    # One edit: the 23rd of the names of fuzz_model.cpp, state/numbers, becomes a list of f64; then a matrix of 3x2.
    for numbers in ((0, 7, 3), (0, -3, 1), (0, 1e300, 1), (0, 0.5, 1), (0, 2.0**53, -2), (0, 7), (0, float("nan"), 1)):
        yield bytes([1, 22, 1, 7, 1, len(numbers), 0]) + struct.pack(f"<{len(numbers)}d", *numbers)
    yield bytes([1, 23, 1, 7, 2, 3, 2, 0]) + struct.pack("<6d", *range(5), float("inf"))


def tucker_inputs(source):
    yield from script_inputs(source)
    # The 12th of the names of fuzz_tucker.cpp, the core, becomes another of 2x2; then the 14th, a matrix of 3x2.
    for numbers in ((2, 0, 0, 1), (1, 0, 0, float("nan"))):
        yield bytes([1, 11, 1, 7, 2, 2, 2, 0]) + struct.pack("<4d", *numbers)
    yield bytes([1, 13, 1, 7, 2, 3, 2, 0]) + struct.pack("<6d", *range(5), float("inf"))


def main():
    source = random.Random(20220628)
    inputs = {"text": text_inputs(), "matrix_market": matrix_market_inputs(), "csv": csv_inputs(),
              "labels": label_inputs(), "time": time_inputs(), "npz": npz_inputs(), "npy_header": npy_header_inputs(),
              "payload": payload_inputs(source), "trailer": trailer_inputs(), "options": options_inputs(),
              "hdf5_coo": script_inputs(source), "model": model_inputs(source), "container": script_inputs(source),
              "tucker": tucker_inputs(source)}
    for target, cases in inputs.items():
        folder = pathlib.Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, case in enumerate(cases):
            (folder / f"seed-{number:02}").write_bytes(case)


main()
