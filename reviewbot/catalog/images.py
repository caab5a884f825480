"""Which release of which engine a container image holds, by its tag.

Only tags whose meaning is settled are read: release tags (``v0.21.0-cu130``), nightly builds with a day, ROCm builds with a day, and
Dynamo's runtimes, whose package names the release of the engine that it is built for. A tag with a commit, or one that somebody made up,
says nothing.
"""

from __future__ import annotations

import re

from reviewbot.catalog.names import Window, names_of

_RELEASE = re.compile(r"v?(?P<version>\d+\.\d+\.\d+(?:\.?(?:post|rc)\d+)?)(?P<rest>(?:-[\w.]+)*)$")
_DAY = re.compile(r"(?<![0-9a-f])(?P<year>20[2-9]\d)-?(?P<month>0[1-9]|1[0-2])-?(?P<day>0[1-9]|[12]\d|3[01])(?:\d{4})?(?![0-9a-f])")
_ENGINES = {
    "vllm/vllm-openai": "vllm",
    "vllm/vllm-openai-rocm": "vllm",
    "rocm/vllm": "vllm",
    "lmsysorg/sglang": "sglang",
    "lmsysorg/sglang-rocm": "sglang",
    "lmsysorg/sglang-daily": "sglang",
    "rocm/sgl-dev": "sglang",
}
_RUNTIMES = {"vllm-runtime": "vllm", "sglang-runtime": "sglang"}
# What may follow a release in a tag without making it another build of the engine: platforms, CUDA, ROCm, GPU families, systems.
_PLATFORM = re.compile(
    r"-(?:cu\d[\w.]*|cuda[\d.]*|rocm\d*|mi\d\w*|amd64|arm64|aarch64|x86_64|ubuntu\d+|runtime|devel|slim|base|xeon|b\d+|h\d+|gb\d+)(?=-|$)"
)


def window_of_image(image: str, engine: str) -> Window | None:
    """The releases of ``engine`` that ``image`` can hold; ``None`` where its name does not tell, or they were not read."""
    return _read(image, engine)[0]


def tells_release(image: str, engine: str) -> bool:
    """Whether the name of ``image`` tells a release of ``engine``, be it one that was read or not."""
    return _read(image, engine)[1]


def _read(image: str, engine: str) -> tuple[Window | None, bool]:
    reference = image.strip().removeprefix("docker://").replace("#", "/").partition("@")[0]
    path, colon, tag = reference.rpartition(":")
    names = names_of(engine)
    if not colon or "/" in tag or names is None:
        return None, False
    parts = path.split("/")
    if len(parts) > 2 and ("." in parts[0] or ":" in parts[0]):
        parts = parts[1:]
    if len(parts) >= 2 and parts[-2] == "ai-dynamo" and _RUNTIMES.get(parts[-1]) == engine:
        return _of_runtime(tag, engine), True
    if _ENGINES.get("/".join(parts[-2:])) != engine:
        return None, False
    release = _RELEASE.match(tag)
    if release is not None:
        rest = _PLATFORM.sub("", release["rest"])
        if not rest:
            return names.at(release["version"]), True
        return (_of_day(rest, engine, release["version"]), True) if re.fullmatch(r"-\d{8}", rest) else (None, False)
    return (_of_day(tag, engine), _DAY.search(tag) is not None) if tag.startswith("nightly") else (None, False)


def _of_day(tag: str, engine: str, release: str | None = None) -> Window | None:
    """A build of a day: between the releases around it, and not before ``release``."""
    names = names_of(engine)
    day = _DAY.search(tag)
    if names is None or day is None:
        return None
    window = names.on_date(f"{day['year']}-{day['month']}-{day['day']}")
    named = names.at(release) if release is not None else None
    if window is None or named is None:
        return window
    return Window(engine, min(window.first, named.first), max(window.last, named.last), False)


def _of_runtime(tag: str, engine: str) -> Window | None:
    """A Dynamo runtime holds the release of the engine that the package of Dynamo asks for."""
    dynamo, names = names_of("dynamo"), names_of(engine)
    match = re.match(r"v?(\d+\.\d+\.\d+(?:\.?post\d+)?)(?:-(?:cuda\d*|cu\d+|arm64|amd64)(?=-|$))*$", tag)
    if dynamo is None or names is None or match is None:
        return None
    asked = dynamo.requires.get(match[1], {}).get(engine)
    window = names.at(asked) if asked is not None else None
    # The image may carry patches, so its neighbours count as well.
    return None if window is None else Window(engine, max(window.first - 1, 0), min(window.last + 1, len(names.versions) - 1), False)
