"""Pages, charts and drawings, worked by hand."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from cerec_bench.reproduce.chart import Series, _ticks, line_chart
from cerec_bench.reproduce.drawing import draw_case, steps_text
from cerec_bench.reproduce.text import Grid, Page, Picture, percent, spread_text
from cerec_bench.search.explanation import Change, Explanation, Named, Step


def test_a_table_in_markdown_and_latex() -> None:
    grid = Grid("Two rows.", ["", "a_b", "±"], [["x & y", "**1**", "2"], ["z", "3", "-"]])
    assert grid.markdown() == (
        "Two rows.\n\n|  | a_b | ± |\n| --- | ---: | ---: |\n| x & y | **1** | 2 |\n| z | 3 | - |"
    )
    latex = grid.latex()
    assert r"x \& y & \textbf{1} & 2 \\" in latex
    assert r" & a\_b & $\pm$ \\" in latex
    assert r"\begin{tabular}{lrr}" in latex


def test_stars_and_emphasis_in_latex() -> None:
    latex = Grid("", ["", "a"], [["x", r"**0.1 ± 0.2**\*"], ["y", r"*0.3*"]]).latex()
    assert r"x & \textbf{0.1 $\pm$ 0.2}$^{*}$ \\" in latex
    assert r"y & \emph{0.3} \\" in latex


def test_pipes_in_names_do_not_break_a_table() -> None:
    assert Grid("", ["a|b"], [["c|d"]]).markdown().count("|") - 2 * 3 == 2  # the two escaped


def test_a_page_names_its_pictures(tmp_path: Path) -> None:
    page = Page("p", "Title", ["Words.", Picture("fig", "A figure", "<svg/>")])
    made = page.write(tmp_path)
    assert [path.name for path in made] == ["p.md", "p-fig.svg"]
    assert (tmp_path / "p.md").read_text() == "# Title\n\nWords.\n\n![A figure](p-fig.svg)\n"


def test_numbers_as_text() -> None:
    assert spread_text([1.0, 3.0], 1) == "2.0 ± 1.4"
    assert spread_text([0.25]) == "0.2500"
    assert spread_text([]) == "-"
    assert percent(0.125) == "12.5 %"
    assert percent(None) == "-"


def test_ticks_are_round_and_enclose() -> None:
    assert _ticks([0.0, 1.0]) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert _ticks([2.0, 2.0])[0] < 2.0 < _ticks([2.0, 2.0])[-1]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_a_chart_is_well_formed_and_holds_every_point(ys: list[float]) -> None:
    svg = line_chart([Series("a < b", list(range(len(ys))), ys)], "x", "y & z")
    assert svg == line_chart([Series("a < b", list(range(len(ys))), ys)], "x", "y & z")
    root = ET.fromstring(svg)
    line = root.find("{http://www.w3.org/2000/svg}polyline")
    assert line is not None
    points = [tuple(map(float, p.split(","))) for p in line.attrib["points"].split()]
    assert len(points) == len(ys)
    assert all(0 <= x <= 800 and 0 <= y <= 400 for x, y in points)


def test_a_case_is_drawn_with_its_names() -> None:
    heat, ronin = Named("i1", "Heat & Co"), Named("i2", "Ronin")
    director, mann = Named("r1", "director"), Named("e1", "Mann")
    answer = Explanation(
        "u1", "i1", 10, "verified", "i2", "i3",
        (Change("r2", "e2", "e3", "genre", "Crime", "Comedy"),),
        (Step(heat, director, mann, director, ronin),),
        2, 14, 1.0, 0.1, 0.5, "minimum", "text", 0.01,
        names=(Named("u1", "u1"), heat, ronin, Named("i3", "Alien")),
    )  # fmt: skip
    svg = draw_case(answer, [["director", "Mann"], ["country", "USA"]])
    ET.fromstring(svg)
    for said in ("Heat &amp; Co", "Ronin", "Mann", "USA", "Crime → Comedy", "rank 14", "Alien"):
        assert said in svg
    assert steps_text(answer.path) == "Heat & Co —director→ Mann ←director— Ronin"
