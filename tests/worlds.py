"""Small worlds and quick settings for tests."""

from cerec.data.synthetic.generate import WorldConfig
from cerec.settings.run import RunConfig
from cerec.settings.train import TrainConfig

SMALL = WorldConfig(users=60, items=80, interactions=1500)
QUICK = RunConfig(
    model={"name": "cotrained"},
    train=TrainConfig(epochs=6, warmup=2, validate_every=2, agent_epochs=2),
)
