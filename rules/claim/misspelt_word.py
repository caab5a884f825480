"""A word in a comment is misspelt

What
A comment has a word of a short list of typing errors that are no words of any language (`framwork`, `paralell`).

Why
A search for the right word does not find the comment.

Example
    # framwork of the row

Instead
    # framework of the row

Fix
Safe: writes the right word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Span
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule

RULE = Rule("misspelt-word", Level.NOTE, frozenset({"documents"}), scope="document")

_RIGHT = dict(
    pair.split(":")
    for pair in """
    accross:across acheive:achieve adress:address agregate:aggregate agregated:aggregated allready:already alot:a_lot ammount:amount
    apropriate:appropriate arguement:argument attribtue:attribute avaliable:available availble:available avialable:available
    begining:beginning behaviuor:behaviour benchamrk:benchmark benchmrak:benchmark bencmark:benchmark calulate:calculate
    cofig:config comand:command compatability:compatibility compatable:compatible concurency:concurrency concurrecy:concurrency
    conccurency:concurrency configuation:configuration configuraiton:configuration containter:container contaienr:container
    decdoe:decode defualt:default dependancy:dependency depricated:deprecated deprected:deprecated determinstic:deterministic
    diabled:disabled disbale:disable dissagregated:disaggregated disagregated:disaggregated enviroment:environment
    enviornment:environment envrionment:environment exeed:exceed exisiting:existing existant:existent explicitely:explicitly
    expirement:experiment flase:false follwing:following framwork:framework frameowrk:framework fucntion:function
    gaurantee:guarantee hardawre:hardware immediatly:immediately implmentation:implementation implementaion:implementation
    incompatable:incompatible inferance:inference infernece:inference initalize:initialize insted:instead intial:initial
    invokation:invocation latancy:latency latecy:latency lauch:launch laucher:launcher lenght:length lengh:length maching:matching
    matirx:matrix maxium:maximum memeory:memory memroy:memory neccessary:necessary necesary:necessary occured:occurred
    occurence:occurrence ouput:output outptu:output overriden:overridden paralell:parallel paralel:parallel paralellism:parallelism
    parallellism:parallelism parameteres:parameters perfomance:performance performace:performance peformance:performance
    precison:precision preceeding:preceding prefered:preferred prefil:prefill preifll:prefill prefll:prefill previosuly:previously
    quantizaiton:quantization quantiziation:quantization recieve:receive recieved:received recomended:recommended
    reccomended:recommended refered:referred relase:release repositry:repository reqiured:required requried:required
    requeriments:requirements reuqest:request runing:running scheudle:schedule seperate:separate seperated:separated
    seperately:separately sepcific:specific sevrer:server shoud:should similiar:similar speculaitve:speculative
    specualtive:speculative speficied:specified sucess:success sucessful:successful succesful:successful successfull:successful
    supress:suppress suport:support suported:supported tempalte:template teh:the threshhold:threshold througput:throughput
    throughtput:throughput thoughput:throughput tokenzier:tokenizer truely:truly untill:until utilizaiton:utilization
    utlization:utilization vairable:variable varible:variable verison:version wieght:weight wieghts:weights worklaod:workload
    """.split()  # noqa: SIM905
)
_WORD = re.compile(r"(?<![\w/.$@{=-])[A-Za-z]{3,20}(?![\w/.=(-]*[\w/=(])")


def check(context: Context) -> Iterator[Finding]:
    for kind in ("yaml", "shell"):
        for path in context.documents.paths(kind):
            document = context.documents.yaml(path) if kind == "yaml" else context.documents.shell(path)
            for comment in document.comments:
                for match in _WORD.finditer(comment.text):
                    right = _RIGHT.get(match.group().lower())
                    if right is not None:
                        yield from _finding(context, path, comment.span, match.group(), right.replace("_", " "))


def _finding(context: Context, path: str, span: Span, word: str, right: str) -> Iterator[Finding]:
    for line in range(span.line, span.end_line + 1):
        written = context.lines(path)[line - 1]
        start = span.column - 1 if line == span.line else 0
        for match in re.finditer(rf"\b{word}\b", written[start:]):
            column = start + match.start() + 1
            cased = right.upper() if word.isupper() else right.capitalize() if word[0].isupper() else right
            place = Span(line, column, line, column + len(word))
            yield context.finding(
                RULE,
                f"`{word}` is misspelt",
                place,
                path=path,
                help=f"write `{cased}`",
                fix=Fix(f"write {cased}", (Replacement(path, *place, cased),), True),
                subject=f"{word} {written.strip()[:60]}",
            )
