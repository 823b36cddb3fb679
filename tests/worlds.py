"""Small worlds and quick settings for tests."""

from cerec.agent.loop import TrainConfig
from cerec.data.synthetic.generate import WorldConfig
from cerec.settings.run import RunConfig

SMALL = WorldConfig(users=60, items=80, interactions=1500)
QUICK = RunConfig(train=TrainConfig(epochs=6, warmup=2, validate_every=2, agent_epochs=2))
