"""The command line: one lazy table from a command to its function, and what every command shares.

A mistake becomes one sentence on standard error and exit code 2; `--debug` shows where it came from. `--json` prints
the result as scripts read it. Nothing heavy is imported to print help or to refuse a flag.
"""

import difflib
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from vitlab.errors import UserError, nearest

COMMANDS = ("train", "evaluate", "predict", "report", "models", "profile")
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
        if result is not None:
            print(result.to_json() if as_json and hasattr(result, "to_json") else result)
            sys.stdout.flush()
    except UserError as error:
        if debug:
            raise
        _stop(f"vitlab: {error}", 2)
    except KeyboardInterrupt:
        if debug:
            raise
        _stop("vitlab: stopped by Ctrl-C; what was written so far is whole", 130)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone: nothing to say to anyone
        raise SystemExit(0) from None


def _run(words: list[str]) -> Any:
    if not words or words[0] in ("-h", "--help", "help"):
        print(overview())
        return None
    if words[0] == "--version":
        return importlib.import_module("vitlab").__version__
    if words[0] not in COMMANDS:
        raise UserError(f"no command {words[0]!r}{nearest(words[0], COMMANDS)}")
    return _parse(_function(words[0]), words[1:])


def _function(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(importlib.import_module(f"vitlab.commands.{name}"), name)
    return function


def overview() -> str:
    """What `vitlab --help` prints: each command with the first line of its docstring."""
    lines = ["vitlab: a laboratory for Vision Transformers", "", "  vitlab COMMAND ...", ""]
    for name in COMMANDS:
        summary = (inspect.getdoc(_function(name)) or "").splitlines()[0]
        lines.append(f"  {name:<10} {summary}")
    lines += ["", *(f"  {flag:<10} {meaning}" for flag, meaning in SHARED.items())]
    return "\n".join([*lines, "", "vitlab COMMAND --help says more. First: vitlab train digits"])


def _parse(function: Callable[..., Any], words: list[str]) -> Any:
    """The words as arguments of the command, by tyro; its complaints as one sentence."""
    import tyro
    from tyro import _errors

    flags = [f"--{name.replace('_', '-')}" for name in inspect.signature(function).parameters]
    command = function.__name__

    def complain(event: Any) -> NoReturn:
        more = f" (`vitlab {command} --help` lists them)"
        if isinstance(event, _errors.UnrecognizedArgs):
            unknown = next((word for word in event.tokens if word.startswith("-")), event.tokens[0])
            flag = unknown.partition("=")[0]
            if flag.startswith("-"):
                close = difflib.get_close_matches(flag, flags, n=2, cutoff=0.5)
                hint = f"; did you mean {' or '.join(close)}?" if close else more
                raise UserError(f"vitlab {command} has no flag {flag}{hint}")
            raise UserError(f"vitlab {command} does not know what to do with {unknown!r}{more}")
        if isinstance(event, _errors.MissingArgs):
            names = [_name(argument.arg) for argument in event.missing_arguments]
            if any(word.startswith("-") for word in event.unrecognized_tokens):
                complain(_errors.UnrecognizedArgs(event.prog, event.unrecognized_tokens))
            raise UserError(f"vitlab {command} wants {' and '.join(names)}; `vitlab {command} --help` says what")
        if isinstance(event, _errors.InvalidChoice):
            raise UserError(
                f"{_name(event.argument)} cannot be {event.value!r}; it is one of {', '.join(event.choices)}"
            )
        if isinstance(event, _errors.BadValue):
            raise UserError(f"{_name(event.argument)} wants a value")
        if isinstance(event, _errors.InstantiationFailure) and event.argument is not None:
            raise UserError(f"{_name(event.argument)}: {_plain(event.message)}")
        raise UserError(f"vitlab {command}: {_plain(getattr(event, 'message', event))}")

    with _errors.on_parse_error(complain):
        return tyro.cli(function, prog=f"vitlab {command}", args=words)


def _name(argument: Any) -> str:
    """A flag as typed, a positional argument as its help calls it."""
    if argument.is_positional():
        return str(argument.lowered.metavar or argument.field.intern_name).upper()
    return str(argument.lowered.name_or_flags[-1])


def _plain(message: object) -> str:
    return " ".join(str(message).split()).rstrip(".")


def _stop(sentence: str, code: int) -> NoReturn:
    print(sentence, file=sys.stderr)
    raise SystemExit(code)
