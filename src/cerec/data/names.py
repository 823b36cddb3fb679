"""Names that read well, out of identifiers that were made for machines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

INVERSE = "^-1"
"""Ending of the id of a relation read backwards, so that the item is the head."""
_URI = re.compile(r"[a-z][a-z0-9+.-]*://")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def readable_entity(identifier: str) -> str:
    """The name in an entity's id: last part of a URI or of `kind::value`, spaces for underscores.

    >>> readable_entity("http://dbpedia.org/resource/Category:War_epic_films")
    'War epic films'
    """
    if not _URI.match(identifier):
        last = identifier.rsplit("::", 1)[-1]
        return last if last.strip() else identifier
    for anchor in ("/resource/", "/class/yago/"):
        _, found, last = identifier.partition(anchor)
        if found and last:
            text = unquote(last).removeprefix("Category:")
            return _words(text) if anchor == "/class/yago/" else text.replace("_", " ")
    return _words(_last(identifier))


def readable_relation(identifier: str) -> str:
    """The name in a relation's id, in words: `productionCompanies` is "production companies"."""
    base = identifier.removesuffix(INVERSE)
    if base and base != identifier:
        return f"{readable_relation(base)} (inverse)"
    if _URI.match(identifier):
        last = _last(identifier)
        return _dotted(last) if last.count(".") == 2 else _words(last)
    if "::" in identifier:
        last = identifier.rsplit("::", 1)[-1]
        return _words(last) if last.strip() else identifier
    if re.fullmatch(r"\w+\.\w+(\.\w+)?", identifier):
        return _dotted(identifier)
    return identifier.replace("_", " ") if identifier.strip("_ ") else identifier


def relation_names(ids: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """A name for every relation: the given one, else a readable one where it is unambiguous."""
    names = {i: given.get(i) or _default(i, given) for i in ids}
    count = Counter(names.values())
    return {i: n if given.get(i) or count[n] == 1 else i for i, n in names.items()}


def _default(identifier: str, given: Mapping[str, str]) -> str:
    base = given.get(identifier.removesuffix(INVERSE))
    return f"{base} (inverse)" if base else readable_relation(identifier)


def _last(uri: str) -> str:
    """The part after the last slash or hash."""
    last = re.split(r"[/#]", unquote(uri).rstrip("/#"))[-1]
    return last or uri


def _dotted(path: str) -> str:
    """`film.film.actor` is "actor", `film.director.film` "director film"."""
    *domain, last = path.split(".")
    middle = [domain[1]] if len(domain) == 2 and domain[0] != domain[1] else []
    return " ".join([*middle, last]).replace("_", " ")


def _words(text: str) -> str:
    """CamelCase and underscores to words."""
    bare = re.sub(r"^Wikicat|\d{6,}$", "", text) or text
    words = _CAMEL.sub(" ", bare).replace("_", " ").split()
    if len(words) == 1:
        return words[0]
    return " ".join(w if w.isupper() else w.lower() for w in words) or text
