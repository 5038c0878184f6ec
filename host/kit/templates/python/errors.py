"""The errors of a plugin. Part of the template: change it as you like."""

import functools
import inspect

from componentize_py_types import Err
from wit_world.imports import types


def failure(code: str, message: str, field: str | None = None) -> Err:
    """An error with one of the interface's codes, such as `invalid-input` (wit/deps: interface `types`)."""
    return Err(types.Error(code, message, field, None))


def guarded(run):
    """The function, so that it may raise and return anything: errors of the interface pass through, and any
    other error or answer becomes `failed` with its text. Without this, it would be a trap that says nothing."""

    def told(error: BaseException) -> Exception:
        if not isinstance(error, Err):
            return failure("failed", repr(error))
        # The interface `state` has errors of its own: a conflict, or one of the interface's in a case.
        inner = getattr(error.value, "value", error.value)
        if not isinstance(inner, types.Error):
            return failure("failed", repr(error.value))
        return error if inner is error.value else Err(inner)

    def checked(answer):
        """The answer, if it is a string of JSON, a list of them, or a type of the interface such as a verdict."""
        items = answer if isinstance(answer, list) else []
        odd = next((item for item in items if not isinstance(item, str)), None)
        own = isinstance(answer, (str, list)) or type(answer).__module__.startswith("wit_world")
        if own and odd is None:
            return answer
        what = f"a list with {odd!r}" if own else repr(answer)
        needed = "a list of strings" if own else "a string, a list of strings or a type of `wit_world`"
        raise failure("failed", f"{run.__name__} returned {what}, where {needed} is needed")

    @functools.wraps(run)
    def call(*arguments):
        try:
            return checked(run(*arguments))
        except BaseException as error:
            raise told(error) from error

    @functools.wraps(run)
    async def call_async(*arguments):
        try:
            return checked(await run(*arguments))
        except GeneratorExit:
            raise
        except BaseException as error:
            raise told(error) from error

    return call_async if inspect.iscoroutinefunction(run) else call
