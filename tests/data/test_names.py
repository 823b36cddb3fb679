from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cerec.data.names import readable_entity, readable_relation, relation_names


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("http://dbpedia.org/resource/Al_Pacino", "Al Pacino"),
        ("http://dbpedia.org/resource/Category:War_epic_films", "War epic films"),
        ("http://dbpedia.org/resource/%22Crocodile%22_Dundee", '"Crocodile" Dundee'),
        ("http://dbpedia.org/resource/Face/Off", "Face/Off"),
        ("http://dbpedia.org/class/yago/WikicatOrionPicturesFilms", "orion pictures films"),
        ("http://www.w3.org/2002/07/owl#Thing", "Thing"),
        ("brand::Sexy Hair", "Sexy Hair"),
        ("brand::", "brand::"),
        ("m.0f7jpbw", "m.0f7jpbw"),
    ],
)
def test_entities(identifier: str, name: str) -> None:
    assert readable_entity(identifier) == name


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("http://dbpedia.org/property/productionCompanies", "production companies"),
        ("http://rdf.freebase.com/ns/music.recording.artist", "recording artist"),
        ("http://www.w3.org/2000/01/rdf-schema#seeAlso", "see also"),
        ("film.film.directed_by", "directed by"),
        ("movielens.genre", "genre"),
        ("attributes::HasTV", "has TV"),
        ("release_year", "release year"),
        ("release_year^-1", "release year (inverse)"),
        ("^-1", "^-1"),
    ],
)
def test_relations(identifier: str, name: str) -> None:
    assert readable_relation(identifier) == name


def test_two_relations_never_share_a_made_up_name() -> None:
    ids = ["a.org.genre", "b.org.genre", "year"]
    assert relation_names(ids, {"year": "when"}) == {
        "a.org.genre": "a.org.genre",
        "b.org.genre": "b.org.genre",
        "year": "when",
    }


@given(st.text(min_size=1))
def test_names_are_never_empty(identifier: str) -> None:
    assert readable_entity(identifier)
    assert readable_relation(identifier)
