"""The errors of a plugin. Part of the template: change it as you like."""

import functools
import inspect

from componentize_py_types import Err
from wit_world.imports import types


def failure(code: str, message: str, field: str | None = None) -> Err:
    """An error with one of the interface's codes, such as `invalid-input` (wit/deps: interface `types`)."""
    return Err(types.Error(code, message, field, None))


def guarded(run):
    """The function, so that it may raise anything: errors of the interface pass through, and any other
    becomes `failed` with its text. Without this, it would be a trap that says nothing."""

    def told(error: Exception) -> Exception:
        return error if isinstance(error, Err) else failure("failed", repr(error))

    @functools.wraps(run)
    def call(*arguments):
        try:
            return run(*arguments)
        except Exception as error:
            raise told(error) from error

    @functools.wraps(run)
    async def call_async(*arguments):
        try:
            return await run(*arguments)
        except Exception as error:
            raise told(error) from error

    return call_async if inspect.iscoroutinefunction(run) else call
