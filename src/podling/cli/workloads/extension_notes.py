"""Notes that extensions add to the answers of ``podling why``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from podling import clock
from podling.api.core_v1 import Event, Pod
from podling.cli.common_options import NoAnswer
from podling.cli.evidence import Explanation
from podling.client.base import Client
from podling.client.typed_kinds import TypedClient
from podling.extensions.explanations import Annotator, Question
from podling.extensions.extension import Extension
from podling.machinery import scheme
from podling.machinery.errors import ApiError, is_not_found


def annotators_of(extensions: Iterable[Extension], name: str) -> list[Annotator]:
    """Return the functions that add to answers for objects of a kind, by its full name."""
    found = (each.notes().get(name) for each in extensions)
    return [each for each in found if each is not None]


def noted_resource(extensions: Sequence[Extension], text: str) -> scheme.Resource | None:
    """Return the built-in kind that kubectl understands by ``text``, if an extension has notes on it."""
    for resource in scheme.RESOURCES:
        names = (resource.plural, resource.singular, *resource.short_names)
        if text.lower().partition(".")[0] not in names:
            continue
        if annotators_of(extensions, resource.group_resource):
            return resource
    return None


async def with_notes(
    client: Client, annotators: Iterable[Annotator], name: str, namespace: str, answer: Explanation
) -> Explanation:
    """Return the answer with the notes. Raises ``ApiError``."""
    question = Question(TypedClient(client), name, namespace, clock.now(), _no_pods, _no_events)
    for annotate in annotators:
        note = await annotate(question)
        if note is not None:
            answer = structs.replace(
                answer,
                text=f"{answer.text} {note.text}",
                advice=" ".join(filter(None, (answer.advice, note.advice))),
                evidence=(*answer.evidence, *note.evidence),
            )
    return answer


async def why_noted(
    client: Client, extensions: Sequence[Extension], resource: scheme.Resource, name: str, namespace: str
) -> Explanation:
    """Return the answer for an object of a kind that only has notes. Raises ``NoAnswer``, ``ApiError``."""
    place = namespace if resource.namespaced else ""
    try:
        await client.get(resource.type, name, place or None)
    except ApiError as error:
        if not is_not_found(error):
            raise
        where = f" in namespace {namespace}" if resource.namespaced else ""
        raise NoAnswer(f'There is no {resource.singular} "{name}"{where}.') from error
    annotators = annotators_of(extensions, resource.group_resource)
    plain = Explanation(healthy=True, area="none", reason="Exists", text=f"{resource.kind} {name} exists.")
    return await with_notes(client, annotators, name, place, plain)


async def _no_pods(pod: Pod) -> Explanation:
    raise NotImplementedError("notes explain no pods")


async def _no_events(obj: object) -> Sequence[Event]:
    return ()
