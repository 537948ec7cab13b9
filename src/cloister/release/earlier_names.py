"""Names of earlier manifests: this version reads and verifies releases that use them.

A name is another one only inside the part of the manifest that it belongs to, and so is a word: anything else may be
a column, or the name of a file that belongs to one.
"""

from collections.abc import Mapping

from cloister.results import Manifest

Names = Mapping[tuple[str, ...], str]

RENAMED: Names = {
    ("adversary", "tolerant"): "flag_aware",
    ("rules", "tolerant"): "flag_aware",
    ("risk", "tolerant"): "flag_aware",
    ("utility", "are"): "average_relative_error",
    ("utility", "codes_untold"): "codes_suppressed",
    ("utility", "ages_untold"): "ages_suppressed",
    ("utility", "patients_untold"): "patients_suppressed",
    ("utility", "occurrences_told"): "occurrences_counted",
}
"""By the part and the earlier name of a key, its name today."""

REWORDED: Names = {
    ("adversary", "likeliest", "told"): "reported",
    ("rules", "likeliest", "told"): "reported",
    ("likeliest", "limit", "told"): "reported",
    ("attacks", "adversary", "flags believed (tolerant)"): "flags believed",
}
"""By the part, a key in it and an earlier word under that, the word of today."""


def with_names_of_today(manifest: Manifest) -> Manifest:
    """Return a manifest with its names replaced by those of today."""
    return _renamed(manifest, RENAMED, REWORDED)


def with_earlier_names(manifest: Manifest) -> Manifest:
    """Return a manifest with its names replaced by earlier ones, where there are any."""
    return _renamed(manifest, _turned(RENAMED), _turned(REWORDED))


def _turned(names: Names) -> Names:
    return {(*where, today): earlier for (*where, earlier), today in names.items()}


def _renamed(manifest: Manifest, keys: Names, words: Names) -> Manifest:
    def rename(value: object, around: str, part: str) -> object:
        if isinstance(value, Mapping):
            return {keys.get((part, name), name): rename(one, part, name) for name, one in value.items()}
        if isinstance(value, list):
            return [rename(one, around, part) for one in value]
        return words.get((around, part, value), value) if isinstance(value, str) else value

    return {name: rename(one, "", name) for name, one in manifest.items()}
