"""Expansions, against what bash prints."""

# ruff: noqa: E501 (scripts stand on one line, as they would be typed)
from __future__ import annotations

import shutil
import subprocess

import pytest

from reviewbot.trace.values import Hole, is_known
from tests.trace.scripts import only, printed, trace, variable

CASES = [
    'x="a b"; printf "[%s]" $x "$x"; echo',
    "x=; printf '[%s]' $x \"$x\" a; echo",
    'IFS=:; x="a:b::c"; printf "[%s]" $x; echo',
    'IFS=", "; x="a , b,,c "; printf "[%s]" $x; echo',
    'x=path/to/file.tar.gz; echo ${x##*/} ${x%/*} ${x%%.*} ${x#*.} ${x%.gz} ${x#zzz}',
    'x=abcabc; echo ${x/b/X} ${x//b/X} ${x/#a/X} ${x/%c/X} ${x//[ab]/-} ${x//} ${x/#/pre}',
    "x='IMAGE/name:v1@sha#2'; echo \"${x//[^a-zA-Z0-9_.-]/-}\" ${x//#//}",
    'x=hello; echo ${x^} ${x^^} ${x^^[el]} ${x:1:3} ${x: -2} ${x:1} ${x:0:-1} ${#x}; y=HI; echo ${y,} ${y,,}',
    'echo ${u:-d} ${u-d} ${u:+a}${u+a} [${u:=set}] $u; e=; echo ${e:-d} [${e-d}] [${e+a}] [${e:+a}]',
    'a=(1 "2 3" 4); printf "[%s]" "${a[@]}" ${a[@]} "${a[*]}" ${#a[@]} "${a[@]:1}" "${a[@]:1:1}" "${!a[@]}" "${a[-1]}"; echo',
    'a=(); printf "[%s]" "${a[@]}" x "${a[@]+y}" "${a[@]:-z}"; echo; set -- ; printf "[%s]" "$@" "pre$@post"; echo',
    'set -- a "b c"; printf "[%s]" "$@" "x$@y" $* "$*" "${@:2}" $#; echo; shift; echo "$1"',
    'a=(x y); a+=(z); a[5]=q; echo "${!a[@]}" "${a[@]/x/w}"; unset "a[0]"; echo "${a[*]}"; declare -A m=([k]=v); m[z]=1; echo ${m[k]} ${#m[@]}',
    'n=v; v=val; echo ${!n}; declare -n r=v; r=new; echo $v; f() { local -n q=$1; q+=!; }; f v; echo $v',
    'echo {a,b}{1..3} {01..03} x{,y} "{a,b}" {3..1}',
    "echo \"a'b\" 'c\"d' $'t\\tx' \\$HOME \"\\$x\" ${x:-\"it's\"}",
    'echo $(echo a; echo b) "$(echo a; echo b)" `echo c`; x=$(printf "a\\n\\n"); echo "[$x]"',
    'echo $((1+2*3)) $((7/2)) $((-7%3)) $((1<<4|1)) $((2**10)) $((5>3?1:2)) $((0x1f+010)); x=3; echo $((x++ + ++x)) $x $((x+=2)); let y=x*2; echo $y',
    'a=(3 4); i=1; echo $((a[i]+a[0])) $((!0)) $((~5)) $((1,2))',
    'printf "%5s|%-5s|%05d|%x|%s\\n" a b 42 255 end; printf "%s-%s\\n" 1 2 3; printf "%b" "a\\tb\\n"; printf -v z "%03d" 7; echo $z; printf "%q\\n" "a b"',
    'echo -e "a\\tb"; echo -n x; echo; echo "a\\tb"; echo -en "y\\n"',
    'for f in *.nothing; do echo "$f"; done; shopt -s nullglob; for f in *.nothing; do echo "$f"; done; set -f; echo *',
    'read -r a b <<< "one two three"; echo "$a|$b"; IFS=, read -ra p <<< "x,y z,"; echo ${#p[@]} "${p[1]}"; mapfile -t m < <(printf "1\\n2\\n"); echo ${m[1]}',
    'while read -r -d "" x; do echo "<$x>"; done < <(printf "a b\\0c\\0"); while IFS= read -r l || [ -n "$l" ]; do echo "($l)"; done < <(printf " x\\ny")',
    'x=5; cat <<E; cat <<"E"\nv $x $((x+1)) $(echo s) \\$x `echo b`\nE\nv $x\nE',
    'cat <<-E\n\ta\n\t\tb\n\tE\necho $(cat <<E\nin\nE\n)',
    'x="a*"; case abc in "$x") echo 1;; $x) echo 2;; esac; case a in [!a]) echo n;; a|b) echo y;;& *) echo all;; esac; case x in x) echo 1;& y) echo 2;; esac',
    '[[ abc == a* && abc != "a*" && abc =~ ^a(.)c$ ]] && echo ${BASH_REMATCH[1]}; [[ a < b && -n x && ! -z x ]]; echo $?; [[ 10 -gt 9 && 1+1 -eq 2 ]]; echo $?',
    '[ a = a -a 1 -lt 2 ]; echo $?; [ ! -z "" ]; echo $?; test -n ""; echo $?; [ "(" = "(" ]; echo $?; [ x ]; echo $?; [ ]; echo $?; [ 1 -eq x ] 2>/dev/null; echo $?',
    'f() { local x=1; g; echo $x; }; g() { x=2; }; x=0; f; echo $x; h() { return 7; }; h; echo $?; h || echo "no $?"',
    'set -u; echo ${nope:-ok} "${a[@]:-e}"; (echo $nope) 2>/dev/null; echo $?',
    'while getopts "ab:" o -a -b val rest; do echo $o ${OPTARG:-}; done; echo $OPTIND',
    'x=1; (x=2; echo $x); echo $x; echo a | { read -r y; echo "$y"; x=3; }; echo $x; { x=4; }; echo $x',
    'i=0; while (( i < 5 )); do (( i == 1 )) && { ((i++)); continue; }; (( i == 3 )) && break; echo $i; ((i++)); done; until ((i>4)); do ((i++)); done; echo $i',
    'for ((i=0;i<3;i++)); do for j in a b; do [[ $j == b ]] && continue 2; echo $i$j; done; done; for k in 1 2; do for l in 1 2; do break 2; done; done; echo $k$l',
    'true && false || echo or; ! true; echo $?; ! false | true; echo $?; false | true; echo $?; set -o pipefail; false | true; echo $?; echo "${PIPESTATUS[@]}"',
    'eval "x=1; echo \\$x"; a="echo hi"; $a; b=(printf "%s\\n" "q r"); "${b[@]}"; command echo c; builtin echo d; type echo >/dev/null; echo $?',
    'echo out; echo err >&2; { echo a; echo b >&2; } 2>&1; x=$(echo e 2>&1 >/dev/null); echo "[$x]"; y=$( { echo o; echo e >&2; } 2>&1 ); echo $y',
    'trap "echo bye $?" EXIT; (trap "echo sub" EXIT; exit 3); echo $?',
    'export A=1 B; B=2; bash -c \'echo $A-$B-$1\' name arg; X=5 bash -c \'echo $X\'; echo [$X]; sh -c "exit 4"; echo $?',
    'x=(a b); echo "${#x[0]}" "${x[@]^}" "${x[@]#a}"; y=("${x[@]}" "c d"); echo ${#y[@]} "${y[2]}"; echo "${y[@]: -1}"',
    'readonly R=1; echo $R; declare -i n=3+4; n+=1; echo $n; local_var() { declare g=1; declare -g h=2; }; local_var; echo ${g:-none} $h; unset h; echo ${h-gone}',
    'trap "echo bad \\$?" ERR; false; f() { false; true; }; f; (false; true); g() { false; }; g; false || true; ! true; x=$(exit 3); echo $?',
    'set -E; trap "echo bad" ERR; f() { false; true; }; f; (false; true); x=$(false; echo y); echo "$x"; trap - ERR; false; echo end',
    'set -e; trap "echo first \\$?" ERR; trap "echo last" EXIT; if false; then :; fi; [[ a == b ]] || echo c; (exit 4)',
    'set -e -o pipefail; trap "echo pipe; exit 9" ERR; false | true; echo never',
    'shopt -s lastpipe; echo a | read -r x; echo "$x"; printf "1\n2\n" | while read -r l; do y+=$l; done; echo $y; shopt -u lastpipe; echo b | read -r x; echo $x',
    'bash -s one "two words" <<< \'echo $# "$2"\'; bash -es x <<< \'false; echo never\'; echo $?',
    'HOME=/root; echo A=~/x B=~:~/y c=a~ ~/z "D=~/x" e-f=~/x; X=~/q; echo $X',
    'a=(1 2 3); IFS=+; echo "${a[*]}" "$*"; set -- x y; echo "$*"; echo "${a[*]:1}" "${#a[*]}"; unset IFS; echo "${a[*]}"',
    'x=a.b.c; echo ${x%.*} ${x%%.*} ${x#*.} ${x##*.} ${x%[.]?} ${x/./-} ${x//./-} ${x/#a./} ${x/%.c/!} ${x#?.}; y="*a*"; echo "${y#\\*}" "${y%\\*}"',
    'pushd / >/dev/null; echo $PWD; popd >/dev/null; cd /; pwd; cd - >/dev/null; [[ $OLDPWD == / ]] && echo back',
]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("script", CASES)
def test_as_bash(script: str, tmp_path: object) -> None:
    real = subprocess.run(["bash"], input=f"{script}\n", capture_output=True, text=True, cwd=str(tmp_path), timeout=20, check=False,
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root"})
    assert _with_exit(script) == (real.stdout, real.returncode)


def _with_exit(script: str) -> tuple[str, int | None]:
    """Output and status of a script; its own EXIT trap must still run, so it is a child."""
    escaped = script.replace("'", "'\\''")
    text = printed(f"bash -c '{escaped}'\nst=$?\necho \"=$st\"")
    output, _, status = text.rpartition("=")
    return output, int(status)


@pytest.mark.parametrize(("script", "expected"), [
    ("x=$DATE-a; y=${x%-a}", "known"),
    ("x=a/$DATE/b; y=${x##*/}", "b"),
    ("x=a/$DATE; y=${x%%/*}", "a"),
    ("y=${DATE:-other}", "known"),
    ("y=${EMPTY:-}", "hole"),
    ("y=$(( N + 1 ))", "number"),
    ("y=$(( N * 0 ))", "0"),
    ("y=${#DATE}", "number"),
])
def test_holes(script: str, expected: str) -> None:
    given = {"DATE": Hole("date", None, nonempty=True), "EMPTY": Hole("e", None), "N": Hole("n", None, numeric=True)}
    found = trace(script, environment=given)
    value = variable(found.paths[0], "y")
    assert value is not None
    if expected in ("known", "hole"):
        assert not is_known(value) and len(value) == 1
    elif expected == "number":
        assert found.holes.of(value).numeric and found.holes.of(value).nonempty
    else:
        assert value == expected


def test_array_words_know_their_lines() -> None:
    script = "args=(\n  --one\n  --two=2\n)\nargs+=(--three)\nserve \\\n  --first \"${args[@]}\"\n"
    run = next(effect for effect in only(script).effects if type(effect).__name__ == "Exec")
    assert [(str(word), getattr(word, "site", run.site).line) for word in run.argv] == [
        ("serve", 6), ("--first", 7), ("--one", 2), ("--two=2", 3), ("--three", 5)]


def test_forged_holes_are_replaced() -> None:
    path = only("x=\U000f0000a; y=$E", environment={"E": "\U000f0001"})
    assert variable(path, "x") == "\ufffda"
    assert variable(path, "y") == "\ufffd"
