"""Sentences with numbers from result files; each says so when its files are not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from cerec_bench.reproduce.pages.explained import mean_size
from cerec_bench.reproduce.pages.parts import by_variant, title_of
from cerec_bench.reproduce.plan import Table
from cerec_bench.reproduce.store import Result, Results
from cerec_bench.reproduce.text import percent
from cerec_bench.statistics import spread

Found = Mapping[str, Results]


def _missing(what: str) -> str:
    return f"not computed here; `cerec bench reproduce {what}` does"


def _depths(found: Found) -> list[str]:
    """Per set: the best and the worst depth of the agent."""
    out: dict[str, dict[str, list[float]]] = {}
    results = found["depth"]
    for (name, variant), seeds in by_variant(results.of("literal")).items():
        values = [r.found["test"]["recall@20"] for r in seeds]
        out.setdefault(f"{title_of(results, name)}, few epochs", {})[variant] = values
    texts = []
    for name, by in out.items():
        if len(by) < 2:
            continue
        mean = {depth: spread(values)[0] for depth, values in by.items()}
        best, worst = max(mean, key=mean.__getitem__), min(mean, key=mean.__getitem__)
        least = min(map(len, by.values()))
        texts.append(
            f"{name}, {_seeds(least)}: {best} ({mean[best]:.4f}; worst {worst}, {mean[worst]:.4f})"
        )
    return texts


def _seeds(count: int) -> str:
    return f"{count} seed{'s' if count > 1 else ''}"


def depth_row(found: Found, folder: Path) -> list[str]:
    """Best T."""
    del folder
    ours = "; ".join(_depths(found)) or _missing("depth")
    why = "on our data the walked item is a poor negative at any depth; see [depth](depth.md)"
    said = "T = 2 on Last-FM, T = 4 on Amazon-book and Yelp2018"
    return ["best depth T for the recommender, paper's form", said, ours, why]


def reward_row(found: Found, folder: Path) -> list[str]:
    """The reward curve."""
    del folder
    results = found["reward"]
    texts = []
    for r in results.of("agent"):
        if r.cell.seed == 0 and r.cell.variant == "default":
            a, b = r.found["history"][0]["cumulative"], r.found["history"][-1]["cumulative"]
            n = len(r.found["history"])
            texts.append(f"{title_of(results, r.cell.set)}: {a:.2f} → {b:.2f} in {n} epochs")
    why = (
        "our epochs are a fixed number of updates against a finished recommender; see "
        "[the agent](agent.md)"
    )
    said = "rises and is stable after 40 to 120 epochs"
    return ["cumulative reward", said, "; ".join(texts) or _missing("reward"), why]


def recommend_row(found: Found, folder: Path) -> list[str]:
    """CERec's recall@20."""
    del folder
    results = found["table2"]
    texts = []
    for r in results.of("table"):
        for line in r.found["lines"]:
            if line["model"] == "cerec-paper" and "recall@20" in line["figures"]:
                value = line["figures"]["recall@20"]["mean"]
                texts.append(f"{title_of(results, r.cell.set)}: {value:.4f}")
    why = "other data and splits; the public Last-FM files share pairs between train and test"
    said = "Last-FM 0.1015, Amazon-book 0.1406, Yelp2018 0.0650"
    return ["recall@20 of CERec", said, "; ".join(texts) or _missing("table2"), why]


def negatives_row(found: Found, folder: Path) -> list[str]:
    """What counterfactual negatives are worth."""
    del folder
    results = found["ablations"]
    sets: dict[str, dict[str, list[float]]] = {}
    for (name, variant), seeds in by_variant(results.of("negatives")).items():
        values = [r.found["test"]["recall@20"] for r in seeds]
        sets.setdefault(title_of(results, name), {})[variant] = values
    texts = []
    for title, by in sets.items():
        base = by.get("none beside uniform")
        for variant in ("literal, agent", "literal, random walk"):
            if base and variant in by:
                gain = 100 * (spread(by[variant])[0] / spread(base)[0] - 1)
                texts.append(f"{title}, {variant}: {gain:+.0f} % ({_seeds(len(by[variant]))})")
    ours = f"against uniform negatives, {'; '.join(texts)}" if texts else _missing("ablations")
    why = "items that share values with a liked one are often liked too: false negatives"
    said = "+ 17 % (Last-FM) over the best of the others"
    return ["recall@20 gained by counterfactual items as negatives", said, ours, why]


def consistency_row(found: Found, folder: Path) -> list[str]:
    """F1 against the paper's truth."""
    results = found["table3"]
    texts = []
    for r in results.of("consistency"):
        f1 = {
            line["method"]: line["figures"]["f1:dns"]["mean"]
            for line in r.found["lines"]
            if "f1:dns" in line["figures"]
        }
        if "cerec-paper" in f1 and "cerec" in f1:
            again = r.found["about"]["truths"]["dns"].get("drawn_again")
            both = f"the paper's set {percent(f1['cerec-paper'], 2)}, verified set "
            both += percent(f1["cerec"], 2)
            both += f", the truth drawn again {percent(again['f1'], 2)}" if again else ""
            texts.append(f"{title_of(results, r.cell.set)}: {both}")
    why = (
        "other data; the truth is itself drawn by sampling, and a set of one or two changes cannot "
        "recall much of it"
    )
    if (folder / "consistency.md").exists():
        why += "; see [are they right?](consistency.md)"
    said = "Amazon-book 5.14 %, Yelp2018 37.25 %"
    return ["F1 of CERec's explanations", said, "; ".join(texts) or _missing("table3"), why]


def flips_row(found: Found, folder: Path) -> list[str]:
    """The paper's set, tried."""
    del folder
    results = found["flips"]
    texts = [
        f"{title_of(results, r.cell.set)}: {percent(_form(r)['added_flips'], 0)} flip"
        for r in _explained(results)
    ]
    why = "the paper does not try its sets; here every set is scored again"
    ours = "; ".join(texts) or _missing("flips")
    return ["explanation sets that take the item out of the list", "not reported", ours, why]


def _explained(results: Results) -> list[Result]:
    parts = [*results.of("all-users"), *results.of("explanations")]
    return [r for r in parts if "paper_form" in r.found["explanations"]]


def _form(result: Result) -> Table:
    return dict(result.found["explanations"]["paper_form"])


def leak(found: Found, folder: Path) -> str:
    """What the public Last-FM files leak."""
    del folder
    text = (
        "The train and test files of Last-FM as published with KGAT share about 170,000 pairs, "
        "some 40 % of test (counted on those files, which are not among ours). `cerec data check "
        "FOLDER` counts them as `leak`, and a split made here "
        "keeps such pairs in train alone. What a leak does depends on the code: where train items "
        "are left out of the lists, a leaked pair can never be hit; where they are not, it is "
        "hit by rote. Either way the number is not about the future."
    )
    results = found["table1"]
    ours = [r for r in results.of("data") if r.cell.set == "last-fm"]
    if ours:
        count = ours[0].found["leaks"].get("leak", {}).get("pairs", 0)
        text += f" The files our numbers come from share {count:,} ([the data](data.md))."
    return text


def depth(found: Found, folder: Path) -> str:
    """What depth does."""
    del folder
    literal = _depths(found)
    if not literal:
        return f"It is {_missing('depth')}."
    out = [f"With the walked item as the negative, best on {'; '.join(literal)}"]
    results = found["depth"]
    beams = []
    for (name, variant), seeds in by_variant(results.of("explanations")).items():
        size = spread([mean_size(r.found["explanations"]) for r in seeds])[0]
        beams.append(f"{variant} {size:.2f}")
        last = title_of(results, name)
    if beams:
        out.append(f"mean changes of an explanation on {last}: {', '.join(beams)}")
    return ". ".join(text[0].upper() + text[1:] for text in out) + ". [The figure](depth.md)."


def flips(found: Found, folder: Path) -> str:
    """How often the paper's set flips, and how much smaller the verified set is."""
    del folder
    results = found["flips"]
    texts = [
        f"{title_of(results, r.cell.set)}: {_form(r)['mean_size']:.1f} values on average; "
        f"{percent(_form(r)['added_flips'], 0)} of the sets flip when added, "
        f"{percent(_form(r)['replaced_flips'], 0)} when they replace the item's own values; the "
        f"verified set makes {mean_size(r.found['explanations']):.2f} changes and always flips"
        for r in _explained(results)
    ]
    if not texts:
        return f"It is {_missing('flips')}."
    return ". ".join(texts) + ". [More](flips.md)."


ROWS: list[Callable[[Found, Path], list[str]]] = [
    recommend_row,
    negatives_row,
    depth_row,
    reward_row,
    consistency_row,
    flips_row,
]
FINDINGS: list[tuple[str, Callable[[Found, Path], str]]] = [
    ("What the public Last-FM split leaks.", leak),
    ("What depth does.", depth),
    ("How often the paper's own set flips the list, and how much smaller the verified is.", flips),
]
