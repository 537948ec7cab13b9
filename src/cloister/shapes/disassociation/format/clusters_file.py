"""``clusters.json``: disassociated code sets as JSON, with one cluster, joint cluster or shared chunk per line.

The file is written and read line by line, as ten million patients do not fit as one document. One form has one text:
`write_clusters` of what `read_clusters` returns gives the same bytes.
"""

import json
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cloister.errors import InputError
from cloister.io import private_file
from cloister.kernels.ragged import starts_of

from .data import Chunks, Disassociation

SCHEMA = 1
METHOD = "disassociation"
CLUSTERS, JOINTS, SHARED = "clusters", "joint_clusters", "shared_chunks"
CHUNKS_AT_ONCE = 1 << 16
INSIDE, LAST_OF_SUBRECORD, LAST_OF_CHUNK = range(3)
Numbers = NDArray[np.int64]


class NotAsWritten(Exception):
    """A file does not contain disassociated code sets; no details, because these could contain a patient's value."""


UNREADABLE = (NotAsWritten, AttributeError, LookupError, OSError, OverflowError, RecursionError, TypeError, ValueError)


def write_clusters(released: Disassociation, path: Path) -> None:
    """Write a new file that only its owner can read."""
    with private_file(path) as file:
        for line in cluster_lines(released):
            file.write(line)


def cluster_lines(released: Disassociation) -> Iterator[bytes]:
    """Yield the file in pieces that end in a newline."""
    quoted = [json.dumps(code, ensure_ascii=False) for code in released.vocabulary]
    head: dict[str, object] = {"schema": SCHEMA, "method": METHOD, "k": released.k, "m": released.m}
    if released.repeats:
        head["repeats"] = True
    if released.sensitive.size:
        head["sensitive"] = [released.vocabulary[item] for item in released.sensitive.tolist()]
    yield (json.dumps(head, ensure_ascii=False)[:-1] + ",\n").encode()
    owners = released.shared_chunks.owner.tolist()
    texts = zip(owners, _chunk_texts(released.shared_chunks, quoted), strict=True)
    shared = (f'{{"joint": {joint}, {text}}}' for joint, text in texts)
    for name, lines in ((CLUSTERS, _clusters(released, quoted)), (JOINTS, _joints(released)), (SHARED, shared)):
        yield f' "{name}": ['.encode()
        between = "\n  "
        for line in lines:
            yield f"{between}{line}".encode()
            between = ",\n  "
        yield b"]}\n" if name == SHARED else b"],\n"


def _clusters(released: Disassociation, quoted: list[str]) -> Iterator[str]:
    chunks = _chunk_texts(released.record_chunks, quoted)
    counts = np.bincount(released.record_chunks.owner, minlength=released.n_clusters)
    named = (dict(zip(released.class_columns, labels, strict=True)) for labels in released.classes)
    labels = [f'"class": {json.dumps(each, ensure_ascii=False)}, ' for each in named]
    for cluster, (size, count) in enumerate(zip(released.sizes.tolist(), counts.tolist(), strict=True)):
        texts = ", ".join(f"{{{next(chunks)}}}" for _ in range(count))
        items = ", ".join(quoted[item] for item in released.item_chunk_of(cluster))
        own = labels[int(released.class_of[cluster])] if labels else ""
        yield f'{{{own}"size": {size}, "record_chunks": [{texts}], "item_chunk": [{items}]}}'


def _joints(released: Disassociation) -> Iterator[str]:
    for joint, size in enumerate(released.joint_sizes.tolist()):
        children = released.children_of(joint)
        clusters = [child for child in children if child < released.n_clusters]
        joints = [child - released.n_clusters for child in children if child >= released.n_clusters]
        yield f'{{"clusters": {clusters}, "joint": {joints}, "size": {size}}}'


def _chunk_texts(chunks: Chunks, quoted: list[str]) -> Iterator[str]:
    """Yield domain and subrecords of each chunk as JSON, without the braces."""
    endings = (", ", "], [", "")  # as INSIDE, LAST_OF_SUBRECORD, LAST_OF_CHUNK
    tokens = np.array([code + ending for code in quoted for ending in endings], dtype=object)
    for start in range(0, len(chunks), CHUNKS_AT_ONCE):
        stop = min(start + CHUNKS_AT_ONCE, len(chunks))
        ends = chunks.item_offsets[chunks.subrecord_offsets[start] : chunks.subrecord_offsets[stop] + 1]
        starts = chunks.item_offsets[chunks.subrecord_offsets[start : stop + 1]] - ends[0]
        kind = np.full(int(ends[-1] - ends[0]), INSIDE, dtype=np.int64)
        kind[ends[1:] - ends[0] - 1] = LAST_OF_SUBRECORD
        kind[starts[1:] - 1] = LAST_OF_CHUNK
        words = tokens[chunks.items[ends[0] : ends[-1]] * np.int64(len(endings)) + kind].tolist()
        bounds = starts.tolist()
        for chunk in range(start, stop):
            domain = ", ".join(quoted[item] for item in chunks.domain_of(chunk))
            body = "".join(words[bounds[chunk - start] : bounds[chunk - start + 1]])
            yield f'"domain": [{domain}], "subrecords": [[{body}]]'


def read_clusters(path: Path) -> Disassociation:
    """Parse a file of clusters; the verifier checks its guarantee."""
    try:
        with path.open("rb") as file:
            head = json.loads(file.readline().strip().removesuffix(b",") + b"}")
            return _from_parts(head, {name: _parse_lines(file, name) for name in (CLUSTERS, JOINTS, SHARED)})
    except UNREADABLE:
        pass
    try:
        content = json.loads(path.read_bytes())  # laid out in another way: read as one document
        return _from_parts(content, {name: _list(content[name]) for name in (CLUSTERS, JOINTS, SHARED)})
    except UNREADABLE:
        pass
    raise InputError(f"{path.name} cannot be read as disassociated code sets.", file=path.name)


def same_release(one: Disassociation, other: Disassociation) -> bool:
    """Return whether two releases are equal, field by field."""
    return all(_same(getattr(one, part.name), getattr(other, part.name)) for part in fields(Disassociation))


def _same(one: object, other: object) -> bool:
    if isinstance(one, Chunks):
        return all(_same(getattr(one, part.name), getattr(other, part.name)) for part in fields(Chunks))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return one == other


def _parse_lines(file: BinaryIO, name: str) -> Iterator[dict[str, object]]:
    start = f' "{name}": ['.encode()
    line = file.readline()
    if not line.startswith(start):
        raise NotAsWritten
    end = b"]}\n" if name == SHARED else b"],\n"
    if line == start + end:
        return
    is_last = False
    while not is_last:
        line = file.readline()
        is_last = line.endswith(end)
        yield json.loads(line[: -len(end)] if is_last else line.rstrip().removesuffix(b","))
    if name == SHARED and file.readline():
        raise NotAsWritten


def _from_parts(head: dict[str, object], lists: dict[str, Iterable[dict[str, object]]]) -> Disassociation:
    if head["schema"] != SCHEMA or head["method"] != METHOD:
        raise NotAsWritten
    codes = _Numbered()
    columns: tuple[str, ...] = ()
    classes: dict[tuple[str | None, ...], int] = {}
    class_of, sizes, joint_sizes = array("i"), array("q"), array("q")
    item_chunks, children = _Ragged(), _Ragged()
    record_chunks, shared_chunks = _ChunkBuilder(codes), _ChunkBuilder(codes)
    for number, cluster in enumerate(lists[CLUSTERS]):
        if "class" in cluster:
            labels = cluster["class"]
            if type(labels) is not dict or not all(text is None or type(text) is str for text in labels.values()):
                raise NotAsWritten
            if (*labels,) != (columns := columns or (*labels,)):
                raise NotAsWritten
            class_of.append(classes.setdefault((*labels.values(),), len(classes)))
        sizes.append(_whole_number(cluster["size"]))
        item_chunks.add(codes.numbers(_list(cluster["item_chunk"])))
        for chunk in _list(cluster["record_chunks"]):
            record_chunks.add(number, chunk)
    for number, joint in enumerate(lists[JOINTS]):
        clusters = [_whole_number(child, below=len(sizes)) for child in _list(joint["clusters"])]
        earlier = [len(sizes) + _whole_number(child, below=number) for child in _list(joint["joint"])]
        children.add([*clusters, *earlier])
        joint_sizes.append(_whole_number(joint["size"]))
    for chunk in lists[SHARED]:
        shared_chunks.add(_whole_number(chunk["joint"]), chunk)
    sensitive = codes.numbers(_list(head.get("sensitive", [])))
    order, vocabulary = codes.in_order()
    return Disassociation(
        k=_whole_number(head["k"]),
        m=_whole_number(head["m"]),
        vocabulary=vocabulary,
        sizes=np.array(sizes, dtype=np.int64),
        record_chunks=record_chunks.built(order),
        item_offsets=item_chunks.offsets(),
        item_chunks=item_chunks.items(order),
        child_offsets=children.offsets(),
        children=np.array(children.values, dtype=np.int64),
        joint_sizes=np.array(joint_sizes, dtype=np.int64),
        shared_chunks=shared_chunks.built(order),
        repeats=head.get("repeats", False) is True,
        sensitive=order[np.array(sensitive, dtype=np.int64)].astype(np.int32),
        class_columns=columns,
        classes=tuple(classes),
        class_of=np.array(class_of, dtype=np.int32),
    )


def _list(value: object) -> list[Any]:
    if type(value) is not list:
        raise NotAsWritten
    return value


def _whole_number(value: object, *, below: int = 1 << 31) -> int:
    if type(value) is not int or not 0 <= value < below:
        raise NotAsWritten
    return value


class _Numbered:
    """Codes as numbers, in the order in which they are met."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def numbers(self, codes: list[str]) -> list[int]:
        try:
            return list(map(self.known.__getitem__, codes))
        except KeyError:  # some are met for the first time
            if not all(type(code) is str for code in codes):
                raise NotAsWritten from None
            return [self.known.setdefault(code, len(self.known)) for code in codes]

    def in_order(self) -> tuple[Numbers, tuple[str, ...]]:
        """Return the place of each number in the vocabulary, and the vocabulary."""
        vocabulary = sorted(self.known, key=lambda code: code.encode())
        order = np.zeros(len(vocabulary), dtype=np.int64)
        order[[self.known[code] for code in vocabulary]] = np.arange(len(vocabulary))
        return order, tuple(vocabulary)


class _Ragged:
    """Lists of numbers, one after the other; kept as arrays so that millions fit."""

    def __init__(self) -> None:
        self.lengths, self.values = array("i"), array("i")

    def add(self, numbers: list[int]) -> None:
        self.lengths.append(len(numbers))
        self.values.fromlist(numbers)

    def offsets(self) -> Numbers:
        """Where each list begins, and the end."""
        return starts_of(np.array(self.lengths, dtype=np.int64))

    def items(self, order: Numbers) -> NDArray[np.int32]:
        """All lists together, as places in the vocabulary."""
        return order[np.array(self.values, dtype=np.int32)].astype(np.int32)


class _ChunkBuilder:
    """Chunks as they are read."""

    def __init__(self, codes: _Numbered) -> None:
        self.codes = codes
        self.owner, self.counts = array("i"), array("i")
        self.domains, self.subrecords = _Ragged(), _Ragged()

    def add(self, owner: int, chunk: dict[str, object]) -> None:
        subrecords = _list(chunk["subrecords"])
        if not set(map(type, subrecords)) <= {list}:
            raise NotAsWritten
        self.owner.append(owner)
        self.domains.add(self.codes.numbers(_list(chunk["domain"])))
        self.counts.append(len(subrecords))
        self.subrecords.lengths.fromlist(list(map(len, subrecords)))
        self.subrecords.values.fromlist(self.codes.numbers(list(chain.from_iterable(subrecords))))

    def built(self, order: Numbers) -> Chunks:
        """Return the chunks with places in the vocabulary for codes."""
        return Chunks(
            owner=np.array(self.owner, dtype=np.int32),
            domain_offsets=self.domains.offsets(),
            domain=self.domains.items(order),
            subrecord_offsets=starts_of(np.array(self.counts, dtype=np.int64)),
            item_offsets=self.subrecords.offsets(),
            items=self.subrecords.items(order),
        )
