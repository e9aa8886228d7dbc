"""Write ``src/podling/apiserver/protobuf_fields.json``: the number of each field in Kubernetes' protobuf.

The numbers come from the descriptors that every official client carries inside: ``kubectl`` embeds the
compiled ``generated.proto`` of each API group, compressed. Only the groups that Podling serves are kept, and
of each field its number, JSON name and type.

Descriptors do not say which scalars are pointers in Go, and those matter: ``replicas: 0`` means zero, while
``hostPort: 0``, which Go's encoder writes as well, means nothing was said. That is read from the types that
the binary keeps for reflection: every struct field there has its tag and the kind of its type.

    python tools/gen_protobuf.py [path of kubectl]
"""

from __future__ import annotations

import json
import re
import shutil
import struct
import sys
import zlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy

from podling.machinery.scheme import RESOURCES, module_of
from podling.machinery.shapes import fields_of

TARGET = Path(__file__).resolve().parent.parent / "src" / "podling" / "apiserver" / "protobuf_fields.json"
GZIP_HEADER = re.compile(rb"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff")
LONGEST = 1 << 20
MACHINERY = "k8s.io.apimachinery.pkg."
META = f"{MACHINERY}apis.meta.v1"
PACKAGES = (META, f"{MACHINERY}api.resource", f"{MACHINERY}runtime", f"{MACHINERY}util.intstr")
SCALARS = {1: "double", 3: "int", 4: "int", 5: "int", 8: "bool", 9: "string", 12: "bytes", 13: "int"}
MESSAGE = 11
REPEATED = 3

TAG = re.compile(rb'protobuf:"[a-z0-9]+,(\d+),(?:opt|rep|req)(?:,packed)?,name=(\w+)')
FIELD_WORDS = 3
"""A struct field in Go's reflection data: its name, its type, its offset."""
KIND_OFFSET = 23
KIND_MASK = 31
POINTER = 22

Message = dict[int, list[Any]]


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def parse(data: bytes) -> Message:
    """The fields of one message by number, each with all of its values."""
    found: Message = {}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value: Any
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError("not a descriptor")
        found.setdefault(tag >> 3, []).append(value)
    return found


def descriptors(binary: bytes) -> Iterator[Message]:
    """Every compiled proto file inside ``binary``."""
    for match in GZIP_HEADER.finditer(binary):
        try:
            data = zlib.decompressobj(31).decompress(binary[match.start() : match.start() + LONGEST])
            file = parse(data)
            if file[1][0].endswith(b"generated.proto") and 4 in file:
                yield file
        except (zlib.error, ValueError, IndexError, KeyError):
            continue


def text(message: Message, number: int) -> str:
    return message[number][0].decode() if number in message else ""


def messages(file: Message) -> Iterator[tuple[str, Message]]:
    """Every message of a file with its full name, nested ones (map entries) too."""
    waiting = [(f"{text(file, 2)}.{text(parse(each), 1)}", parse(each)) for each in file.get(4, [])]
    for name, message in waiting:
        yield name, message
        waiting += [(f"{name}.{text(parse(each), 1)}", parse(each)) for each in message.get(3, [])]


def struct_of(name: str) -> Any:
    """Our type of a message, or None."""
    package, _, short = name.rpartition(".")
    *_, group, version = package.split(".")
    module = "meta_v1" if package == META else f"{group}_{version}"
    try:
        return getattr(import_module(f"podling.api.{module}"), short, None)
    except ImportError:
        return None


def table(name: str, message: Message, runs: list[dict[int, tuple[str, bool]]]) -> dict[str, list[str]]:
    """number -> [JSON name, type, how]; how is "", "pointer", "repeated" or "inline"."""
    pointers = pointers_of(message, runs)
    ours = struct_of(name)
    known = set(fields_of(ours)) if ours else None
    rows: dict[str, list[str]] = {}
    for each in message.get(2, []):
        field = parse(each)
        json_name, kind = text(field, 1), field[5][0]
        type_name = text(field, 6).lstrip(".") if kind == MESSAGE else SCALARS[kind]
        how = "repeated" if field[4][0] == REPEATED else ""
        if known is not None and json_name not in known:
            if kind == MESSAGE and not how:
                how = "inline"
            else:
                json_name = next((other for other in known if other.lower() == json_name.lower()), json_name)
        if not how and kind != MESSAGE and field[3][0] in pointers:
            how = "pointer"
        rows[str(field[3][0])] = [json_name, type_name, how]
    return rows


def read_only_data(binary: bytes) -> tuple[int, bytes]:
    """Address and content of an ELF binary's ``.rodata``."""
    start, size, count, names = struct.unpack_from("<Q10xHHH", binary, 0x28)
    sections = [struct.unpack_from("<IIQQQQ", binary, start + size * each) for each in range(count)]
    texts = sections[names][4]
    for name, _kind, _flags, address, offset, length in sections:
        if binary[texts + name : texts + name + 8] == b".rodata\0":
            return address, binary[offset : offset + length]
    raise SystemExit("the binary has no .rodata")


def struct_fields(address: int, data: bytes) -> dict[int, tuple[int, str]]:
    """Where the name of each struct field with a protobuf tag is: address -> (number, proto name)."""
    found = {}
    for match in TAG.finditer(data):
        tag = data.rfind(b'json:"', match.start() - 200, match.start())
        for width in (1, 2):  # of the tag's length, written before it
            if tag < 0 or tag + varint(data, tag - width)[0] < match.end():
                continue  # the tag ends before: what was found belongs to another one
            for length in range(1, 60):
                at = tag - width - length - 2
                name = data[at + 2 : at + 2 + length]
                if data[at + 1] == length and data[at] & 2 and name.isalnum():
                    found[address + at] = (int(match[1]), match[2].decode())
    return found


def go_structs(binary: bytes) -> list[dict[int, tuple[str, bool]]]:
    """Runs of tagged fields as they lie in memory: number -> (proto name, whether it is a pointer)."""
    address, data = read_only_data(binary)
    fields = struct_fields(address, data)
    words = numpy.frombuffer(data[: len(data) // 8 * 8], dtype="<u8")
    runs: list[dict[int, tuple[str, bool]]] = []
    last = -FIELD_WORDS
    for each in numpy.nonzero(numpy.isin(words, numpy.array(sorted(fields), dtype="<u8")))[0]:
        at = int(each)
        kind_at = int(words[at + 1]) - address + KIND_OFFSET
        if not 0 <= kind_at < len(data):
            continue
        number, name = fields[int(words[at])]
        if at - last != FIELD_WORDS or number in runs[-1]:
            runs.append({})
        runs[-1][number] = (name, data[kind_at] & KIND_MASK == POINTER)
        last = at
    return runs


def pointers_of(message: Message, runs: list[dict[int, tuple[str, bool]]]) -> set[int]:
    """The numbers of a message's fields that are pointers, by the struct that looks most like it."""
    own = {(parse(each)[3][0], text(parse(each), 1)) for each in message.get(2, [])}
    fitting = [run for run in runs if {(number, name) for number, (name, _) in run.items()} <= own]
    longest: dict[int, int] = {}
    for run in fitting:
        for number in run:
            longest[number] = max(longest.get(number, 0), len(run))
    return {
        number
        for run in fitting
        for number, (_, pointer) in run.items()
        if pointer and len(run) == longest[number]
    }


def main() -> None:
    kubectl = sys.argv[1] if len(sys.argv) > 1 else shutil.which("kubectl")
    if kubectl is None:
        raise SystemExit("needs kubectl")
    served = {module_of(each.group, each.version).rpartition(".")[2] for each in RESOURCES} | {"policy_v1"}
    tables: dict[str, dict[str, list[str]]] = {}
    binary = Path(kubectl).resolve().read_bytes()
    runs = go_structs(binary)
    for file in descriptors(binary):
        package = text(file, 2)
        module = "_".join(package.split(".")[-2:])
        if package in PACKAGES or (package.startswith("k8s.io.api.") and module in served):
            tables |= {name: table(name, message, runs) for name, message in messages(file)}
    TARGET.write_text(json.dumps(dict(sorted(tables.items())), separators=(",", ":")) + "\n")
    print(f"{len(tables)} messages in {TARGET}")


if __name__ == "__main__":
    main()
