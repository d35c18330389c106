"""The command line: one lazy table from a command to its function, and what every command shares.

A mistake becomes one sentence on standard error and exit code 2; `--debug` shows where it came from. `--json` prints
the result as scripts read it. Nothing heavy is imported to print help or to refuse a flag.
"""

import difflib
import importlib
import inspect
import json
import os
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from vitlab.errors import UserError, nearest

COMMANDS = ("train", "evaluate", "predict", "explain", "check", "convert", "report", "models", "profile")
SHARED = {
    "--json": "print what scripts read",
    "--debug": "show the traceback of a mistake",
    "--version": "print the version",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    as_json, debug = ("--json" in words), ("--debug" in words)
    words = [word for word in words if word not in ("--json", "--debug")]
    try:
        result = _run(words)
        if result is not None and os.environ.get("RANK", "0") == "0":  # of several processes, one tells
            print(_as_json(result) if as_json else result)
            sys.stdout.flush()
        if code := getattr(result, "exit_code", 0):
            raise SystemExit(code)
    except UserError as error:
        if debug:
            raise
        _stop(str(error), 2)
    except KeyboardInterrupt as error:
        if debug:
            raise
        _stop(str(error) or "stopped by Ctrl-C; what was written so far is whole", getattr(error, "exit_code", 130))
    except BrokenPipeError:  # whoever read our output has gone: nothing to say to anyone
        _drop_output()
        raise SystemExit(0) from None
    except OSError as error:  # what no command saw coming: a folder that may not be entered, a name too long
        if debug:
            raise
        _drop_output()
        where = f"{error.filename}: " if error.filename is not None else ""
        _stop(f"{where}{error.strerror or error} (--debug shows where it happened)", 2)


def _run(words: list[str]) -> Any:
    if not words or words[0] in ("-h", "--help", "help"):
        print(overview())
        return None
    if words[0] == "--version":
        return importlib.import_module("vitlab").__version__
    if words[0] not in COMMANDS:
        raise UserError(f"no command {words[0]!r}{nearest(words[0], COMMANDS)}")
    return _parse(_function(words[0]), words[1:])


def _function(name: str) -> types.FunctionType:
    function: types.FunctionType = getattr(importlib.import_module(f"vitlab.commands.{name}"), name)
    return function


def overview() -> str:
    """What `vitlab --help` prints: each command with the first line of its docstring."""
    lines = ["vitlab: a laboratory for Vision Transformers", "", "  vitlab COMMAND ...", ""]
    for name in COMMANDS:
        summary = (inspect.getdoc(_function(name)) or "").splitlines()[0]
        lines.append(f"  {name:<10} {summary}")
    lines += ["", *(f"  {flag:<10} {meaning}" for flag, meaning in SHARED.items())]
    return "\n".join([*lines, "", "vitlab COMMAND --help says more. First: vitlab train digits"])


def _parse(function: types.FunctionType, words: list[str]) -> Any:
    """The words as arguments of the command, by tyro; its complaints as one sentence."""
    import tyro
    from tyro import _errors

    flags = [f"--{name.replace('_', '-')}" for name in inspect.signature(function).parameters]
    command = function.__name__
    more = f"`vitlab {command} --help` lists them"

    def complain(event: Any) -> NoReturn:
        if isinstance(event, _errors.UnrecognizedArgs):
            unknown = next((word for word in event.tokens if word.startswith("-")), event.tokens[0])
            flag = unknown.partition("=")[0]
            if flag.startswith("-"):
                close = difflib.get_close_matches(flag, flags, n=1, cutoff=0.65)
                raise UserError(f"{command} has no flag {flag}; {f'did you mean {close[0]}?' if close else more}")
            raise UserError(f"{command} does not know what to do with {unknown!r}; `vitlab {command} --help` says more")
        if isinstance(event, _errors.MissingArgs):
            names = [_name(argument.arg) for argument in event.missing_arguments]
            if any(word.startswith("-") for word in event.unrecognized_tokens):
                complain(_errors.UnrecognizedArgs(event.prog, event.unrecognized_tokens))
            raise UserError(f"{command} wants {' and '.join(names)}; `vitlab {command} --help` says what that is")
        if isinstance(event, _errors.InvalidChoice):
            raise UserError(f"{_name(event.argument)} wants one of {', '.join(event.choices)}, not {event.value!r}")
        if isinstance(event, _errors.BadValue) and event.argument.is_positional():
            if strange := [word for word in words if word.startswith("--") and _flag(word) not in flags]:
                complain(_errors.UnrecognizedArgs(event.prog, strange))
            raise UserError(f"{command} wants {_name(event.argument)}; `vitlab {command} --help` says what that is")
        if isinstance(event, _errors.BadValue):
            raise UserError(f"{_name(event.argument)} wants {_kind(event.argument)} after it")
        if isinstance(event, _errors.InstantiationFailure) and event.argument is not None:
            given = _given(words, event.argument)
            raise UserError(f"{_name(event.argument)} wants {_kind(event.argument)}{given and f', not {given!r}'}")
        raise UserError(f"{command}: {' '.join(str(getattr(event, 'message', event)).split()).rstrip('.')}")

    with _errors.on_parse_error(complain):
        return tyro.cli(_without_result(function), prog=f"vitlab {command}", args=words)


def _without_result(function: types.FunctionType) -> Callable[..., Any]:
    """The function without what it says of its result: tyro would import what that needs, to no purpose."""
    bare = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    bare.__kwdefaults__, bare.__doc__, bare.__module__ = function.__kwdefaults__, function.__doc__, function.__module__
    bare.__annotations__ = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    return bare


def _name(argument: Any) -> str:
    """A flag as typed, a positional argument as its help calls it."""
    if argument.is_positional():
        return str(argument.lowered.metavar or argument.field.intern_name).upper()
    return str(argument.lowered.name_or_flags[-1])


def _kind(argument: Any) -> str:
    """What an argument wants, in words."""
    return {"INT": "a whole number", "FLOAT": "a number"}.get(str(argument.lowered.metavar), "a value")


def _given(words: list[str], argument: Any) -> str:
    """The value given to a flag, as typed."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if _flag(word) == _name(argument):
            return word.partition("=")[2] if "=" in word else following
    return ""


def _flag(word: str) -> str:
    """`--weight_decay=1` is the flag `--weight-decay`."""
    return word.partition("=")[0].replace("_", "-")


def _as_json(result: Any) -> str:
    return str(result.to_json()) if hasattr(result, "to_json") else json.dumps(str(result))


def _drop_output() -> None:
    """Send what is still to be printed nowhere, so that Python does not complain a second time when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return  # no real file: nothing will be flushed


def _stop(sentence: str, code: int) -> NoReturn:
    print("vitlab:", " ".join(sentence.splitlines()), file=sys.stderr)
    raise SystemExit(code)
