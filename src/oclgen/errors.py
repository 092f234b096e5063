"""Fast Downward's exit codes, and the errors that carry them.

Every failure a user can cause is an `OclgenError`: the command line prints its message as one line and
exits with its code. Anything else that escapes is a defect of ours.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """Fast Downward's driver codes, so that scripts can swap planners."""

    SUCCESS = 0
    PLAN_THEN_OUT_OF_MEMORY = 1
    PLAN_THEN_OUT_OF_TIME = 2
    PLAN_THEN_OUT_OF_MEMORY_AND_TIME = 3
    UNSOLVABLE = 11
    UNSOLVED_INCOMPLETE = 12
    OUT_OF_MEMORY_BEFORE_SEARCH = 20
    OUT_OF_TIME_BEFORE_SEARCH = 21
    OUT_OF_MEMORY = 22
    OUT_OF_TIME = 23
    OUT_OF_MEMORY_AND_TIME = 24
    BAD_PDDL = 31
    INTERNAL_ERROR = 32
    UNSUPPORTED = 34
    BAD_INPUT = 36


class OclgenError(Exception):
    """One line for the user: what is wrong, where, and what to do about it."""

    exit_code = ExitCode.INTERNAL_ERROR


class PddlError(OclgenError):
    """A domain, problem or plan text that cannot be read; the message starts with `file:line:`."""

    exit_code = ExitCode.BAD_PDDL


class UnsupportedError(OclgenError):
    """Well-formed input that uses a feature, an object or a count beyond what is supported."""

    exit_code = ExitCode.UNSUPPORTED


class InputError(OclgenError):
    """Bad arguments, a missing file, a broken checkpoint, a broken data set."""

    exit_code = ExitCode.BAD_INPUT


class InvalidPlanError(OclgenError):
    """A plan that the independent validator rejects although the search believed in it."""

    exit_code = ExitCode.INTERNAL_ERROR
