"""A disassociation as plain lists, to be changed by hand, and back."""

from dataclasses import dataclass, field

import numpy as np

from cloister.codesets.disassociation.data import Chunks, Disassociation


@dataclass
class Chunk:
    """A record chunk or a shared chunk: the cluster or joint cluster it belongs to, its codes and subrecords."""

    owner: int
    domain: list
    subrecords: list


@dataclass
class Plain:
    """A release with item numbers; ``joints`` are lists of children, ``joint_sizes`` None to have them added up."""

    k: int
    m: int
    vocabulary: tuple
    sizes: list
    chunks: list
    items: list
    joints: list = field(default_factory=list)
    shared: list = field(default_factory=list)
    joint_sizes: list | None = None
    repeats: bool = False
    sensitive: tuple = ()

    def pack(self):
        """The release itself."""
        joint_sizes = self._added_up() if self.joint_sizes is None else self.joint_sizes
        return Disassociation(
            k=self.k,
            m=self.m,
            vocabulary=self.vocabulary,
            sizes=np.array(self.sizes, dtype=np.int64),
            record_chunks=packed(self.chunks),
            item_offsets=starts(self.items),
            item_chunks=flat(self.items),
            child_offsets=starts(self.joints),
            children=flat(self.joints).astype(np.int64),
            joint_sizes=np.array(joint_sizes, dtype=np.int64),
            shared_chunks=packed(self.shared),
            repeats=self.repeats,
            sensitive=np.array(self.sensitive, dtype=np.int32),
        )

    def _added_up(self):
        sizes = [*self.sizes]
        for children in self.joints:
            sizes.append(sum(sizes[child] for child in children))
        return sizes[len(self.sizes) :]


def starts(lists):
    """Where each list begins once they stand one after the other."""
    return np.concatenate([[0], np.cumsum([len(values) for values in lists])]).astype(np.int64)


def flat(lists):
    """The values of lists one after the other."""
    return np.array([value for values in lists for value in values], dtype=np.int32)


def packed(chunks):
    """Chunks as arrays."""
    subrecords = [subrecord for chunk in chunks for subrecord in chunk.subrecords]
    return Chunks(
        np.array([chunk.owner for chunk in chunks], dtype=np.int32),
        starts([chunk.domain for chunk in chunks]),
        flat([chunk.domain for chunk in chunks]),
        starts([chunk.subrecords for chunk in chunks]),
        starts(subrecords),
        flat(subrecords),
    )


def unpacked(chunks):
    """Chunks as plain lists."""
    return [
        Chunk(int(chunks.owner[number]), chunks.domain_of(number), chunks.subrecords_of(number))
        for number in range(len(chunks))
    ]


def unpack(released):
    """A release as plain lists."""
    return Plain(
        released.k,
        released.m,
        released.vocabulary,
        released.sizes.tolist(),
        unpacked(released.record_chunks),
        [released.item_chunk_of(cluster) for cluster in range(released.n_clusters)],
        [released.children_of(joint) for joint in range(released.n_joints)],
        unpacked(released.shared_chunks),
        released.joint_sizes.tolist(),
        released.repeats,
        tuple(released.sensitive.tolist()),
    )
