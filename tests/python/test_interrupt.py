"""Signals stop calls: most programs here would run for days, were they not stopped."""

import subprocess
import sys
import textwrap

_PRELUDE = """
import signal
import numpy as np
import tautstring.numpy as tn

# Programs that a shell starts in the background ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

class Stop(Exception):
    pass

def stop(number, frame):
    raise Stop

def send(handler, seconds=0.3, again=0.0):
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, seconds, again)

x = np.random.default_rng(0).normal(size=(40, 50))
DAYS = {"iterations": 2**31 - 1}
"""

# A call that is not stopped would hang the tests.
_HANG = 300


def run(program: str, prelude: str = "") -> None:
    """Run a program in a process of its own."""
    text = _PRELUDE + prelude + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", text], timeout=_HANG, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_ctrl_c_stops_a_call_and_the_next_one_is_right() -> None:
    run(
        """
        send(lambda number, frame: signal.raise_signal(signal.SIGINT))
        try:
            tn.prox_tv2d(x, 0.2, **DAYS)
        except KeyboardInterrupt as error:
            assert error.__context__ is None
        else:
            raise AssertionError("went on to its end")
        assert np.all(tn.prox_tv1d(x, np.inf) == tn.prox_tv1d(x, 1e9))
        assert tn.gap2d(x, tn.prox_tv2d(x, 0.2, tol=1e-6), 0.2) < 1e-3
        """
    )


def test_ctrl_c_itself_stops_a_call_on_one_thread() -> None:
    run(
        """
        import os, threading
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            tn.prox_tv2d(x, 0.2, threads=1, **DAYS)
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("went on to its end")
        """
    )


def test_what_a_handler_raises_comes_out_of_the_call() -> None:
    run(
        """
        send(stop)
        try:
            tn.prox_tv2d(np.zeros((400, 500)) + x[0, 0] * np.eye(400, 500), 0.2, **DAYS)
        except Stop:
            pass
        else:
            raise AssertionError("went on to its end")
        """
    )


def test_a_handler_that_returns_changes_nothing() -> None:
    run(
        """
        image = np.random.default_rng(1).normal(size=(200, 300))
        expected = tn.prox_tv2d(image, 0.2, iterations=300)
        seen = []
        send(lambda number, frame: seen.append(number), 0.001, 0.02)
        result = tn.prox_tv2d(image, 0.2, iterations=300)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert np.array_equal(result, expected)
        assert seen
        """
    )


def test_other_threads_leave_signals_to_the_main_thread() -> None:
    run(
        """
        import threading
        image = np.random.default_rng(1).normal(size=(200, 300))
        expected = tn.prox_tv2d(image, 0.2, iterations=300)
        results = []
        send(lambda number, frame: None, 0.001, 0.02)
        solve = lambda: results.append(tn.prox_tv2d(image, 0.2, iterations=300))
        worker = threading.Thread(target=solve)
        worker.start()
        worker.join()
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert np.array_equal(results[0], expected)
        """
    )
