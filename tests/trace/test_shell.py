"""The evaluator: unknown conditions, guards, joins, forks, provenance, bounds, hostile texts."""

# ruff: noqa: E501 (scripts stand on one line, as they would be typed)
from __future__ import annotations

import random
import shutil
import subprocess
import time

import pytest

from reviewbot.documents.positions import Site
from reviewbot.trace.effects import Assign, Assume, Edit, Enter, Exec, Limit, Refuse, Submit
from reviewbot.trace.memo import TraceCache
from reviewbot.trace.settings import Bounds, TraceSettings
from reviewbot.trace.trace import trace_script
from reviewbot.trace.values import Hole
from reviewbot.tree import MemoryTree
from tests.trace.scripts import COMMANDS, kinds, only, trace, variable


@pytest.mark.parametrize("script", [
    "if maybe; then echo no; exit 1; fi",
    "if ! maybe; then exit 2; fi",
    "if maybe; then :; else return_is_not_here=1; exit 3; fi",
    "maybe || exit 1",
    "maybe || { echo no >&2; exit 1; }",
    "f() { maybe || return 1; }; f || exit 1",
    "die() { echo $1; exit 1; }; maybe || die gone",
    "die() { echo $1; exit 1; }; if maybe; then die gone; fi",
    "if [ ! -x /a ] || [ ! -x /b ]; then exit 1; fi",
    "[[ -f /cluster/file ]] || exit 1",
    "while maybe; do sleep 5; done",
    "while ! maybe; do if ! maybe x; then exit 1; fi; sleep 5; done",
    "until maybe; do sleep 1; done",
    "while true; do if maybe; then break; fi; sleep 5; done",
    "while true; do sleep 5; done",
    "ok=false; for i in 1 2 3; do if maybe; then ok=true; break; fi; sleep 1; done; [ $ok = true ] || exit 1",
    "w() { for i in 1 2 3; do maybe && return 0; sleep 1; done; return 1; }; w || exit 1",
])
def test_guards_and_polls_leave_one_path(script: str) -> None:
    path = only(script + "\nx=1")
    assert (path.outcome, path.status, variable(path, "x")) == ("ended", 0, "1")
    assert kinds(path, Assume)


@pytest.mark.parametrize(("script", "assumption"), [
    ("if maybe; then enter go.sh; else echo no; exit 1; fi", "true"),
    ("if maybe; then x=1; echo no; [ -n \"$x\" ] && exit 1; else x=1; enter go.sh; fi", "false"),
    ("f() { if maybe; then enter go.sh; else y=$(maybe); return 1; fi; }; f || exit 1", "true"),
])
def test_arm_that_enters_runs_its_script_once_beside_a_refusal(script: str, assumption: str) -> None:
    text = "a=1\nprogram $a &\nif maybe; then b=2; else b=3; fi\nclient --b $b\n"
    path = only(f"h=$(date)\n{script}", {"go.sh": text})
    assert path.outcome == "script"
    assert [effect.argv[0] for effect in kinds(path, Exec) if effect.argv[0] != "date"] == ["program", "client"]
    assert len(kinds(path, Enter)) == 1
    assert any(effect.text.endswith(f"taken for {assumption}") for effect in kinds(path, Assume))


def test_arms_that_both_enter_make_two_paths() -> None:
    found = trace("if maybe; then x=1; else x=2; fi\nif maybe $x; then enter one.sh; else enter two.sh; fi", {"one.sh": "p 1", "two.sh": "p 2"})
    assert [(path.outcome, [effect.argv for effect in kinds(path, Exec)]) for path in found.paths] == [
        ("script", [("p", "1")]), ("script", [("p", "2")]),
    ]


def test_case_by_table_is_case_by_pattern() -> None:
    arms = "case $1 in a|b) echo 1;; c) echo 2;; a) echo 3;; [d]) echo 4;; e) echo 5;; *) echo 6;; esac"
    script = f"f() {{ {arms}; }}; out=\nfor x in a b c d e f ''; do out+=$(f \"$x\"); done"
    assert variable(only(script), "out") == "1124566"
    fall = "case $1 in a) echo 1;& b) echo 2;;& c|a) echo 3;; esac"
    assert variable(only(f"f() {{ {fall}; }}; out=$(f a; f b; f c)"), "out") == "1\n2\n3\n2\n3"


def test_environment_behind_hidden_names() -> None:
    path = only("f() { local A=2 B=3; p 1; }\ng() { local -x A=4; p 2; }\np 0; f; p 3; g; p 4; unset A; p 5", environment={"A": "1"})
    seen = {effect.argv[1]: effect.environment["A"].value if "A" in effect.environment else None for effect in kinds(path, Exec)}
    assert (seen["0"], seen["2"], seen["3"], seen["4"], seen["5"]) == ("1", "4", "1", "1", None)
    assert all("B" not in effect.environment for effect in kinds(path, Exec))


def test_bracket_is_a_command_and_no_pattern() -> None:
    found = trace("cd /somewhere\n[ a = a ] && x=1\ny=[\necho $y > out", {"a": ""})
    path, = found.paths
    assert variable(path, "x") == "1"
    assert "/" not in found.files_read


def test_arms_are_joined() -> None:
    found = trace("before=1\nif maybe; then x=a; export y=1; else x=b; fi\n[[ -n $x ]] && z=1\n[[ $x == c ]] || w=1\ncase $x in a|b) v=1;; esac\n")
    path, = found.paths
    value = variable(path, "x")
    assert value is not None and found.holes.of(value).choices == ("a", "b")
    assert found.holes.of(variable(path, "y") or "").choices == ("", "1")
    assert path.variables["y"].exported
    assert [variable(path, name) for name in ("z", "w", "v", "before")] == ["1", "1", "1", "1"]
    assert {effect.value: effect.certain for effect in kinds(path, Assign)}["a"] is False
    assert path.variables["x"].site == Site("step.yml", 2)


def test_equal_choices_decide_and_operators_work_on_each() -> None:
    found = trace("if maybe; then m=/a/one; else m=/b/two; fi; n=${m##*/}; p=${m:0:1}")
    path, = found.paths
    assert found.holes.of(variable(path, "n") or "").choices == ("one", "two")
    assert variable(path, "p") == "/"


def test_output_and_files_are_joined() -> None:
    found = trace("x=$(maybe && echo yes || echo no)\nif maybe; then rm /t/f; else echo > /t/g; fi\n[[ -f /t/f ]]; y=$?\ncat /t/g")
    path, = found.paths
    assert found.holes.of(variable(path, "x") or "").choices == ("no", "yes")
    assert found.holes.of(variable(path, "y") or "").label == "exit status"


@pytest.mark.parametrize(("script", "values"), [
    ("for c in /l/a /l/b; do if [[ -d $c ]]; then s=$c; break; fi; done; x=${s:-/l/none}; serve $x", {"/l/a", "/l/b", "/l/none"}),
    ("args=(); if maybe; then args+=(--flag); fi; serve ${args[@]}; x=${#args[@]}", {"0", "1"}),
    ("f() { if maybe; then return 0; fi; x=1; serve 1; }; x=0; f; serve 2", {"0", "1"}),
    ("if maybe; then e='--a 1'; fi; set -- $e; x=$#; serve $x", {"2", "0"}),
    ("if maybe; then cd /a; else cd /b; fi; x=$PWD; serve", {"/a", "/b"}),
])
def test_forks(script: str, values: set[str]) -> None:
    found = trace(script)
    assert {variable(path, "x") for path in found.paths} <= values | {None}
    seen = {tuple(str(word) for word in effect.argv) for path in found.paths for effect in kinds(path, Exec)}
    assert len(found.paths) == len(values) and len(seen) >= 1
    assert all(kinds(path, Assume) for path in found.paths)


def test_same_question_same_answer() -> None:
    found = trace("if [[ -d /l/x ]]; then cd /; fi; a=$PWD; for i in 1 2; do if [[ -d /l/y ]]; then cd /a$i; fi; done; serve $PWD")
    assert len(found.paths) == 3  # the second directory hides the first


def test_refused_twins_are_dropped() -> None:
    found = trace("for d in a b; do if [[ -f /sys/$d ]]; then r=$d; break; fi; done\nif [ -z $r ]; then exit 1; fi\necho r: $r > r.yaml\napply r.yaml")
    assert {path.outcome for path in found.paths} == {"submit"}
    assert {effect.text.text for path in found.paths for effect in kinds(path, Submit)} == {"r: a\n", "r: b\n"}


@pytest.mark.parametrize(("script", "status", "message"), [
    ("set -u; echo $NOPE", 127, "NOPE: unbound variable"),
    (": ${x:?must be set}", 1, "x: must be set"),
    ("echo 'Unsupported: y'; exit 1", 1, "Unsupported: y"),
    ("set -e\nfalse\nx=1", 1, ""),
    ("set -e\nx=$(false)\nx=1", 1, ""),
    ("set -e\nf() { false; echo; }\nf", 1, ""),
    ("set -e\n(exit 4)", 4, ""),
    ("set -eo pipefail\nfalse | true", 1, ""),
    ("bash missing.sh || exit 127", 127, "missing.sh: No such file or directory"),
])
def test_refusals(script: str, status: int, message: str) -> None:
    path = only(script)
    assert (path.outcome, path.status, path.message) == ("refused", status, message)
    assert kinds(path, Refuse)[0].status == status


@pytest.mark.parametrize("script", [
    "set -e; false || true; x=1", "set -e; if false; then :; fi; x=1", "set -e; ! true; x=1", "set -e; false && true; x=1",
    "set -e; local_() { local y=$(false); }; local_; x=1", "set -e; export y=$(false); x=1", "set -e; maybe; x=1",
    "set -e; while false; do :; done; x=1", "set -e; y=$(false; echo); x=1", "set -e; f() { false; true; }; f || :; x=1",
    "set -e; set +e; false; x=1",
])
def test_errexit_is_not_looked_at(script: str) -> None:
    assert variable(only(script), "x") == "1"


FILES = {
    "runners/launch_a.sh": 'source "$(cd "${BASH_SOURCE[0]%/*}" && pwd)/lib.sh"\nexport MODEL_PATH="/m/$MODEL"\nprepare\nif [[ $KIND == multi ]]; '
                           'then\n  cat recipes/r.yaml > out.yaml\n  printf "end: %s\\n" "$X" >> recipes/r.yaml\n  apply recipes/r.yaml\n'
                           'fi\nenter benchmarks/b.sh\nnever=1\n',
    "runners/lib.sh": "prepare() {\n  local dir=$1\n  prepared=1\n}\n",
    "recipes/r.yaml": "name: a\nmodel: b\n",
    "benchmarks/b.sh": 'echo "$ADDED $MODEL_PATH"\nserve --port 1 &\nPID=$!\nclient --n 2\nexit 0\n',
}
STEP = "export X=1\nbash runners/launch_${RUNNER%%_*}.sh\n"


def test_a_launcher_submits() -> None:
    path = only(STEP, FILES, {"RUNNER": "a_03", "MODEL": "m", "KIND": "multi"})
    submit, = kinds(path, Submit)
    assert path.outcome == "submit" and submit.text.text == "name: a\nmodel: b\nend: 1\n"
    assert submit.text.origins[1].site == Site("recipes/r.yaml", 2)
    assert submit.text.origins[2].by == ((Site("runners/launch_a.sh", 6), None),)
    assert submit.environment["MODEL_PATH"].value == "/m/m"
    assert submit.environment["MODEL_PATH"].site == Site("runners/launch_a.sh", 2)
    assert "prepared" not in submit.environment and submit.environment["RUNNER"].site is None
    edit, = kinds(path, Edit)
    assert (edit.line, edit.before, edit.after) == (3, None, "end: 1")


def test_a_launcher_enters_a_script() -> None:
    path = only(STEP, FILES, {"RUNNER": "a_03", "MODEL": "m", "KIND": "single"})
    enter, = kinds(path, Enter)
    assert path.outcome == "script" and enter.path == "benchmarks/b.sh" and enter.image == "img" and variable(path, "never") is None
    server, client = kinds(path, Exec)
    assert (server.argv[0], server.background, server.site, server.inside) == ("serve", True, Site("benchmarks/b.sh", 2), ("srun",))
    assert (client.argv[0], client.background, client.cwd) == ("client", False, "/workspace")
    assert server.environment["ADDED"].value == "1"


def test_reads_and_sharing() -> None:
    tree = MemoryTree({path: text.encode() for path, text in FILES.items()})
    given = {"RUNNER": "a_03", "MODEL": "m", "KIND": "multi", "OTHER": "1"}
    found = trace_script(STEP, "step.yml", 0, given, tree, commands=COMMANDS)
    assert {"RUNNER", "MODEL", "KIND"} <= found.reads and "OTHER" not in found.reads and "X" not in found.reads
    assert {"runners/launch_a.sh", "runners/lib.sh", "recipes/r.yaml"} <= found.files_read
    again = found.rebased({**given, "OTHER": "2", "X": "old"})
    submit, = kinds(again.paths[0], Submit)
    assert submit.environment["OTHER"].value == "2" and submit.environment["X"].value == "1"
    over = submit.environment["X"].over
    assert over is not None and over.value == "old"
    assert next(effect for effect in kinds(again.paths[0], Assign) if effect.name == "X").before == "old"


def test_the_cache_shares_what_may_be_shared() -> None:
    tree = MemoryTree({"a.sh": b"echo $A; x=$B\n"})
    cache = TraceCache(TraceSettings())
    for given in ({"A": "1", "C": "1"}, {"A": "1", "C": "2"}, {"A": "2"}, {"A": "1", "B": ""}):
        cache.trace("bash a.sh", "s", 0, given, tree)
    assert (cache.hits, cache.misses) == (1, 3)
    cache.trace("bash a.sh", "s", 0, {"A": "1"}, MemoryTree({"a.sh": b"echo $A; x=$B\n", "other": b""}))
    assert cache.hits == 2
    cache.trace("bash a.sh", "s", 0, {"A": "1"}, MemoryTree({"a.sh": b"echo $A\n"}))
    assert cache.misses == 4


def test_lines_of_a_step() -> None:
    tree = MemoryTree({})
    found = trace_script("x=1\nserve a\n", ".github/workflows/w.yml", 40, {}, tree)
    assert [effect.site for effect in kinds(found.paths[0], Exec)] == [Site(".github/workflows/w.yml", 42)]


@pytest.mark.parametrize(("script", "what"), [
    ("f() { f; }; f", "nested deeper"),
    ("while :; do x=1$x; done", "iterations"),
    ("x=aaaaaaaaaa; for i in {1..40}; do x=$x$x; done", "too long"),
    ("for i in {1..9000}; do :; :; :; done", "commands"),
    ("bash s.sh", "nested deeper"),
    ("for i in {1..10}; do if [[ -d /l/$i ]]; then cd /l/$i; fi; done; serve $PWD", "paths"),
])
def test_bounds_are_said(script: str, what: str) -> None:
    found = trace(script, {"s.sh": "bash s.sh"}, settings=TraceSettings(bounds=Bounds(paths=8)))
    assert any(what in limit.text for path in found.paths for limit in kinds(path, Limit))
    assert len(found.paths) <= 8


def test_a_command_with_a_bug_is_unknown() -> None:
    path = only("x=$(broken); y=1")
    assert variable(path, "y") == "1" and "KeyError" in kinds(path, Limit)[0].text


def test_numbers_of_unknown_lists_are_unknown() -> None:
    path = only('mapfile -t hosts < <(who_knows)\n[[ ${#hosts[@]} -ge 2 ]] || { echo "too few"; exit 1; }\nx=${hosts[1]}\ny=(${U})\nz=${#y[@]}',
                environment={"U": Hole("u", None)})
    assert path.outcome == "ended" and len(variable(path, "x") or "") == 1 and not (variable(path, "z") or "").isdigit()


def test_a_trap_sees_the_status() -> None:
    path = only("set -e\nend() { local rc=$?; seen=$rc; exit $rc; }\ntrap end EXIT\nfalse")
    assert (path.outcome, path.status, variable(path, "seen")) == ("refused", 1, "1")


def test_a_directory_that_a_program_names_is_not_in_the_workspace() -> None:
    path = only("root=$(where_is it)\nif [ ! -d $root/lib ]; then echo none; exit 1; fi\nx=1")
    assert variable(path, "x") == "1"


_PIECES = ["if", "then", "fi", "for x in", "do", "done", "case", "esac", "in", "((", "))", "[[", "]]", "${", "}", "$(", ")", "`", '"', "'", "<<E", "\n", ";",
           "|", "&&", "&", ">", "<", "x=1", "$x", "${x:-", "a[0]=", "{", "function f", "()", "exit", "return", "break 9", "trap", "eval", "\\", "é", "\0",
           "\U000f0003", "local x", "declare -n y=y", "set -e", "shift 5", "exec", "read a", "printf %", "[", "test -f", "cd", "source", "bash -c", "${!x}",
           "$((1/0))", "${x//", "unset x", "wait", "$!", "getopts", "mapfile", "let 1=", "${@:1:", "{1..3}", "*"]


def test_hostile_texts_never_raise() -> None:
    generator = random.Random(7)
    start = time.monotonic()
    for _ in range(400):
        text = " ".join(generator.choice(_PIECES) for _ in range(generator.randrange(1, 40)))
        trace(text, {"a.sh": text}, {"x": "\U000f0001"}, settings=TraceSettings(bounds=Bounds(seconds=0.5, commands=500, paths=8)))
    assert time.monotonic() - start < 60


_WORDS = ["a", "b c", "", "x*y", "foo.tar.gz", "/usr/lib/x", "A_b-C", "  lead", "42"]


def _script(generator: random.Random) -> str:
    pick = generator.choice

    def quoted() -> str:
        return "'" + pick(_WORDS).replace("'", "'\\''") + "'"

    def value() -> str:
        name = pick(["v1", "v2", "v3"])
        return pick([f"${name}", f"${{{name}:-d e}}", f"${{{name}:+alt}}", f"${{{name}#*/}}", f"${{{name}##*/}}", f"${{{name}%.*}}", f"${{{name}%%.*}}",
                     f"${{#{name}}}", f"${{{name}//[a-c]/Z}}", f"${{{name}/x/Y}}", f"${{{name}^^}}", f"${{{name}:1:2}}"])

    def word(depth: int = 0) -> str:
        kind = generator.randrange(7 if depth < 2 else 4)
        if kind == 0:
            return quoted()
        if kind < 3:
            return f'"{value()}"'
        if kind == 3:
            return value()
        return pick(['"${arr[@]}"', "$((n*2+1))", f'"$(echo {word(depth + 1)})"'])

    def test() -> str:
        return pick([f'[[ "{value()}" == {pick(["a*", "*c", "?", "[a-z]*"])} ]]', f'[ -n "{value()}" ]', "(( n > 2 ))", "true", "! false", "f a b", "(exit 3)"])

    def block(depth: int) -> str:
        return "; ".join(statement(depth) for _ in range(generator.randrange(1, 3)))

    def statement(depth: int) -> str:
        kind = generator.randrange(12 if depth < 3 else 4)
        simple = [f"echo {word()} {word()}", f"{pick(['v1', 'v2', 'v3'])}={word()}", f"printf '[%s]' {word()} {word()}; echo",
                  pick([f"arr+=({word()})", "n=$((n+1))", "unset v1", "echo $? ${#arr[@]}", f"set -- {word()} {word()}; echo $# $1"])]
        if kind < 4:
            return simple[kind]
        return [f"if {test()}; then {block(depth + 1)}; else {block(depth + 1)}; fi", f"for i in {word()} {word()}; do {block(depth + 1)}; done",
                f"case \"{value()}\" in a*) {block(depth + 1)};; *c|x?y) echo two;; *) echo other;; esac", f"{test()} {pick(['&&', '||'])} echo z",
                f"f {word()} {word()}; echo $?", f"( {block(depth + 1)} ); echo $?", f"{{ {block(depth + 1)}; }} | while IFS= read -r l; do echo \"<$l>\"; done",
                f"v2=$( {block(depth + 1)} ); echo $?"][kind - 4]

    lines = ["v1='a.b/c d'", "v2=foo.tar.gz", "n=3", "arr=('p q' r)", 'f() { local v1=$2; echo "f:$1:$v1:$#"; [[ $1 == a ]]; return $?; }']
    if generator.random() < 0.3:
        lines.insert(0, pick(["set -e", "set -o pipefail"]))
    return "\n".join(lines + [statement(0) for _ in range(generator.randrange(3, 8))])


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("seed", range(6))
def test_random_scripts_as_bash(seed: int, tmp_path: object) -> None:
    generator = random.Random(seed)
    for _ in range(30):
        script = _script(generator)
        escaped = script.replace("'", "'\\''")
        wrapped = f"bash -c '{escaped}' > /out\necho \"=$?\" >> /out\napply /out"
        path = only(wrapped)
        submit = next(iter(kinds(path, Submit)))
        assert not kinds(path, Limit), script
        real = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=str(tmp_path), timeout=20, check=False,
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
        assert submit.text.text == f"{real.stdout}={real.returncode}\n", script
