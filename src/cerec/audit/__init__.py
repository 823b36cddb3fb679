"""The whole recommender explained: main parameters, an attribute on trial, two runs compared."""

from __future__ import annotations

from cerec.audit.diff import Difference, diff
from cerec.audit.disclosure import disclosure, verdict
from cerec.audit.parameters import Findings, Parameter, Segment, Value, measure
from cerec.audit.plain import Share
from cerec.audit.segments import Groups, groups_of
from cerec.audit.trial import Exposure, Trial, trial

__all__ = [
    "Difference",
    "Exposure",
    "Findings",
    "Groups",
    "Parameter",
    "Segment",
    "Share",
    "Trial",
    "Value",
    "diff",
    "disclosure",
    "groups_of",
    "measure",
    "trial",
    "verdict",
]
