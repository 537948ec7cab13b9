"""Names that manifests had before: a release with them is read by those of today, and is still verified.

A name is another one only inside the part of the manifest that it belongs to: anything else may be a column.
"""

from collections.abc import Mapping

from cloister.results import Manifest

RENAMED = {
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

REWORDED = {
    ("likeliest", "told"): "reported",
    ("limit", "told"): "reported",
    ("adversary", "flags believed (tolerant)"): "flags believed",
}
"""By the key and an earlier word under it, the word of today."""

Names = Mapping[tuple[str, str], str]


def with_names_of_today(manifest: Manifest) -> Manifest:
    """Return a manifest by the names of today."""
    return _renamed(manifest, RENAMED, REWORDED)


def with_earlier_names(manifest: Manifest) -> Manifest:
    """Return a manifest by the names that it may have had before."""
    return _renamed(manifest, _turned(RENAMED), _turned(REWORDED))


def _turned(names: Names) -> Names:
    return {(part, today): earlier for (part, earlier), today in names.items()}


def _renamed(manifest: Manifest, keys: Names, words: Names) -> Manifest:
    def rename(value: object, part: str) -> object:
        if isinstance(value, Mapping):
            return {keys.get((part, name), name): rename(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [rename(one, part) for one in value]
        return words.get((part, value), value) if isinstance(value, str) else value

    return {name: rename(one, name) for name, one in manifest.items()}
