"""Cuts GitHub's OpenAPI description down to the calls that the review makes.

    npm pack @octokit/openapi && tar xzf octokit-openapi-*.tgz
    python tests/review/openapi/cut.py package/generated/api.github.com.json

The description (MIT licence) is OpenAPI 3.0; what is written is JSON Schema, with ``nullable`` as a type and texts for people left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

CALLS = {
    "/user": ["get"],
    "/repos/{owner}/{repo}/pulls": ["get"],
    "/repos/{owner}/{repo}/pulls/{pull_number}": ["get"],
    "/repos/{owner}/{repo}/pulls/{pull_number}/comments": ["get", "post"],
    "/repos/{owner}/{repo}/pulls/comments/{comment_id}": ["patch", "delete"],
    "/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions": ["get"],
    "/repos/{owner}/{repo}/pulls/{pull_number}/reviews": ["get", "post"],
    "/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/dismissals": ["put"],
    "/repos/{owner}/{repo}/issues/{issue_number}/comments": ["get", "post"],
    "/repos/{owner}/{repo}/issues/comments/{comment_id}": ["patch", "delete"],
    "/repos/{owner}/{repo}/commits/{commit_sha}/pulls": ["get"],
    "/repos/{owner}/{repo}/collaborators/{username}/permission": ["get"],
}
FOR_PEOPLE = {"description", "summary", "example", "examples", "externalDocs", "title", "operationId", "tags", "x-github", "deprecated"}


def main(source: str) -> None:
    whole = json.loads(Path(source).read_text("utf-8"))
    needed: dict[str, Any] = {}
    calls: dict[str, Any] = {}
    for path, verbs in CALLS.items():
        for verb in verbs:
            operation = whole["paths"][path][verb]
            shared = whole["paths"][path].get("parameters", [])
            parameters = [resolved(whole, item) for item in [*shared, *operation.get("parameters", [])]]
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            answers = {}
            for status, answer in operation["responses"].items():
                content = resolved(whole, answer).get("content", {}).get("application/json", {}).get("schema")
                answers[status] = None if content is None else schema(whole, content, needed)
            calls[f"{verb.upper()} {path}"] = {
                "query": {item["name"]: schema(whole, item["schema"], needed) for item in parameters if item["in"] == "query"},
                "body": None if body is None else schema(whole, body, needed),
                "answers": answers,
            }
    result = {"version": whole["info"]["version"], "calls": calls, "schemas": needed}
    Path(__file__).with_name("github.json").write_text(json.dumps(result, separators=(",", ":"), sort_keys=True) + "\n", "utf-8")


def resolved(whole: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in item:
        part: Any = whole
        for name in item["$ref"].removeprefix("#/").split("/"):
            part = part[name]
        item = part
    return item


def schema(whole: dict[str, Any], item: Any, needed: dict[str, Any], named: bool = False) -> Any:
    """A schema as JSON Schema; what it refers to is added to ``needed``. ``named``: the keys of ``item`` are names, not keywords."""
    if isinstance(item, list):
        return [schema(whole, one, needed) for one in item]
    if not isinstance(item, dict):
        return item
    if "$ref" in item and not named:
        name = item["$ref"].rpartition("/")[2]
        if name not in needed:
            needed[name] = {}
            needed[name] = schema(whole, resolved(whole, item), needed)
        return {"$ref": f"#/schemas/{name}"}
    if named:
        return {key: schema(whole, value, needed) for key, value in item.items()}
    result = {
        key: schema(whole, value, needed, named=key == "properties")
        for key, value in item.items()
        if key not in FOR_PEOPLE and key not in ("nullable", "default", "format")
    }
    if item.get("nullable"):
        if isinstance(result.get("type"), str):
            result["type"] = [result["type"], "null"]
            if "enum" in result and None not in result["enum"]:
                result["enum"] = [*result["enum"], None]
        else:
            result = {"anyOf": [{"type": "null"}, result]}
    return result


if __name__ == "__main__":
    main(sys.argv[1])
