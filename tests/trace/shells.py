"""A shell for tests of commands: one directory, no evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reviewbot.documents.positions import Site
from reviewbot.trace.commands import COMMANDS
from reviewbot.trace.effects import Assume, Effect, Limit, Variable
from reviewbot.trace.filesystem import VirtualFiles, written
from reviewbot.trace.protocol import Invocation, Outcome
from reviewbot.trace.settings import TraceSettings
from reviewbot.trace.values import Hole, Holes
from reviewbot.tree import Tree

SITE = Site("run.sh", 3)


class FakeShell:
    def __init__(self, tree: Tree | None = None, cwd: str = "/w", opaque: frozenset[str] = frozenset()) -> None:
        self.cwd = cwd
        self.files = VirtualFiles(tree, "/w")
        self.holes = Holes()
        self.settings = TraceSettings(workspace="/w", opaque=opaque)
        self.inside: tuple[str, ...] = ()
        self.effects: list[Effect] = []
        self.variables: dict[str, str] = {}
        self.ran: list[tuple[str, ...]] = []
        self.entered: list[dict[str, object]] = []
        self.upstreams: dict[tuple[str, str | None], Tree] = {}
        if tree is None:
            self.files.remove("/w")
            self.files.make_directory("/w")

    def get(self, name: str) -> str | None:
        return self.variables.get(name)

    def set(self, name: str, value: str, site: Site) -> None:
        self.variables[name] = value

    def environment(self) -> Mapping[str, Variable]:
        return {name: Variable(value, True, None) for name, value in self.variables.items()}

    def absolute(self, path: str) -> str:
        import posixpath

        return posixpath.normpath(posixpath.join(self.cwd, path))

    def hole(
        self,
        label: str,
        site: Site,
        *,
        nonempty: bool = False,
        numeric: bool = False,
        witness: str | None = None,
        choices: tuple[str, ...] | None = None,
    ) -> str:
        return self.holes.new(Hole(label, site, nonempty, numeric, witness, choices))

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def assume(self, text: str, site: Site) -> None:
        self.effects.append(Assume(text, site))

    def missing(self, name: str, by: str, site: Site) -> None:
        self.effects.append(Assume(f"{by} cannot read {name}", site))

    def limit(self, text: str, site: Site) -> None:
        self.effects.append(Limit(text, site))

    def upstream(self, url: str, ref: str | None) -> Tree | None:
        return self.upstreams.get((url, ref))

    def run(
        self,
        argv: Sequence[str],
        site: Site,
        *,
        stdin: str | None = None,
        environment: Mapping[str, str] | None = None,
        background: bool = False,
        cwd: str | None = None,
    ) -> Outcome:
        self.ran.append(tuple(argv))
        return self.call(*argv, stdin=stdin) if argv and argv[0] in COMMANDS else Outcome(None)

    def run_text(self, text: str, site: Site, *, arguments: Sequence[str] = (), stdin: str | None = None) -> Outcome:
        self.ran.append(("bash", "-c", text))
        return Outcome(None)

    def run_script(
        self, path: str, arguments: Sequence[str], site: Site, *, stdin: str | None = None, environment: Mapping[str, str] | None = None
    ) -> Outcome:
        self.ran.append(("bash", path, *arguments))
        return Outcome(None)

    def enter(
        self,
        path: str,
        argv: Sequence[str],
        site: Site,
        *,
        by: str,
        image: str | None = None,
        mounts: Sequence[tuple[str, str]] = (),
        environment: Mapping[str, str] | None = None,
        only: bool = False,
        cwd: str | None = None,
        background: bool = False,
    ) -> Outcome:
        self.entered.append(
            {
                "path": path,
                "by": by,
                "image": image,
                "mounts": list(mounts),
                "environment": dict(environment or {}),
                "only": only,
                "cwd": cwd,
            }
        )
        return Outcome(None)

    # -- for tests --------------------------------------------------------------------------------------------------------

    def call(self, *argv: str, stdin: str | None = None) -> Outcome:
        answer = COMMANDS[argv[0]](Invocation(tuple(argv), SITE, self, lambda: stdin or "", stdin is not None))
        if isinstance(answer, Outcome):
            return answer
        return Outcome(answer)

    def put(self, path: str, text: str) -> None:
        self.files.write(self.absolute(path), written(text, SITE))

    def text(self, path: str) -> str | None:
        content = self.files.read_text(self.absolute(path))
        return None if content is None else content.text
