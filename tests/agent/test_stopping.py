from cerec.agent.stopping import Stopper


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


def test_nan_is_never_the_best_and_later_numbers_count() -> None:
    stopper, nan = Stopper(patience=2), float("nan")
    assert [stopper.look(e, v) for e, v in enumerate([nan, nan, 0.1, nan, 0.2, nan, 0.1])] == [
        True,  # nothing else is there to keep
        True,
        True,
        False,
        True,
        False,
        False,
    ]
    assert (stopper.best, stopper.best_epoch) == (0.2, 4)
    assert stopper.done


def test_a_training_that_sees_no_number_goes_on_and_keeps_its_last_state() -> None:
    stopper = Stopper(patience=2)
    assert all(stopper.look(epoch, float("nan")) for epoch in range(5))
    assert not stopper.done
    assert stopper.best_epoch == 4
