"""How many lists can be explained; and the paper's own explanation, tried."""

from __future__ import annotations

from cerec_bench.reproduce.pages.explained import mean_size, share_of_size
from cerec_bench.reproduce.pages.parts import title_of
from cerec_bench.reproduce.store import Result, Results
from cerec_bench.reproduce.text import Block, Grid, number, percent


def blocks(results: Results) -> list[Block]:
    """The table of verified sets, then how often the paper's set flips."""
    found = [*results.of("all-users"), *results.of("explanations")]
    if not found:
        return []
    return [
        Grid(
            "The top-20 pairs of every user, or of a thousand, were explained; every answer was "
            "checked again by an independent slow ranking, which disagreed with *wrong* of them. "
            "*Coverage*: pairs whose item has attributes that got a verified answer. *Same size*: "
            "as small as the best over all items, on a sample; *CPU ratio*: what that search costs "
            "against the agent's. Times are of a machine busy with other work; "
            "`benchmarks/bench_explain.py` gives ratios. *Most*: changes of the largest answer. "
            "Data are filtered as in [the data](data.md); of MovieLens-1M the relations type and "
            "wiki link are left out." + _starred(found),
            _HEAD,
            [_row(results, r) for r in found],
        ),
        "## The paper's own explanation, tried",
        Grid(
            "The paper explains by one counterfactual item and all values it has and the explained "
            "item lacks; whether that set takes the item out of the list is not tried there. Here "
            "it is, on a sample of recommended items, with the proposer's first item as the "
            "counterfactual one. *Flips, added*: giving these values to the item takes it out of "
            "the list. *Flips, replaced*: having the values of the counterfactual item and no "
            "others does. The verified set flips always, since that is what verified means.",
            ["", "pairs", "values", "flips, added", "flips, replaced", "verified set: changes"],
            [_paper_row(results, r) for r in found],
        ),
    ]


_HEAD = ["", "users", "pairs", "coverage", "wrong", "1 change", "2", "3 or more", "most"]
_HEAD += ["beam sufficed", "same size", "extra changes", "CPU ratio", "one, p99 ms", "batch, per s"]


def _starred(found: list[Result]) -> str:
    if all(r.found["agent"] for r in found):
        return ""
    return " Sets with a star had no trained agent: the most similar items were proposed instead."


def _name(results: Results, result: Result) -> str:
    star = "" if result.found["agent"] else " *"
    return title_of(results, result.cell.set) + star


def _row(results: Results, result: Result) -> list[str]:
    r = result.found["explanations"]
    best = r["beside_the_best"]
    one, two = share_of_size(r, 1), share_of_size(r, 2)
    ratio = best["all_items_cpu_seconds"] / max(best["agent_cpu_seconds"], 1e-9)
    return [
        _name(results, result),
        f"{r['users']:,}",
        f"{r['pairs']:,}",
        percent(r["coverage"], 2 if r["coverage"] in (0, 1) else 3),
        str(r["wrong_answers"]),
        percent(one),
        percent(two),
        percent(1 - one - two),
        str(max(map(int, r["sizes"]))),
        percent(r["found_by_beam"] / max(sum(r["sizes"].values()), 1)),
        percent(best["same_size"]),
        number(best["mean_extra_changes"], 2),
        f"{ratio:.1f}",
        f"{r['single_ms']['99']:.1f}",
        f"{r['per_second']:,.0f}",
    ]


def _paper_row(results: Results, result: Result) -> list[str]:
    r = result.found["explanations"]
    paper = r["paper_form"]
    return [
        _name(results, result),
        str(paper["proposed"]),
        number(paper["mean_size"], 1),
        percent(paper["added_flips"]),
        percent(paper["replaced_flips"]),
        f"{mean_size(r):.2f}",
    ]
