"""The frontier's only I/O: state that must outlive the process."""

from crawlproject.storage.changes import Changes
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.errors import StoreError
from crawlproject.storage.fetched import DiskFetchedPages, FetchedPage
from crawlproject.storage.frontier_state import DiskFrontierStore, ServerRecord
from crawlproject.storage.seen import DiskSeenStore
from crawlproject.storage.urls import DiskUrlRows

__all__ = [
    "Changes",
    "DiskFetchedPages",
    "DiskFrontierStore",
    "DiskSeenStore",
    "DiskStore",
    "DiskUrlRows",
    "FetchedPage",
    "ServerRecord",
    "StoreError",
    "StoreLabel",
]
