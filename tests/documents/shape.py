"""A short notation for shell trees, so that tests can state whole trees.

Unquoted text stands as it is, quoted text in «guillemets», an expansion in ``<>``; statements are written as lists in brackets.
"""

from __future__ import annotations

from reviewbot.documents import shell_syntax as syntax


def word(node: syntax.Word) -> str:
    return "".join(part(piece) for piece in node.parts)


def part(node: syntax.Part) -> str:
    if isinstance(node, syntax.Literal):
        return f"«{node.text}»" if node.quoted else node.text
    if isinstance(node, syntax.Parameter):
        flags = "#" * node.length + "!" * node.indirect + "keys " * node.keys + "prefix " * node.prefix
        index = f"[{word(node.index)}]" if node.index else ""
        argument = f" {word(node.argument)}" if node.argument else ""
        replacement = f" => {word(node.replacement)}" if node.replacement else ""
        quoted = '"' if node.quoted else ""
        return f"<{quoted}{flags}{node.name}{index}{' ' + node.op if node.op else ''}{argument}{replacement}>"
    if isinstance(node, syntax.Substitution):
        return ('<"$ ' if node.quoted else "<$ ") + block(node.body) + ">"
    if isinstance(node, syntax.Arithmetic):
        return ('<"' if node.quoted else "<") + f"= {arith(node.expression)}>"
    if isinstance(node, syntax.ProcessSubstitution):
        return f"<{node.direction}( {block(node.body)}>"
    return "{" + ",".join(word(item) for item in node.words) + "}"


def arith(node: syntax.Arith) -> str:
    if isinstance(node, syntax.ArithNumber):
        return str(node.value)
    if isinstance(node, syntax.ArithName):
        return node.name + (f"[{word(node.index)}]" if node.index else "")
    if isinstance(node, syntax.ArithText):
        return f"'{word(node.word)}'"
    return f"({node.op} {' '.join(arith(item) for item in node.operands)})"


def test_expr(node: syntax.TestExpr) -> str:
    if isinstance(node, syntax.TestUnary):
        return f"({node.op} {word(node.operand)})"
    if isinstance(node, syntax.TestBinary):
        return f"({node.op} {word(node.left)} {word(node.right)})"
    if isinstance(node, syntax.TestWord):
        return f"(-n {word(node.operand)})"
    if isinstance(node, syntax.TestNot):
        return f"(! {test_expr(node.operand)})"
    name = "&&" if isinstance(node, syntax.TestAnd) else "||"
    return f"({name} {test_expr(node.left)} {test_expr(node.right)})"


test_expr.__test__ = False  # type: ignore[attr-defined]


def assignment(node: syntax.Assignment) -> str:
    index = f"[{word(node.index)}]" if node.index else ""
    sign = "+=" if node.append else "="
    if node.array is not None:
        value = "(" + " ".join((f"[{word(key)}]=" if key else "") + word(item) for key, item in node.array) + ")"
    else:
        value = word(node.value) if node.value else ""
    return f"{node.name}{index}{sign}{value}"


def redirects(nodes: tuple[syntax.Redirect, ...]) -> str:
    return "".join(f" {'' if r.fd is None else r.fd}{'{' + r.variable + '}' if r.variable else ''}{r.op} {word(r.target)}" for r in nodes)


def block(nodes: syntax.Block) -> str:
    return "; ".join(statement(node) for node in nodes)


def statement(node: syntax.Statement) -> str:
    if isinstance(node, syntax.Simple):
        return " ".join([*map(assignment, node.assignments), *map(word, node.words)]) + redirects(node.redirects)
    if isinstance(node, syntax.Declaration):
        items = [assignment(item) if isinstance(item, syntax.Assignment) else word(item) for item in node.items]
        return " ".join([f"[{node.keyword}", *items]) + redirects(node.redirects) + "]"
    if isinstance(node, syntax.TestCommand):
        return f"[test {test_expr(node.expression)}{redirects(node.redirects)}]"
    if isinstance(node, syntax.ArithCommand):
        return f"[arith {arith(node.expression)}{redirects(node.redirects)}]"
    if isinstance(node, syntax.Pipeline):
        both = [" |& " if index < len(node.both) and node.both[index] else " | " for index in range(len(node.parts))]
        text = "".join(statement(item) + (both[index] if index + 1 < len(node.parts) else "") for index, item in enumerate(node.parts))
        return f"[{'!' if node.negated else 'pipe'} {text}]"
    if isinstance(node, syntax.AndOr):
        return "[" + statement(node.first) + "".join(f" {op} {statement(item)}" for op, item in node.rest) + "]"
    if isinstance(node, syntax.Background):
        return f"[{statement(node.statement)} &]"
    if isinstance(node, syntax.If):
        arms = " ".join(f"{block(condition)} -> {block(body)}" for condition, body in node.arms)
        otherwise = f" else {block(node.otherwise)}" if node.otherwise is not None else ""
        return f"[if {arms}{otherwise}{redirects(node.redirects)}]"
    if isinstance(node, syntax.For):
        words = "*" if node.words is None else " ".join(map(word, node.words))
        return f"[{'select' if node.select else 'for'} {node.name} in {words} do {block(node.body)}{redirects(node.redirects)}]"
    if isinstance(node, syntax.ArithFor):
        heads = ", ".join(arith(item) if item else "-" for item in (node.start, node.condition, node.step))
        return f"[for {heads} do {block(node.body)}{redirects(node.redirects)}]"
    if isinstance(node, syntax.While):
        return f"[{'until' if node.until else 'while'} {block(node.condition)} do {block(node.body)}{redirects(node.redirects)}]"
    if isinstance(node, syntax.Case):
        arms = " ".join(f"{' | '.join(map(word, arm.patterns))} -> {block(arm.body)}{arm.end}" for arm in node.arms)
        return f"[case {word(node.subject)}: {arms}{redirects(node.redirects)}]"
    if isinstance(node, syntax.Group):
        return f"[group {block(node.body)}{redirects(node.redirects)}]"
    if isinstance(node, syntax.Subshell):
        return f"[sub {block(node.body)}{redirects(node.redirects)}]"
    if isinstance(node, syntax.Function):
        return f"[function {node.name} {statement(node.body)}]"
    return f"[broken {node.text}]"
