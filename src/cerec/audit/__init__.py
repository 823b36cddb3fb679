"""The whole recommender explained: main parameters, an attribute on trial, two runs compared."""

from __future__ import annotations

from cerec.audit.diff import Difference, diff
from cerec.audit.disclosure import audit_text, diff_text, disclosure, trial_text
from cerec.audit.parameters import Findings, Parameter, Segment, Share, Value, measure
from cerec.audit.plain import plain
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
    "audit_text",
    "diff",
    "diff_text",
    "disclosure",
    "groups_of",
    "measure",
    "plain",
    "trial",
    "trial_text",
]
