"""The interface of an extension.

A process calls only the methods of the parts that run in it: the API server those for kinds, admission and
roles, the control plane ``controllers``. So a method imports what it returns, and a package's module with its
extension imports nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from podling.api.apiextensions_v1 import CustomResourceDefinition
    from podling.apiserver.admission.base import Plugin
    from podling.apiserver.customresources.conversion import Converter
    from podling.controllers.base import ControllerFactory
    from podling.extensions.explanations import Annotator, Explainer
    from podling.kubelet.node_controllers import NodeControllerFactory


class Extension:
    """The defaults: an extension that adds nothing.

    Args:
        features: the feature gates that the user chose, by name.
    """

    name: ClassVar[str] = ""
    """The name that ``podling up --with`` takes."""

    feature_gates: ClassVar[Mapping[str, bool]] = {}
    """The feature gates of the extension and their defaults."""

    def __init__(self, features: Mapping[str, bool] | None = None) -> None:
        self.features: Mapping[str, bool] = {**self.feature_gates, **(features or {})}

    def definitions(self) -> Sequence[CustomResourceDefinition]:
        """Return the definitions of the kinds. They are created or brought up to date at every start."""
        return ()

    def converters(self) -> Mapping[str, Converter]:
        """Return the functions that convert objects between versions, by the names of definitions."""
        return {}

    def objects(self) -> Sequence[Any]:
        """Return the roles, bindings and other objects that every cluster with the extension has.

        Missing ones are created at every start. Roles and bindings get their missing rules back, unless their
        annotation ``rbac.authorization.kubernetes.io/autoupdate`` is ``false``.
        """
        return ()

    def admission_plugins(self) -> Sequence[Plugin]:
        """Return the admission plugins, in order. They run after the built-in plugins and before webhooks."""
        return ()

    def controllers(self) -> Mapping[str, ControllerFactory]:
        """Return the controllers by name: classes, or functions that make one from a ``ControllerContext``.

        The control plane runs them beside its own; ``podling up --controllers`` takes their names, too.
        """
        return {}

    def node_controllers(self) -> Mapping[str, NodeControllerFactory]:
        """Return the controllers that run beside the kubelet of every node, by name.

        They are classes, or functions that make one from a ``NodeContext``. They have the rights of a node:
        ``objects`` gives the group ``system:nodes`` what they need beyond these.
        """
        return {}

    def explainers(self) -> Mapping[str, Explainer]:
        """Return the functions that answer ``podling why``, by the names of definitions."""
        return {}

    def notes(self) -> Mapping[str, Annotator]:
        """Return functions that add to the answers of ``podling why``, by the names of kinds.

        The kinds may be built-in ones: ``services``, ``deployments.apps``. A kind that is explained in no
        other way has the note as its answer.
        """
        return {}
