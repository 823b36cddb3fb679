"""Small worlds and quick settings for tests."""

from cerec.config import RunConfig
from cerec.data.synthetic import WorldConfig
from cerec.training.loop import TrainConfig

SMALL = WorldConfig(users=60, items=80, interactions=1500)
QUICK = RunConfig(train=TrainConfig(epochs=6, warmup=2, validate_every=2, agent_epochs=2))
