"""Every construct of the language, with the tree that it must give (notation: ``shape``)."""

from __future__ import annotations

import dataclasses
import random
import re
import subprocess
import time

import pytest

from reviewbot.documents import shell_syntax as syntax
from reviewbot.documents.shell import parse_arithmetic, parse_shell, parsed_like
from tests.documents.shape import arith, block

STATEMENTS = [
    ('a b c', 'a b c'),
    ('a; b & c', 'a; [b &]; c'),
    ('a \n b', 'a; b'),
    ('A=1 B+=2 cmd x', 'A=1 B+=2 cmd x'),
    ('A=', 'A='),
    ('A[1]=x B[$i]+=y', 'A[1]=x B[<i>]+=y'),
    ('a=(x [k]=v "${y[@]}" # c\n z)', 'a=(x [k]=v <"y[@]> z)'),
    ('! a 2>/dev/null | b', '[! a 2> /dev/null | b]'),
    ('! a > f', '[! a > f]'),
    ('! ! a', 'a'),
    ('if ! a | grep -q b; then c; fi', '[if [! a | grep -q b] -> c]'),
    ('a && b > f', '[a && b > f]'),
    ('a | b > f', '[pipe a | b > f]'),
    ('a && b || c && d | e', '[a && b || c && [pipe d | e]]'),
    ('a |& b | c', '[pipe a |& b | c]'),
    ('a && b &', '[[a && b] &]'),
    ('{ a; b; } > f 2>&1', '[group a; b > f 2>& 1]'),
    ('( a; b ) < f', '[sub a; b < f]'),
    ('( a ) & ( b )', '[[sub a] &]; [sub b]'),
    ('>f a x', 'a x > f'),
    ('a 2>&1 &>f >| g <> h >&2 <&- 3<<<"w x"', 'a 2>& 1 &> f >| g <> h >& 2 <& - 3<<< «w x»'),
    ('exec 3<>"/x"', 'exec 3<> «/x»'),
    ('exec {lock}>f', 'exec {lock}> f'),
    ('exec 9>f', 'exec 9> f'),
    ('if a; then b; elif c; then d; else e; fi > f', '[if a -> b c -> d else e > f]'),
    ('if a; then b; fi | c', '[pipe [if a -> b] | c]'),
    ('while read -r x; do a; done < <(b | c)', '[while read -r x do a < <<( [pipe b | c]>]'),
    ('until a; do b; done', '[until a do b]'),
    ('for x in a "b c" $d {1..3}; do e; done', '[for x in a «b c» <d> {1,2,3} do e]'),
    ('for x; do a; done', '[for x in * do a]'),
    ('for x in a\ndo b\ndone', '[for x in a do b]'),
    ('select x in a b; do c; done', '[select x in a b do c]'),
    ('for ((i=0, j=9; i<j; i++)); do a; done', '[for (, (= i 0) (= j 9)), (< i j), (post++ i) do a]'),
    ('for ((;;)) { a; }', '[for -, -, - do a]'),
    ('case "$x" in (a|b*) c ;; "q"*) d ;& [!a]) ;;& *) e\nesac', '[case <"x>: a | b* -> c;; «q»* -> d;& [!a] -> ;;& * -> e;;]'),
    ('f() { a; } > f', '[function f [group a > f]]'),
    ('function g { a; }', '[function g [group a]]'),
    ('function h () ( a ) 2>&1', '[function h [sub a 2>& 1]]'),
    ('k()\n{\n a\n}', '[function k [group a]]'),
    ('[[ ! -f $x && ( $a == b* || $c =~ ^(a b|"c")+$ ) ]]', '[test (&& (! (-f <x>)) (|| (== <a> b*) (=~ <c> ^(a b|«c»)+$)))]'),
    ('[[ -n $a ]] && [[ $b != "x*" ]] || [ -z "$c" -a d ]', '[[test (-n <a>)] && [test (!= <b> «x*»)] || [ -z <"c> -a d ]]'),
    ('[[ $a -eq 1 && $b < c && -v d ]]', '[test (&& (&& (-eq <a> 1) (< <b> c)) (-v d))]'),
    ('[[ $a == @(x|y) ]]', '[test (== <a> @(x|y))]'),
    ('[[ a ]] 2>/dev/null', '[test (-n a) 2> /dev/null]'),
    ('[[ $a\n  && $b ]]', '[test (&& (-n <a>) (-n <b>))]'),
    ('((a++, b += 2))', '[arith (, (post++ a) (+= b 2))]'),
    ('((a)) && b', '[[arith a] && b]'),
    ('( (a) )', '[sub [sub a]]'),
    ('x=$(a "b") 2>/dev/null\nif c; then d; fi', 'x=<$ a «b»> 2> /dev/null; [if c -> d]'),
    ('x=$(a) 2>"$f" || b', '[x=<$ a> 2> <"f> || b]'),
    ('if x=1 y=(2) >f; then z=2 < g; fi\nexport k', '[if x=1 y=(2) > f -> z=2 < g]; [export k]'),
    ('a "$(x=$(b) 2>/dev/null || c)"', 'a <"$ [x=<$ b> 2> /dev/null || c]>'),
    ('x=1 2>f cmd | y', '[pipe x=1 cmd 2> f | y]'),
    ('if ! { a; b; }; then c; fi', '[if [! [group a; b]] -> c]'),
    ('! for x in 1; do a; done | b && ! ( c ) || ! [[ d ]]', '[[! [for x in 1 do a] | b] && [! [sub c]] || [! [test (-n d)]]]'),
    ('a; ! \\\n if b; then c; fi > f', 'a; [! [if b -> c > f]]'),
    ('export A B=x "C=$d" E+=f', '[export A B=x «C=»<"d> E+=f]'),
    ('local -a c=(1 2) d', '[local -a c=(1 2) d]'),
    ('declare -A m=([a]=1 ["b c"]=2)', '[declare -A m=([a]=1 [«b c»]=2)]'),
    ('readonly x=$(a b)', '[readonly x=<$ a b>]'),
    ('declare -n r=$1', '[declare -n r=<1>]'),
    ('unset -v a', 'unset -v a'),
    ('time a | b', '[pipe a | b]'),
    ('time -p a', 'a'),
    ('time { a; }', '[group a]'),
    ('coproc a', 'coproc a'),
    ('a \\\n # c\nb', 'a; b'),
    ('a # c', 'a'),
    ("a#b '#' $#", 'a#b «#» <#>'),
    ('"$@" x', '<"@> x'),
    ('"${CMD[@]}" --x', '<"CMD[@]> --x'),
    ('$(a $(b "$(c)") d)', '<$ a <$ b <"$ c>> d>'),
    ('"a $(b "c") d"', '«a »<"$ b «c»>« d»'),
    ('`a \\`b\\` c`', '<$ a <$ b> c>'),
    ('"`a \\"b\\"`"', '<"$ a «b»>'),
    ('$(< f)', '<$  < f>'),
    ('$(case a in a) b;; esac)', '<$ [case a: a -> b;;]>'),
    ('$(cat <<E\nx) y\nE\n)', '<$ cat << «x) y\n»>'),
    ('<(a) >(b)', '<<( a> <>( b>'),
]
WORDS = [
    ('$x $1 $10 ${10} $? $# $$ $! $- $* "$@"', '<x> <1> <1>0 <10> <?> <#> <$> <!> <-> <*> <"@>'),
    ('${x} ${#x} ${!x} ${!x@} ${!x*} ${!x[@]} ${#x[@]} ${#} ${##}', '<x> <#x> <!x> <prefix x> <prefix x> <keys x[@]> <#x[@]> <#> <##>'),
    ('${x:-a} ${x-a} ${x:=a} ${x=a} ${x:?a} ${x?} ${x:+a} ${x+a}', '<x :- a> <x - a> <x := a> <x = a> <x :? a> <x ? > <x :+ a> <x + a>'),
    (
        '${x#a} ${x##*/} ${x%a} ${x%%.*} ${x/a/b} ${x//a} ${x/#a/b} ${x/%a/}',
        '<x # a> <x ## */> <x % a> <x %% .*> <x / a => b> <x // a> <x /# a => b> <x /% a => >',
    ),
    (
        '${x////-} ${x//\\//-} ${x//#//} ${x//[^a-z]/_} ${x//$y/$z}',
        '<x // / => -> <x // «/» => -> <x // # => /> <x // [^a-z] => _> <x // <y> => <z>>',
    ),
    ("${x/#/p} ${x/%/s} ${x/#//p} ${x///-}", "<x /#  => p> <x /%  => s> <x /#  => /p> <x // /->"),
    ('${x^} ${x^^} ${x,} ${x,,} ${x^^[ab]} ${x@Q} ${x@U}', '<x ^> <x ^^> <x ,> <x ,,> <x ^^ [ab]> <x @Q> <x @U>'),
    (
        '${x:1} ${x: -1} ${x:1:2} ${x:$((a-1)):${b}} ${x:a?1:2:3} ${x[@]:1:2}',
        '<x : 1> <x :  -1> <x : 1 => 2> <x : <= (- a 1)> => <b>> <x : a?1:2 => 3> <x[@] : 1 => 2>',
    ),
    ('${x[1]} ${x[$i]} ${x[@]} ${x[*]} ${x[i+1]} ${x["a b"]:-c}', '<x[1]> <x[<i>]> <x[@]> <x[*]> <x[i+1]> <x[«a b»] :- c>'),
    (
        '"${x:-\'$y}\'}" "${x:-"a b"}" ${x:-\'a b\'} ${x:-a b} "${x:-a\\}b}"',
        '<"x :- «\'»<"y>«}\'»> <"x :- «a b»> <x :- «a b»> <x :- a b> <"x :- «a}b»>',
    ),
    ('"${x#\'a\'}" "${x%"$y"}" ${x:-${y:-${z}}}', '<"x # «a»> <"x % <"y>> <x :- <y :- <z>>>'),
    ('$((1)) $((x+1)) $[1+2] "$((a[1]))"', '<= 1> <= (+ x 1)> <= (+ 1 2)> <"= a[1]>'),
    (
        '$((1+2*3**2**1-4)) $((a?b:c?d:e)) $((a=b+=1)) $((!a&&~b||-c))',
        '<= (- (+ 1 (* 2 (** 3 (** 2 1)))) 4)> <= (?: a b (?: c d e))> <= (= a (+= b 1))> <= (|| (&& (! a) (~ '
        'b)) (- c))>',
    ),
    ('$((0x1F)) $((010)) $((2#101)) $((10#$x)) $((16#fF)) $((08))', '<= 31> <= 8> <= 5> <= \'«10#»<"x>\'> <= 255> <= \'«08»\'>'),
    (
        '$((x++ + ++x)) $((a<<1|b&c^d)) $(((1+2)*3)) $((a,b)) $(( $x $op 1 )) $(())',
        "<= (+ (post++ x) (pre++ x))> <= (| (<< a 1) (^ (& b c) d))> <= (* (+ 1 2) 3)> <= (, a b)> <= '« "
        '»<"x>« »<"op>« 1 »\'> <= 0>',
    ),
    ('$((${x:-1}*$(a))) $((a[i]+b["k"]))', '<= (* \'<"x :- «1»>\' \'<"$ a>\')> <= (+ a[i] b[«k»])>'),
    ('\'a\'b"c"\\d $\'\\t\\x41\\u00e9\\\'\' $"a" "\\a\\$\\"" \'\' "" a""', '«a»b«cd» «\tAé\'» «a» «\\a$"» «» «» a«»'),
    (
        'a{b,c}d {1..3} {a..c} {01..10..3} {3..1} {a,{b,c}} {} {a} {,x} a{b {a,"b c",$d} {a,b}{1,2} \\{a,b} '
        '"{a,b}" {a{b,c}',
        'a{b,c}d {1,2,3} {a,b,c} {01,04,07,10} {3,2,1} {a,{b,c}} {} {a} {,x} a{b {a,«b c»,<d>} {a,b}{1,2} '
        '«{»a,b} «{a,b}» {a{b,c}',
    ),
    ('~ ~/a a~ *.b [ab]? \\*', '~ ~/a a~ *.b [ab]? «*»'),
    ('a@(b|c)d', 'a@(b|c)d'),
]
HERE = [
    ('cat <<E | x && y\nhi $a\nE\nz', '[[pipe cat << «hi »<"a>«\n» | x] && y]; z'),
    ('cat <<E > f || exit 1\n$(echo "$b" \\\\\n${c})\nE\nk', '[cat << <"$ echo <"b> «\\»; <c>>«\n» > f || exit 1]; k'),
    ("cat <<'E'\n$a `b` \\c\nE", 'cat << «$a `b` \\c\n»'),
    ('cat <<"E" <<\\F\na\nE\nb\nF', 'cat << «a\n» << «b\n»'),
    ('cat <<-E\n\tx $y\n\t\tz\n\tE\nk', 'cat << «x »<"y>«\nz\n»; k'),
    ('a <<E; b\nx\nE\nc', 'a << «x\n»; b; c'),
    ('a <<E && { b; }\nx\nE', '[a << «x\n» && [group b]]'),
    ('if a <<E; then\nx\nE\n b\nfi', '[if a << «x\n» -> b]'),
    ('while read x; do a; done <<E\nx\nE', '[while read x do a << «x\n»]'),
    ('a "$(b <<E\n"q ) \'\nE\n)" c', 'a <"$ b << «"q ) \'\n»> c'),
    ('cat <<E\n\\$a \\\\ \\` \\"q\\" ${x:-"y"} \'z\'\nE', 'cat << «$a \\ ` \\"q\\" »<"x :- «y»>« \'z\'\n»'),
    ('cat > f <<E &\nx\nE', '[cat > f << «x\n» &]'),
    ("a <<''\nx\n\nb", 'a << «x\n»; b'),
]

@pytest.mark.parametrize(("text", "expected"), STATEMENTS + HERE)
def test_statements(text: str, expected: str) -> None:
    script = parse_shell(text)
    assert script.problems == ()
    assert block(script.body) == expected


@pytest.mark.parametrize(("text", "expected"), WORDS)
def test_words(text: str, expected: str) -> None:
    script = parse_shell(": " + text)
    assert script.problems == ()
    assert block(script.body) == ": " + expected


def _nodes(value: object) -> list[object]:
    """All nodes below a node, itself included."""
    if isinstance(value, tuple):
        return [inner for item in value for inner in _nodes(item)]
    if dataclasses.is_dataclass(value):
        return [value, *(inner for field in dataclasses.fields(value) for inner in _nodes(getattr(value, field.name)))]
    return []


LINES = """\
# comment of line 1
a "x
$(b
  ${c})" `d
e` \\
  $f   # comment of line 6
cat <<E | g
h
$(i
  $j)
E
if k; then # 12
\tcat <<-F
\t\t$l
\tF
fi
m=(n
  $o)
[[ $p &&
  $q ]]
"""


def test_lines_are_true_everywhere() -> None:
    script = parse_shell(LINES)
    assert script.problems == ()
    lines = {node.name: node.line for node in _nodes(script.body) if isinstance(node, syntax.Parameter)}
    assert lines == {"c": 4, "f": 6, "j": 10, "l": 14, "o": 18, "p": 19, "q": 20}
    commands = {node.words[0].text: node.line for node in _nodes(script.body) if isinstance(node, syntax.Simple) and node.words}
    assert commands["b"] == 3 and commands["d"] == 4 and commands["e"] == 5
    assert commands["g"] == 7 and commands["i"] == 9 and commands["k"] == 12 and commands["cat"] == 13
    bodies = [node.body_line for node in _nodes(script.body) if isinstance(node, syntax.Redirect)]
    assert bodies == [8, 14]
    assert [(c.text, c.span.line, c.own_line) for c in script.comments] == [
        ("comment of line 1", 1, True), ("comment of line 6", 6, False), ("12", 12, False),
    ]


def test_escaped_backquotes_keep_lines() -> None:
    script = parse_shell("a\n: `b\n \\`c\n  \\\\$d $e\\``")
    assert {node.name: node.line for node in _nodes(script.body) if isinstance(node, syntax.Parameter)} == {"d": 4, "e": 4}


def test_spans_count_characters() -> None:
    script = parse_shell("é ü 'ß' x")
    assert isinstance(script.body[0], syntax.Simple)
    assert [tuple(word.span) for word in script.body[0].words] == [(1, 1, 1, 2), (1, 3, 1, 4), (1, 5, 1, 8), (1, 9, 1, 10)]


@pytest.mark.parametrize(("text", "static"), [
    ("a", "a"), ("'a b'c", "a bc"), ("a\\ b", "a b"), ("*", None), ("'*'", "*"), ("~/a", None), ("a~", "a~"), ("$a", None), ("{a,b}", None),
    ('""', ""), ("[a]", None), ("$'\\n'", "\n"),
])
def test_static_text(text: str, static: str | None) -> None:
    command = parse_shell(": " + text).body[0]
    assert isinstance(command, syntax.Simple)
    assert command.words[1].static == static


@pytest.mark.parametrize(("text", "expected"), [
    ("1+2*x", "(+ 1 (* 2 x))"), ("", "0"), ("a b", "'«a b»'"), ("$(", "'«$(»'"), ("0x10", "16"),
])
def test_arithmetic_of_run_time_text(text: str, expected: str) -> None:
    assert arith(parse_arithmetic(text)) == expected


@pytest.mark.parametrize(("text", "comments"), [
    ('a#b "#c" ${#d} ${e#f} $# "# g"', []),
    ("a #b", ["b"]),
    ("cat <<E\n# no\nE\n# yes", ["yes"]),
    ("x=$(a # in\n)", ["in"]),
    ("a=(b # c\n)", ["c"]),
    ("a && # c\n b", ["c"]),
    ("case x in # a\n b) c;; # d\nesac", ["a", "d"]),
    ("a |\n  # c\n b", ["c"]),
    ("#!/bin/bash\n#\n#\tx", ["!/bin/bash", "", "x"]),
])
def test_comments(text: str, comments: list[str]) -> None:
    script = parse_shell(text)
    assert script.problems == ()
    assert [comment.text for comment in script.comments] == comments


@pytest.mark.parametrize(("text", "line", "message"), [
    ("a\nif b; then\n c\n", 2, "`if` of line 2 is never closed"),
    ("if b; then\n for x in y; do\n  z\nfi", 2, "`for` of line 2 is never closed"),
    ("f() {\n a\n", 1, "`{` of line 1 is never closed"),
    ("a\nfi\nb", 2, "unexpected `fi`"),
    ("a\n}\nb", 2, "unexpected `}`"),
    ("case x in a) b;;\nc", 1, "`case` of line 1 is never closed"),
    ('a\necho "b\nc', 2, '`"` of line 2 is never closed'),
    ("echo 'b\nc", 1, "`'` of line 1 is never closed"),
    ("echo \"${b:-it's}\"", 1, "`'` of line 1 is never closed"),
    ("echo $(b", 1, "`$(` of line 1 is never closed"),
    ("echo ${b", 1, "`${` of line 1 is never closed"),
    ("x=(1 2", 1, "`(` of line 1 is never closed"),
    ("cat <<E\nb", 1, "the here-document `E` of line 1 is never ended"),
    ("a &&", 1, "a command is missing"),
    ("a;\n; b", 2, "unexpected `;`"),
    ("[[ a == ]]", 1, "`==` lacks its right side"),
    ("a <", 1, "nothing follows `<`"),
    ("a ${x!y}", 1, "`${x!y}` is not a valid expansion"),
    ("echo )", 1, "unexpected `)`"),
])
def test_syntax_errors(text: str, line: int, message: str) -> None:
    script = parse_shell(text)
    assert [(p.code, p.message, p.span.line) for p in script.problems] == [("shell-syntax", message, line)]


def test_then_as_an_argument_is_an_error() -> None:
    assert parse_shell("if [ a ] then\n b\nfi").problems


def test_the_rest_of_a_broken_script_is_read() -> None:
    script = parse_shell("a\nif b; then\n  c $(d)\nfi fi\nx=1\nexport y=2\nfor z in 1; do w; done\n")
    assert any(isinstance(node, syntax.Broken) for node in script.body)
    assert block(script.body).endswith("x=1; [export y=2]; [for z in 1 do w]")


@pytest.mark.parametrize(("data", "codes", "tree"), [
    (b"a \xff", ["invalid-utf8"], "a \udcff"),
    (b"a\r\nb 'c\r\n'\r\n", ["crlf"], "a; b «c\n»"),
    (b"\xef\xbb\xbfa", ["bom"], "a"),
    (b"a\0b", ["nul"], "ab"),
    ("a \U000f0001".encode(), [], "a \ufffd"),
    (b"", [], ""),
    (b"\n\n", [], ""),
])
def test_bytes(data: bytes, codes: list[str], tree: str) -> None:
    script = parse_shell(data)
    assert [problem.code for problem in script.problems] == codes
    assert block(script.body) == tree


@pytest.mark.parametrize("text", [
    "$(" * 500 + "a" + ")" * 500, "if a; then " * 500 + "b; " + "fi; " * 500, "(" * 3000, "((" + "(" * 3000, "echo " + "{" * 5000,
    "echo " + "{a," * 300 + "b" + "}" * 300, '"$(' * 300, "${x:-" * 400 + "}" * 400, "[[ " + "( " * 500 + "a" + " )" * 500 + " ]]",
    "echo {1..999999999}", "((a" + "?a:a" * 500 + "))", "((" + "-" * 3000 + "1))", "<<E " * 500, "a <(" * 600, "`" * 5001, "a=(" * 600,
], ids=range(16))
def test_hostile_text_is_told_quickly(text: str) -> None:
    start = time.monotonic()
    script = parse_shell(text)
    assert time.monotonic() - start < 3
    assert script.problems


@pytest.mark.parametrize("text", [
    "a && " * 3000 + "b", "a | " * 3000 + "b", "if a; then b; " + "elif a; then b; " * 2000 + "fi", "a\n" * 20000,
], ids=["list", "pipeline", "elif", "lines"])
def test_long_scripts_are_read(text: str) -> None:
    assert parse_shell(text).problems == ()


_PIECES = [
    "$(", "${", "$((", "((", "))", ")", "}", '"', "'", "`", "\\", "\n", " ", "if ", "then ", "fi", "do ", "done", "for x in ", "case x in ",
    "esac", ";;", ";", "&", "|", "<<E", "\nE\n", "<<-E", "a", "b=", "(", "{", "[[ ", " ]]", "=~", "==", "x[", "\xff", "\0", "\r\n", "#",
    "%", "/", ":", "-", "@", "1..3", "<(", ">", "<", "!", "<<<", "function f ", "() ", "é", "$'", "\t",
]


def test_nothing_raises() -> None:
    rng = random.Random(5)
    for _ in range(3000):
        text = "".join(rng.choice(_PIECES) for _ in range(rng.randint(1, 50)))
        script = parse_shell(text.encode("latin-1") if rng.random() < 0.5 else text)
        assert isinstance(script, syntax.Script)


_WORD_PIECES = [
    "a", "b", "1", "{", "}", ",", "..", "\\'", '\\"', "'x y'", '"p q"', "\\n", "\\ ", "$'a\\tb'", "$'\\x41'", "$'\\''", '"a\\"b"', '"\\a"',
    "$'\\303\\251'", "$'\\u20ac\\cA'", "{a,b}", "{1..3}", "{01..3}", "{a..c}", "{,}", "-", "=", "~", "é", "$", "%", "#", "{3..1}",
    "{1..9..3}",
    "\\{", "\\,", "''", '""', "{}", "!", "\\\n", "{-2..2}", "'#'", '"$"', "^", ":", "@",
]


def _expanded(parts: tuple[syntax.Part, ...]) -> list[str]:
    texts = [""]
    for part in parts:
        if isinstance(part, syntax.Literal):
            choices = [part.text]
        else:
            assert isinstance(part, syntax.Braces), part
            choices = [text for inner in part.words for text in _expanded(inner.parts)]
        texts = [text + choice for text in texts for choice in choices]
    return texts


def test_words_mean_what_bash_says() -> None:
    """Quotes, escapes, ``$'..'`` and braces of random words against ``printf`` of bash."""
    rng = random.Random(11)
    words: list[str] = []
    while len(words) < 1500:
        word = "".join(rng.choice(_WORD_PIECES) for _ in range(rng.randint(1, 6)))
        # left out: a comment, a tilde to expand, a continued line without text, and parameters such as $-
        if not word.startswith(("~", "#", "\\\n")) and not re.search(r"\$[\w\-$#!@{]|\$\\\n", word):
            words.append(word)
    program = "".join(f"printf '%s\\0' x {word} y\nprintf '\\n\\n\\0'\n" for word in words)
    bash = subprocess.run(["bash", "--norc", "-c", program], capture_output=True, env={"LC_ALL": "C.UTF-8"}, check=True)
    answers = bash.stdout.decode("utf-8", "surrogateescape").split("\n\n\0")
    assert len(answers) == len(words) + 1
    for word, answer in zip(words, answers, strict=False):
        script = parse_shell(f": x {word} y")
        assert script.problems == () and len(script.body) == 1, word
        command = script.body[0]
        assert isinstance(command, syntax.Simple), word
        # an empty result of an unquoted word is no word
        expected = [text for text in answer.split("\0")[:-1] if text]
        assert [text for item in command.words[1:] for text in _expanded(item.parts) if text] == expected, word


STEP = """set -x
# filled in
export CONFIG_FILE=recipes/a.yaml A=1{blank}
for x in 1 2; do
  export Q=1
done
cat <<END
export R=1
END
export S="$x" T=1
bash ./run.sh
"""


@pytest.mark.parametrize(
    ("old", "new", "like"),
    [
        ("recipes/a.yaml", "recipes/b.yaml:zip[0]", False),
        ("recipes/a.yaml", "recipes/bcd.yaml", True),
        ("CONFIG_FILE=recipes/a.yaml A=1{blank}", "PREFILL_NODES=12 ", True),
        ("A=1{blank}", "A=1 # comment", False),
        ("A=1{blank}", "A=1; exit", False),
        ("A=1{blank}", "A=1 \\", False),
        ("A=1{blank}", "A=$B", False),
        ("Q=1", "Q=2", False),
        ("R=1", "R=2", False),
        ("T=1", "T=2", False),
        ("./run.sh", "./other.sh", False),
        ("bash ./run.sh", "bash ./run.sh\n", False),
    ],
)
def test_a_script_with_other_exports_is_made_of_a_like_one(old: str, new: str, like: bool):
    model, text = STEP.replace("{blank}", ""), STEP.replace(old, new).replace("{blank}", "")
    assert model != text
    found = parsed_like(parse_shell(model), text)
    assert found == (parse_shell(text) if like else None)


@pytest.mark.parametrize(
    "text",
    ["! { a; }", "a && ! \\\n  ( b )", "if\n  ! f() { g; }; then c; fi", "while ! for x in 1; do y; done; do z; done"],
)
def test_negated_compounds_are_read(text: str):
    assert parse_shell(text).problems == ()
    assert "negated=True" in repr(parse_shell(text).body)


@pytest.mark.parametrize("text", ["echo ! { a", "shutdown ! ( b", "[ a ! { b ]"])
def test_an_exclamation_mark_among_words_is_a_word(text: str):
    assert "negated=True" not in repr(parse_shell(text).body)
