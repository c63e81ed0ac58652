"""A thread that reads the next chunk while one is factored: at most three are in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any, TypeVar

_T = TypeVar("_T")


def ahead(items: Iterator[_T]) -> Iterator[_T]:
    """The same items, each read while the one before it is used; what reading raises is raised here.

    The reader begins with an item once the one before it was taken: one is in use, one in the reader's hands,
    and what it is made from.
    """
    box: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    taken, over = threading.Semaphore(0), threading.Event()

    def read() -> None:
        try:
            for item in items:
                box.put((item, None))
                del item
                taken.acquire()
                if over.is_set():
                    return
            box.put((None, StopIteration()))
        except BaseException as error:
            box.put((None, error))

    thread = threading.Thread(target=read, name="sparselin-reader", daemon=True)
    thread.start()
    try:
        while True:
            item, error = box.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            taken.release()
            yield item
            del item
    finally:
        over.set()
        taken.release()
