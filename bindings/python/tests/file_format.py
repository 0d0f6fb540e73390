"""A reader of store files, made from docs/file-format.md alone.

It shows that the document is exact, so it takes nothing from twindex, and does not look at how twindex does it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias
from zlib import crc32

MAGIC = b"\x89TWX\r\n\x1a\n"
HEADER = 24
HEAD = 12
TABLE, PAIRS, END, LOG, SYNCED, KEPT = range(1, 7)
PUT, DELETE, CREATE, DROP, CLEAR, POSITION = range(6)

Item: TypeAlias = "bytes | str | int | float | tuple[Item, ...] | None"

Content: TypeAlias = tuple[str, str, str, list[tuple[bytes, bytes]]]
"""A table's index, its codecs, and its pairs in order."""


class DamagedError(Exception):
    """The bytes are no store file."""


@dataclass
class Table:
    id: int
    name: str
    index: str
    keys: str
    values: str
    pairs: dict[bytes, bytes] = field(default_factory=dict)

    def content(self) -> Content:
        return self.index, self.keys, self.values, sorted(self.pairs.items())


# Keys


def tuple_key(*items: Item) -> bytes:
    return b"".join(map(item_key, items))


def item_key(item: Item) -> bytes:
    match item:
        case None:
            return b"\x01"
        case bytes():
            return b"\x02" + item.replace(b"\0", b"\0\xff") + b"\0"
        case str():
            return b"\x03" + item.encode().replace(b"\0", b"\0\xff") + b"\0"
        case tuple():
            return b"\x05" + tuple_key(*item) + b"\0"
        case int():
            length = (abs(item).bit_length() + 7) // 8
            size = abs(item).to_bytes(length, "big")
            return bytes([0x14 + length]) + size if item >= 0 else bytes([0x14 - length]) + inverted(size)
    if item >= 2**63:
        return b"\x1d" + struct.pack(">d", item)
    if item < -(2**63):
        return b"\x0b" + inverted(struct.pack(">d", item))
    lower = math.floor(item)
    if item == lower:
        return item_key(lower) + b"\x1e"
    if lower >= 0:
        return item_key(lower) + b"\x1f" + struct.pack(">d", item - lower)
    return item_key(lower) + b"\x1f" + inverted(struct.pack(">d", lower + 1 - item))


def inverted(content: bytes) -> bytes:
    return bytes(byte ^ 0xFF for byte in content)


def sums(salt: int, offset: int, head: bytes, payload: bytes) -> tuple[int, int]:
    """Both checksums of a record, of whose head the kind and the length are given."""
    check = crc32(struct.pack("<QQ", salt, offset) + head)
    return check & 0xFFFF, crc32(payload, check)


class Step(NamedTuple):
    """How a key comes of the one before: so many bytes are cut off its end, and the rest follows."""

    cut: int
    rest: bytes
    shared: int
    value: bytes


# Reading


class Input:
    """Bytes that are taken from the front."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def take(self, length: int) -> bytes:
        taken = self.content[self.at : self.at + length]
        if len(taken) < length:
            raise DamagedError(f"{length} bytes are not there")
        self.at += length
        return taken

    def byte(self) -> int:
        return self.take(1)[0]

    def u64(self) -> int:
        return int.from_bytes(self.take(8), "little")

    def varint(self) -> int:
        number = 0
        for place in range(9):
            byte = self.byte()
            number |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return number
        raise DamagedError("a varint of more than nine bytes")

    def rest(self) -> bytes:
        return self.take(len(self.content) - self.at)

    def __bool__(self) -> bool:
        return self.at < len(self.content)


def unpack_pairs(packed: Input) -> Iterator[tuple[bytes, bytes]]:
    key, value_length = b"", 0
    row: list[Step] = []
    while packed:
        token = packed.byte()
        if token & 0x80:
            distance, count = (token >> 3 & 7) + 1, token & 7
            for _ in range(max(count, 1)):
                referred = row[-distance]
                value_length = len(referred.value) if token & 0x40 else packed.varint()
                rest = referred.rest if count else packed.take(len(referred.rest))
                shared = len(key) - referred.cut
                key = key[:shared] + rest
                row.append(Step(referred.cut, rest, shared, packed.take(value_length)))
                yield key, row[-1].value
        else:
            shared = token & 31
            shared += packed.varint() if shared == 31 else 0
            length = len(key) - shared if token & 0x20 else packed.varint()
            value_length = value_length if token & 0x40 else packed.varint()
            rest = packed.take(length)
            row.append(Step(len(key) - shared, rest, shared, packed.take(value_length)))
            key = key[:shared] + rest
            yield key, row[-1].value


def table_of(number: int, entry: Input) -> Table:
    index = ["hash", "sorted"][entry.byte()]
    keys = entry.take(entry.byte()).decode()
    values = entry.take(entry.byte()).decode()
    return Table(number, entry.rest().decode(), index, keys, values)


class Records:
    """The records of a file of this version."""

    version = 1

    def __init__(self, content: bytes | bytearray) -> None:
        self.content = bytes(content)
        header = Input(self.content)
        if header.take(8) != MAGIC or header.take(4) != struct.pack("<I", self.version):
            raise DamagedError(f"no file of version {self.version}")
        self.salt = header.u64()
        if header.take(4) != struct.pack("<I", crc32(content[:20])):
            raise DamagedError("the header's checksum")

    def record(self, offset: int) -> tuple[int, Input] | None:
        """The kind and the payload of the record that is here, unless there is no valid one."""
        head = self.content[offset : offset + 6]
        length = int.from_bytes(head[1:], "little")
        given = self.content[offset + 6 : offset + HEAD]
        if len(given) < 6 or not TABLE <= head[0] <= KEPT:
            return None
        check, crc = struct.unpack("<HI", given)
        if sums(self.salt, offset, head, b"")[0] != check:
            return None
        payload = self.content[offset + HEAD : offset + HEAD + length]
        if len(payload) < length or sums(self.salt, offset, head, payload)[1] != crc:
            return None
        return head[0], Input(payload)


class Reader(Records):
    """The contents of a store's file. `torn` is the offset of a torn end, or None."""

    def __init__(self, content: bytes | bytearray) -> None:
        super().__init__(content)
        self.tables: dict[int, Table] = {}
        self.kinds: list[int] = []
        self.kept: list[bytes] = []
        self.logged: list[bytes] = []
        self.operations = 0
        self.torn: int | None = None
        self.ids: set[int] = set()
        self.position = crc32(struct.pack("<Q", self.salt)), 0
        self.read_log(self.read_dump())

    def by_name(self) -> dict[str, Content]:
        return {table.name: table.content() for table in self.tables.values()}

    def read_dump(self) -> int:
        """Returns where the log starts."""
        offset, count = HEADER, 0
        while True:
            record = self.record(offset)
            if record is None:
                raise DamagedError(f"no valid record at {offset} of the dump")
            kind, payload = record
            self.kinds.append(kind)
            offset += HEAD + len(payload.content)
            if kind == TABLE:
                number, _hint = payload.varint(), payload.varint()
                self.create(number, payload)
            elif kind == PAIRS:
                pairs = self.tables[payload.varint()].pairs
                for key, value in unpack_pairs(payload):
                    if key in pairs:
                        raise DamagedError(f"the key {key!r} comes twice")
                    pairs[key] = value
                    count += 1
            elif kind == KEPT:
                self.kept.append(payload.content)
            elif kind == END:
                if payload.u64() != count:
                    raise DamagedError("the number of pairs")
                return offset
            else:
                raise DamagedError(f"a record of kind {kind} in the dump")

    def create(self, number: int, entry: Input) -> None:
        table = table_of(number, entry)
        if number in self.ids or table.name in self.by_name():
            raise DamagedError(f"the table {table.name!r} or its id {number} comes twice")
        self.ids.add(number)
        self.tables[number] = table

    def read_log(self, offset: int) -> None:
        while self.content[offset:].strip(b"\0"):
            record = self.record(offset)
            if record is None:
                self.tear(offset)
                return
            kind, payload = record
            self.kinds.append(kind)
            offset += HEAD + len(payload.content)
            if kind == LOG:
                self.logged.append(payload.content)
                session, sequence = self.position
                self.position = session, sequence + 1
                begins = True
                while payload:
                    self.operate(payload, begins=begins)
                    begins = False
            elif kind != SYNCED:
                raise DamagedError(f"a record of kind {kind} in the log")
            elif len(payload.content) != 8 or payload.u64() > offset - HEAD - 8:
                raise DamagedError("a record of what was on disk")

    def tear(self, offset: int) -> None:
        head, check = self.content[offset : offset + 6], self.content[offset + 6 : offset + 8]
        start = offset + 1
        if TABLE <= head[0] <= KEPT and sums(self.salt, offset, head, b"")[0] == int.from_bytes(
            check, "little"
        ):
            start = offset + HEAD + int.from_bytes(head[1:], "little")
        for behind in range(start, len(self.content)):
            record = self.record(behind)
            if record is not None and record[0] == SYNCED and record[1].u64() > offset:
                raise DamagedError(f"no valid record at {offset} of the log")
        self.torn = offset

    def operate(self, payload: Input, *, begins: bool) -> None:
        head = payload.byte()
        what, number = head & 7, head >> 3
        number += payload.varint() if number == 31 else 0
        self.operations += what != POSITION
        if what == POSITION:
            if not begins or number != 0:
                raise DamagedError("a position that begins no record")
            self.position = payload.u64(), payload.u64()
        elif what == CREATE:
            self.create(number, Input(payload.take(payload.varint())))
        elif number not in self.tables:
            raise DamagedError(f"no table has the id {number}")
        elif what == PUT:
            lengths = payload.varint(), payload.varint()
            key, value = map(payload.take, lengths)
            self.tables[number].pairs[key] = value
        elif what == DELETE:
            self.tables[number].pairs.pop(payload.take(payload.varint()), None)
        elif what == DROP:
            del self.tables[number]
        elif what == CLEAR:
            self.tables[number].pairs.clear()
        else:
            raise DamagedError(f"operation {what}")
