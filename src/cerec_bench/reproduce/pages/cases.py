"""The case study, drawn."""

from __future__ import annotations

from cerec_bench.reproduce.drawing import draw_case, steps_text
from cerec_bench.reproduce.pages.parts import title_of
from cerec_bench.reproduce.plan import Table
from cerec_bench.reproduce.store import Result, Results
from cerec_bench.reproduce.text import Block, Picture
from cerec_bench.search.explanation import Explanation


def blocks(results: Results) -> list[Block]:
    """Each case: the sentence, the drawing, what the paper's set would say."""
    out: list[Block] = [
        "The explanations were not hand-picked: of users in a drawn order, the first with one "
        "change and the first with two whose values all have names. Blue: the recommended item; "
        "orange: the counterfactual item; grey: values both have, the walked one in bold lines; "
        "yellow: what is changed. Names and facts are those of the data, their mistakes included: "
        "where a film has been linked to the wrong entity, its values are that entity's.",
    ]
    for result in results.of("cases"):
        out.append(f"## {title_of(results, result.cell.set)}")
        if not result.found["cases"]:
            looked = result.found["users_looked_at"]
            out.append(f"None of {looked} users had such an explanation.")
        for n, case in enumerate(result.found["cases"], start=1):
            out += _case(result, n, case)
    return out


def _case(result: Result, n: int, case: Table) -> list[Block]:
    answer = Explanation.from_dict(case["explanation"])
    drawn = draw_case(answer, case["shared"])
    changed = f"{answer.size} change" + ("s" if answer.size > 1 else "")
    paper = case["paper"]
    listed = ", ".join(f"{value} ({relation})" for relation, value in paper[:8])
    more = f" and {len(paper) - 8} more" if len(paper) > 8 else ""
    out = f"is out of the first {case['k']}" if case["paper_rank"] > case["k"] else "stays in"
    return [
        f"### Case {n}: {changed}",
        answer.text,
        Picture(f"{result.cell.set}-{n}", f"Case {n}", drawn),
        f"The walk: {steps_text(answer.path)}.",
        f"The paper's set, all that {answer.name_of(str(answer.counterfactual_item))} has and "
        f"{answer.name_of(answer.item)} lacks, would be {len(paper)} values: {listed}{more}. With "
        f"all of them the item is at rank {case['paper_rank']}, so it {out}.",
    ]
