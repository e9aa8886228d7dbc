"""The kinds of extensions that ``podling why`` explains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from msgspec import Struct

from podling import clock
from podling.api.apiextensions_v1 import CustomResourceDefinitionNames
from podling.api.core_v1 import Pod
from podling.cli.common_options import NoAnswer
from podling.cli.evidence import Explanation, PartProblems
from podling.cli.explain_processes import with_control_plane
from podling.cli.queries import explained
from podling.cli.recorded_events import events_of
from podling.client.base import Client
from podling.client.typed_kinds import TypedClient
from podling.extensions.explanations import Explainer, Question
from podling.extensions.extension import Extension
from podling.machinery.errors import ApiError, is_not_found


class ExplainedKind(Struct, frozen=True):
    """A kind of an extension: its names for kubectl, and the function that explains its objects."""

    names: CustomResourceDefinitionNames
    group: str
    explainer: Explainer
    is_namespaced: bool = True

    @property
    def singular(self) -> str:
        return self.names.singular or self.names.kind.lower()

    def is_named(self, text: str) -> bool:
        """Return whether kubectl takes ``text`` for this kind: ``clone``, ``clonesets.apps.kruise.io``."""
        name, _, rest = text.lower().partition(".")
        known = {self.names.plural, self.singular, self.names.kind.lower(), *self.names.short_names}
        return name in known and (rest in ("", self.group) or rest.endswith(f".{self.group}"))


def explained_kinds(extensions: Iterable[Extension]) -> Iterator[ExplainedKind]:
    for extension in extensions:
        explainers = extension.explainers()
        for definition in extension.definitions() if explainers else ():
            explainer = explainers.get(definition.metadata.name or "")
            if explainer is not None:
                spec = definition.spec
                yield ExplainedKind(spec.names, spec.group, explainer, spec.scope == "Namespaced")


def kind_of(extensions: Sequence[Extension], text: str) -> ExplainedKind | None:
    """Return the kind of an extension that kubectl understands by ``text``; None if there is none."""
    return next((each for each in explained_kinds(extensions) if each.is_named(text)), None)


async def why_extended(
    client: Client, kind: ExplainedKind, name: str, namespace: str, parts: PartProblems
) -> Explanation:
    """Return the answer for an object of an extension's kind. Raises ``NoAnswer``, ``ApiError``."""

    async def of_pod(pod: Pod) -> Explanation:
        return await explained(client, pod, parts)

    events = partial(events_of, client)
    question = Question(TypedClient(client), name, namespace, clock.now(), of_pod, events)
    try:
        answer = await kind.explainer(question)
    except ApiError as error:
        if not is_not_found(error):
            raise
        where = f" in namespace {namespace}" if kind.is_namespaced else ""
        raise NoAnswer(f'There is no {kind.singular} "{name}"{where}.') from error
    return with_control_plane(answer, parts)
