"""Unknown text may be any number of words or lines: what depends on how many there are is unknown; what does not, stays known."""

from __future__ import annotations

import pytest

from reviewbot.trace.commands import COMMANDS
from reviewbot.trace.values import is_known
from tests.trace.scripts import only, variable

UNKNOWN = [
    'n=0; for x in $(date); do n=$((n+1)); done; v=$n',
    'l=; for x in $(date); do l+=x; done; v=$l',
    'for x in a $(date) b; do n=$((n+1)); done; v=$n',
    'set -- $(date); v=$#',
    'set -- a $(date) b; v=$3',
    'set -- a $(date); v=$3',
    'set -- a $(date) b; shift 2; v=$1',
    'f() { v=$#; }; f $(date)',
    'f() { g "$@"; }; g() { v=$2; }; f $(date) x',
    'read -r a v <<< "$(date)"',
    'read -r v b <<< "$(date)"',
    'read -ra a <<< "$(date)"; v=${#a[@]}',
    'mapfile -t a <<< "$(date)"; v=${#a[@]}',
    'mapfile -t a < <(date; echo x); v=${a[1]}',
    'a=($(date)); v=${#a[@]}',
    'a=($(date) x); v=${a[1]}',
    'a=($(date)); b=("${a[@]}" y); v=${#b[@]}',
    'a=($(date)); set -- "${a[@]}"; v=$#',
    'a=($(date)); n=0; for x in "${a[@]}"; do n=$((n+1)); done; v=$n',
    'a=(x $(date) y); c=("${a[@]:1:2}"); v=${#c[@]}',
    'x=$(date); v=${#x}',
    'v=$(date | wc -l)',
    'v=$(echo "now $(date)" | wc -l)',
    'n=0; while read -r x; do n=$((n+1)); done < <(date); v=$n',
    'n=0; date | { while read -r x; do n=$((n+1)); done; echo $n > f; }; v=$(cat f)',
    'a=(); for x in $(date); do a+=(1); done; v=${#a[@]}',
    'for x in $(date); do echo line >> f; done; v=$(cat f)',
    'v=$(for x in $(date); do echo line; done)',
    'x=$(date); v=${x%%:*}',
    'x=a/$(date); v=${x##*/}',
    'x=$(date); v=${x//a/b}',
]
KNOWN = [
    ('n=0; for x in $(date +%s) b; do n=$((n+1)); done; v=$n', "2"),
    ('set -- $(date +%s) b; v=$#$2', "2b"),
    ('set -- a "$(date)" c; v=$#$3', "3c"),
    ('set -- a $(date) b; v=$1', "a"),
    ('f() { v=$#$1; }; f x "$(date)"', "2x"),
    ('read -r a v <<< "$(date +%s) b"', "b"),
    ('read -r v b <<< "a $(date)"', "a"),
    ('a=("$(date)" x); v=${#a[@]}${a[1]}', "2x"),
    ('a=(x $(date)); v=${a[0]}', "x"),
    ('a=($(date) x); v=${a[-1]}', "x"),
    ('a=(x y $(date)); c=("${a[@]:0:2}"); v=${#c[@]}', "2"),
    ('sleep 1 & a=($! $(date +%s)); v=${#a[@]}', "2"),
    ('for x in $(date); do last=yes; done; v=$last', "yes"),
    ('v=$(echo $(date +%s) | wc -l)', "1"),
    ('x=$(date).yaml; v=${x##*.}', "yaml"),
    ('x=dir/$(date); v=${x%%/*}', "dir"),
    ('j=$(date +%s); v=${j%,}; [[ $v == "$j" ]] && v=same', "same"),
    ('j=$(date +%s); case $j in *[!0-9-]*) v=word ;; *) v=number ;; esac', "number"),
    ('f() { v=$#; }; y=$(date); f $(echo $y >/dev/null; echo one) two', "2"),
]


@pytest.mark.parametrize("script", UNKNOWN)
def test_what_depends_on_the_number_of_words_is_unknown(script: str) -> None:
    value = variable(only(script, commands=COMMANDS, stop="end"), "v")
    assert value is not None and not is_known(value), value


@pytest.mark.parametrize(("script", "value"), KNOWN)
def test_what_does_not_stays_known(script: str, value: str) -> None:
    assert variable(only(script, commands=COMMANDS, stop="end"), "v") == value
