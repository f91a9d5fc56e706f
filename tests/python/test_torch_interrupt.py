"""Signals stop calls on tensors: most programs here would never end, were they not stopped."""

from test_interrupt import run

_TORCH = """
import torch
import tautstring
torch.manual_seed(0)
t = torch.tensor(x)

def stopped_by(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError("went on to its end")
"""


def run_torch(program: str) -> None:
    """Run a program in a process of its own."""
    run(program, _TORCH)


def test_ctrl_c_stops_a_call_and_the_next_one_is_right() -> None:
    run_torch(
        """
        send(lambda number, frame: signal.raise_signal(signal.SIGINT))
        error = stopped_by(KeyboardInterrupt, lambda: tautstring.prox_tv2d(t, 0.2, **DAYS))
        assert error.__context__ is None
        assert np.array_equal(tautstring.prox_tv2d(t, 0.2), tn.prox_tv2d(x, 0.2))
        """
    )


def test_what_a_handler_raises_comes_out_of_the_call() -> None:
    run_torch(
        """
        send(stop)
        large = torch.randn(400, 500)  # on all threads
        stopped_by(Stop, lambda: tautstring.prox_tv2d(large, 0.2, **DAYS))
        """
    )


def test_a_call_under_vmap_is_stopped_and_leaves_no_transform_behind() -> None:
    run_torch(
        """
        send(stop)
        many = torch.randn(2, 200, 300)
        solve = torch.func.vmap(lambda image: tautstring.prox_tv2d(image, 0.2, iterations=300))
        def repeat():
            while True:
                solve(many)
        stopped_by(Stop, repeat)
        assert torch.equal(solve(many)[0], tautstring.prox_tv2d(many[0], 0.2, iterations=300))
        """
    )


def test_a_backward_is_stopped() -> None:
    # Each backward ends, but they repeat, so the signal arrives during one of them.
    run_torch(
        """
        image = torch.randn(200, 200, requires_grad=True)
        y = tautstring.prox_tv2d(image, 0.2, iterations=500, grad="unrolled")
        loss = (torch.randn(200, 200) * y).sum()
        def go_back():
            while True:
                loss.backward(retain_graph=True)
        send(stop)
        stopped_by(Stop, go_back)
        """
    )


def test_in_a_compiled_graph_the_handlers_exception_follows_a_runtime_error() -> None:
    run_torch(
        """
        image = torch.randn(200, 300)
        solve = lambda image: tautstring.prox_tv2d(image, 0.2, iterations=300)
        compiled = torch.compile(solve, backend="aot_eager")
        compiled(image)  # signals during compilation are not tested
        def retry():
            while True:
                try:
                    compiled(image)
                except RuntimeError as error:
                    assert "tautstring: interrupted" in str(error)
        send(stop)
        stopped_by(Stop, retry)
        assert torch.equal(compiled(image), solve(image))
        """
    )


def test_a_handler_that_returns_changes_nothing() -> None:
    run_torch(
        """
        send(lambda number, frame: None, 0.001, 0.02)
        image = torch.randn(200, 300)
        results = [tautstring.prox_tv2d(image, 0.2, iterations=300) for _ in range(2)]
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert torch.equal(*results)
        """
    )
