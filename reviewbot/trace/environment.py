"""The exported variables of a moment, as a mapping that refers to the initial environment instead of copying it.

So a trace can be shared by two points whose initial environments differ only in variables that the script never looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reviewbot.trace.effects import Variable


def rebased(variable: Variable | None, name: str, base: Mapping[str, Variable], old: Mapping[str, Variable]) -> Variable | None:
    """``variable`` with the initial value at the bottom of its history exchanged for the one in ``base``."""
    if variable is None:
        return None
    chain: list[Variable] = []
    current: Variable | None = variable
    while current is not None:
        chain.append(current)
        current = current.over
    bottom = chain[-1]
    initial = old.get(name)
    if bottom is initial:
        chain.pop()
        result = base.get(name)
    elif initial is None and bottom.site is not None and name in base:
        result = base[name]
    else:
        return variable
    for item in reversed(chain):
        result = Variable(item.value, item.exported, item.site, result, item.depth)
    return result


class Environment(Mapping[str, Variable]):
    """Initial variables with changes laid over them; a change to ``None`` takes a name away."""

    __slots__ = ("base", "changes", "only_changes")

    def __init__(self, base: Mapping[str, Variable], changes: Mapping[str, Variable | None], only_changes: bool = False) -> None:
        self.base = base
        self.changes = changes
        self.only_changes = only_changes  # nothing of the initial environment is passed on (docker)

    def __getitem__(self, name: str) -> Variable:
        if name in self.changes:
            found = self.changes[name]
            if found is None:
                raise KeyError(name)
            return found
        if self.only_changes:
            raise KeyError(name)
        return self.base[name]

    def __iter__(self) -> Iterator[str]:
        for name, variable in self.changes.items():
            if variable is not None:
                yield name
        if not self.only_changes:
            for name in self.base:
                if name not in self.changes:
                    yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def with_base(self, base: Mapping[str, Variable]) -> Environment:
        """The same changes on another initial environment."""
        changes = {
            name: base.get(name) if variable is not None and variable is self.base.get(name) else rebased(variable, name, base, self.base)
            for name, variable in self.changes.items()
        }
        return Environment(base, changes, self.only_changes)
