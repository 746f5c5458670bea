"""An emulated web on loopback: the test bed for whole crawls.

    spec --build_web--> web (pure) --LocalWeb--> sockets --> access log --analysis--> what the crawler did

`WebSpec` describes the web; `build_web` draws servers, pages, links, sizes, times and worth from its seed.
`LocalWeb` serves it in the running event loop, `running_web` in a separate process; both write an `AccessLog`, and
the functions of `analysis` read it; those of `judging` judge a crawl by many workers. Standard library only; Linux
(all of 127.0.0.0/8 is local there).
"""

from .analysis import (
    Gap,
    PolitenessRule,
    Violation,
    duplicates,
    fetches,
    first_fetches,
    gaps,
    into_traps,
    max_open_connections,
    parallel_connections,
    politeness_violations,
    quality_over_time,
    value_at,
)
from .judging import (
    Fault,
    Opened,
    Overlap,
    Repeat,
    client_of,
    missing,
    overlaps,
    repeats,
    rule_of,
    unexplained_overlaps,
    unexplained_repeats,
)
from .log import AccessLog, LogTail, Record, read_log
from .process import RunningWeb, running_web
from .server import LocalWeb
from .spec import WebSpec
from .web import Web, build_web
