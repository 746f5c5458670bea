"""Real crawls of the emulated web, each in a process of its own, judged by the servers' own log.

WebSpec, Conditions --crawl--> Run: the log, the curve of the quality collected, the CPU that it took
"""

from .cpu import CpuLog, CpuUse
from .crawl import Conditions, Run, area, crawl

__all__ = ["Conditions", "CpuLog", "CpuUse", "Run", "area", "crawl"]
