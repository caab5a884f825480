"""Work on numbered pieces in several processes.

The processes are forks of this one, so what was read before is there in each of them. They take pieces from one queue and write
answers to a file of their own; this process works along. An answer that is missing in the end, since a process died or a piece raised,
is made here: what then raises is raised to the caller, as if there had been one process.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import IO, NoReturn

_NUMBER = struct.Struct("<I")
_HEADER = struct.Struct("<IQ")
_QUEUE = 8000  # pieces; what every system's pipe holds without a reader is more

Work = Callable[[int], bytes]


def work_on(count: int, work: Work, jobs: int, done: Callable[[int], None] = lambda pieces: None, ahead: int = 0) -> list[bytes]:
    """``work(0)`` to ``work(count - 1)``, in this order, made by up to ``jobs`` processes. The first ``ahead`` are made before there are
    several, for what they leave behind (imported modules, parsed scripts) to be there in all of them."""
    answers: dict[int, bytes] = {}
    with calm():
        for number in range(min(ahead, count)):
            answers[number] = work(number)
        gc.freeze()
        if jobs > 1 and 1 < count <= _QUEUE and hasattr(os, "fork") and threading.active_count() == 1:
            _in_processes(count, work, min(jobs, count), answers, done)
        for number in range(count):
            if number not in answers:
                answers[number] = work(number)
                done(len(answers))
                gc.collect(1)
    return [answers[number] for number in range(count)]


@contextlib.contextmanager
def calm() -> Iterator[None]:
    """Rare garbage collection: what was there before is no garbage, and a piece makes much that lives until its end."""
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 20, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def _in_processes(count: int, work: Work, jobs: int, answers: dict[int, bytes], done: Callable[[int], None]) -> None:
    take, give = os.pipe()
    children: dict[int, IO[bytes]] = {}
    parent = os.getpid()
    try:
        os.write(give, b"".join(_NUMBER.pack(number) for number in range(count) if number not in answers))
        os.close(give)
        give = -1
        for _ in range(jobs - 1):
            file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - read below, closed in ``_answers``
            try:
                child = os.fork()
            except OSError:  # no more processes: those that there are do it
                file.close()
                break
            if child == 0:
                _be_a_child(take, work, file, parent)
            children[child] = file
        while (number := _next(take)) is not None:
            answers[number] = work(number)
            gc.collect(1)
            done(min(len(answers) * (len(children) + 1), count))
        for child in list(children):
            os.waitpid(child, 0)
            with children.pop(child) as file:
                answers.update(_answers(file))
    finally:
        os.close(take)
        if give >= 0:
            os.close(give)
        for child, file in children.items():  # something was raised here
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            file.close()


def _be_a_child(take: int, work: Work, file: IO[bytes], parent: int) -> NoReturn:
    """Never comes back, and leaves without running what the parent registered for its end; also when the parent is gone."""
    try:
        while os.getppid() == parent and (number := _next(take)) is not None:
            try:
                answer = work(number)
            except Exception:  # the parent will see the same one when it tries
                continue
            file.write(_HEADER.pack(number, len(answer)) + answer)
            file.flush()
            gc.collect(1)
    except BaseException:
        os._exit(1)
    finally:
        os._exit(0)


def _next(queue: int) -> int | None:
    data = os.read(queue, _NUMBER.size)
    return _NUMBER.unpack(data)[0] if len(data) == _NUMBER.size else None


def _answers(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    file.seek(0)
    while len(header := file.read(_HEADER.size)) == _HEADER.size:
        number, size = _HEADER.unpack(header)
        answer = file.read(size)
        if len(answer) < size:
            return
        yield number, answer
