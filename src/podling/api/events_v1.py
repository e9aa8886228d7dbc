"""Kubernetes v1.36 types of events/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import empty_list
from podling.api.core_v1 import EventSource, ObjectReference
from podling.api.markers import INT32, MICRO_TIME
from podling.api.meta_v1 import ListMeta, ObjectMeta


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('eventTime',)
    micro_times: ClassVar[bool] = True
    group_version_kind: ClassVar[tuple[str, str, str]] = ('events.k8s.io', 'v1', 'Event')
    action: str = ''
    api_version: str = field(default_factory=lambda: 'events.k8s.io/v1')
    deprecated_count: Annotated[int, INT32] = 0
    deprecated_first_timestamp: datetime | None = field(default_factory=NoneType)
    deprecated_last_timestamp: datetime | None = field(default_factory=NoneType)
    deprecated_source: EventSource = field(default_factory=lambda: EventSource())
    event_time: Annotated[datetime, MICRO_TIME] | None = field(default_factory=NoneType)
    kind: str = field(default_factory=lambda: 'Event')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    note: str = ''
    reason: str = ''
    regarding: ObjectReference = field(default_factory=lambda: ObjectReference())
    related: ObjectReference | None = None
    reporting_controller: str = ''
    reporting_instance: str = ''
    series: EventSeries | None = None
    type: str = ''


class EventList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    micro_times: ClassVar[bool] = True
    group_version_kind: ClassVar[tuple[str, str, str]] = ('events.k8s.io', 'v1', 'EventList')
    api_version: str = field(default_factory=lambda: 'events.k8s.io/v1')
    items: tuple[Event, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'EventList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class EventSeries(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('count', 'lastObservedTime')
    micro_times: ClassVar[bool] = True
    count: Annotated[int, INT32] = field(default_factory=int)
    last_observed_time: Annotated[datetime, MICRO_TIME] | None = field(default_factory=NoneType)
