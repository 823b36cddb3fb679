from cerec.training.stopping import Stopper


def test_patience_counts_looks_without_a_better_value() -> None:
    stopper = Stopper(patience=2)
    assert [stopper.look(e, v) for e, v in enumerate([0.1, 0.3, 0.3, 0.2])] == [
        True,
        True,
        False,
        False,
    ]
    assert stopper.done
    assert (stopper.best, stopper.best_epoch) == (0.3, 1)
