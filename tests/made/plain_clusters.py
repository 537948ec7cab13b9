"""A disassociation as plain lists, to be changed by hand, and back; small ones at random."""

from dataclasses import dataclass, field

import numpy as np

from cloister.shapes.disassociation.format.data import Chunks, Disassociation


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


def random_release(rng, largest=4, clusters=5):
    """A random release that keeps all promises for k = m = 1, its sensitive codes and l; None if none came about.

    It is not in the order of a written one.
    """
    n_codes, n = rng.randint(2, 6), rng.randint(1, clusters)
    sizes, joints, roots = [rng.randint(1, largest) for _ in range(n)], [], list(range(n))
    while len(roots) > 1 and rng.random() < 0.85:
        joints.append(sorted(rng.sample(roots, rng.randint(2, min(3, len(roots))))))
        roots = [root for root in roots if root not in joints[-1]] + [n + len(joints) - 1]
    sensitive = set(rng.sample(range(n_codes), 1)) if n_codes > 2 and rng.random() < 0.3 else set()
    diversity = rng.randint(1, 3) if sensitive else 1
    held, chunks, items = [set() for _ in range(n)], [], []
    for cluster, size in enumerate(sizes):
        rest = [code for code in range(n_codes) if code not in sensitive]
        rng.shuffle(rest)
        while rest and rng.random() < 0.6:
            domain, rest = rest[:2], rest[2:]
            domain = domain[: rng.randint(1, 2)]
            count = rng.randint(1, size) if rng.random() < 0.5 else size
            chunks.append(Chunk(cluster, sorted(domain), _subrecords(rng, domain, count)))
            held[cluster] |= set(domain)
        items.append(
            sorted({code for code in rest if rng.random() < 0.25} | (sensitive if size >= diversity else set()))
        )
        held[cluster] |= set(items[-1])
        own = sum(len(chunk.subrecords) for chunk in chunks if chunk.owner == cluster)
        if own < size and set(items[-1]) <= sensitive:
            return None
    shared = []
    for joint in range(len(joints)):
        under = set(members_of(n + joint, n, joints))
        for _ in range(rng.randint(0, 3)):
            domain = [code for code in rng.sample(range(n_codes), 2) if code not in sensitive]
            taken = [one.domain for one in shared if under & set(members_of(n + one.owner, n, joints))]
            domain = sorted(code for code in domain if all(code not in other for other in taken))
            if any(set(domain) & held[cluster] for cluster in under):
                domain = domain[:1]  # of several codes none may be foreign
            room = sum(sizes[cluster] for cluster in under if not set(domain) & held[cluster])
            if domain and room:
                count = rng.randint(1, room) if rng.random() < 0.6 else room
                shared.append(Chunk(joint, domain, _subrecords(rng, domain, count)))
    vocabulary = tuple("abcdef"[:n_codes])
    release = Plain(1, 1, vocabulary, sizes, chunks, items, joints, shared, sensitive=tuple(sorted(sensitive)))
    return release.pack(), diversity


def members_of(node, n, joints):
    """The clusters under a cluster or joint cluster."""
    return [node] if node < n else [cluster for child in joints[node - n] for cluster in members_of(child, n, joints)]


def _subrecords(rng, domain, count):
    found = [{code for code in domain if rng.random() < 0.6} or {rng.choice(domain)} for _ in range(count)]
    for code in domain:
        if not any(code in subrecord for subrecord in found):
            rng.choice(found).add(code)
    return sorted(sorted(subrecord) for subrecord in found)
