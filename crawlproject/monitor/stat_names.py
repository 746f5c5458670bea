"""What each stat means: ``scripts/reference.py`` makes docs/stats.md of it, and a test compares it with the code.

A line is ``name, name: meaning``. ``…/name`` has the beginning of the name before it.
"""

from crawlproject.urls.fates import STATS, Reason, Stage

#: Where URLs end, in words.
_STAGES = {
    Stage.ANSWER: "an answer came",
    Stage.REQUEST: "a request without a complete answer, or one that was not sent",
    Stage.QUEUE: "URLs dropped from the queue",
    Stage.LINK: "links that are not queued, each time that they are found",
}


def _fates() -> str:
    """One line for each stage, and for each reason in it."""
    lines = []
    for stage, words in _STAGES.items():
        lines.append(f"fates/{stage}/…: {words}")
        lines += [f"{STATS[stage, reason]}: {reason.words}" for reason in Reason if stage in reason.stages]
    return "\n".join(lines)


SECTIONS = f"""\
## What became of URLs

{_fates()}

## Requests and sessions

frontier/pages: 2xx and 304 answers to requests of the frontier
frontier/failures/timeout, …/refused, …/dns, …/broken_response: tries without a complete answer; the server rests
frontier/failures/proxy: tries for which one of several proxies could not be reached
frontier/failures/truncated_body, …/too_large, …/other: answers that could not be used
scheduler/enqueued, scheduler/enqueued/memory, scheduler/enqueued/disk, scheduler/enqueued/sent: requests and links
    queued, by place
scheduler/dequeued, scheduler/dequeued/memory, scheduler/dequeued/disk: requests handed out
scheduler/unserializable: requests that cannot be stored and wait in memory
frontier/unserializable/refetched: pages that the next run fetches again because of such requests
frontier/unserializable/lost: such requests that are lost, because they come from no page or belong to other workers
dupefilter/filtered: requests filtered as duplicates
frontier/sessions: sessions opened, each with its own connection
frontier/sessions/max_open: highest number of sessions open at once
frontier/sessions/put_off: sessions closed because their server had never answered and others waited
lane/requests, lane/pages: requests and responses that took the fast lane
frontier/quality/invalid: unusable values or exceptions of the project's quality; they count as 0
frontier/items_failed: items for which a pipeline raised an error
frontier/given_back: requests put back, to be sent once more
frontier/outages, frontier/outage_time: outages of this machine's network, and their duration in seconds
frontier/out_of_files: connections for which no file descriptor was left
frontier/crawl_delays: robots.txt files with a Crawl-delay
frontier/awaited_unsent: side requests not sent because their server was given up or rests for long
frontier/blocked: side requests not sent because the operator blocked their server

## Queue and store

frontier/urls, frontier/urls/blocked: URLs queued at the end; of these, on blocked servers
frontier/servers: servers found
frontier/resumed: URLs left by an earlier run
crawl_log/lines, crawl_log/lost: lines in `FRONTIER_CRAWL_LOG`; lines that the disk did not take
seen/urls: URLs seen, earlier runs included
seen/cache_hits, seen/store_lookups: look-ups answered by the cache, by the store
frontier/commits, frontier/commit_time: commits to disk; seconds of the longest one
frontier/commit_errors: failed commits; the crawl ends, committed data is safe
recrawl/queued: pages queued again because of their age
recrawl/unchanged, recrawl/changed: of these, answered with 304; with a page
recrawl/redirected, recrawl/gone: answered with a redirect; with 404 or 410, and forgotten
recrawl/failed: not fetched; the next recrawl tries again
frontier/servers/left: servers that had never answered when nothing else was left

## Links

frontier/links/found: links handed over as `Links`
frontier/links/new, frontier/links/seen, frontier/links/sent: of these, queued; seen before; sent to other workers
frontier/links/aliased: of these, changed from an alias to the name that is crawled (`duplicates/aliases`)
frontier/links/pages_recorded, frontier/links/record_failed: pages written to `FRONTIER_LINKS_FILE`; errors that ended
    the writing
frontier/links/probed/extension: links with an extension fetched as a test
frontier/sitemaps/found: sitemaps queued
frontier/sitemaps/fetched, frontier/sitemaps/malformed, frontier/sitemaps/truncated: sitemaps fetched; unreadable;
    read in part
frontier/sitemaps/urls: URLs of their server listed in them
web/pages: pages that the spider `web` parsed
web/skipped/content_type: of these, not HTML
web/nofollow_pages, web/truncated_pages: pages that say `nofollow`; pages too long to read completely
web/bad_seeds: seed lines that are not URLs
site/not_followed: links that the rules of the spider `site` do not follow

## Traps and duplicates

guard/demoted: links that wait until all others are fetched
guard/patterns, guard/dropped: patterns of URLs dropped as endless; waiting URLs dropped
guard/in_vain: servers whose waiting pages showed nothing new
guard/probes: requests of the guard
guard/probes/finite, guard/probes/endless, guard/probes/open: patterns of URLs by what the server answered
guard/closed_patterns: patterns of URLs whose pages are closed to robots, or not read
guard/idle_parts: parts of addresses found to change nothing
duplicates/pages: HTML pages compared with earlier ones
duplicates/exact, duplicates/near: of these, exact copies; near-duplicates
duplicates/short: pages with too little text for near-duplicates
duplicates/not_followed: copies whose links are not followed
duplicates/damaged: contents that could not be read from `contents.sqlite`, or written to it
duplicates/aliases: servers found to be other names of one that is crawled

## robots.txt

robotstxt/request_count, robotstxt/response_count, robotstxt/forbidden: Scrapy's: files requested, answered; requests
    disallowed
robotstxt/truncated: files of which only the beginning is read
robotstxt/too_many_wildcards: files with too many rules with `*`
robotstxt/unreachable: times that a robots.txt was unavailable; its server rests
robotstxt/given_up: servers given up for this reason
robotstxt/unsent: side requests that failed for this reason

## Addresses and DNS

guard/refused/loopback, …/private, …/link_local, …/shared, …/multicast, …/reserved, …/unspecified, …/metadata:
    requests not sent because of their address
dns/lookups: look-ups
dns/failures/nxdomain, …/no_address, …/servfail, …/timeout, …/malformed: failed look-ups, by cause
dns/waited, dns/cached: connections that waited for a look-up; that found a result
dns/wait_time: seconds that connections waited
dns/prefetched: names looked up before a connection needed them

## Answers

redirect/malformed: redirects to something that is no URL
downloader/unsolicited_data: times that a server sent data without a request
downloader/bodies_paused, downloader/bodies_given_up: bodies or requests that waited for `FRONTIER_MAX_ACTIVE_SIZE`;
    bodies given up while all others waited
charset/unknown: answers that declare an unknown encoding
charset/garbage: pages cut because they are too long, or invalid in their encoding
cookies/skipped: cookies ignored or forgotten because of a limit
httpcompression/broken, …/too_large, …/truncated: bodies that cannot be decompressed, grow too much, or end too early
httpcompression/response_count, …/response_bytes: Scrapy's: bodies decompressed; their bytes afterwards

## Rendered pages

render/pages: pages whose DOM replaced what was fetched
render/auto/empty_root, …/noscript, …/little_text: pages that `FRONTIER_RENDER = "auto"` renders, by reason
render/redirects: pages whose scripts led to another page
render/time: seconds of all pages in the browser
render/unquiet: pages read at `FRONTIER_RENDER_TIMEOUT`
render/failed/timeout, …/browser: pages processed as fetched, by cause; there are other causes
render/retries, render/browser_restarts: pages tried again; restarts of the browser
render/memory_exceeded: pages ended because of `FRONTIER_RENDER_MAX_MEMORY`
render/dialogs, …/popups, …/downloads, …/navigations: what pages attempted, and the browser refused
render/failed_steps, render/bad_meta: steps that failed; requests with an unusable `meta["render"]`
render/requests: requests of rendered pages
render/requests/cached, …/refused, …/over_limit: answered from memory; refused by the crawl; beyond a limit

## Workers

frontier/received, frontier/received/bad: links and requests received from other workers; unreadable ones
frontier/received/new, frontier/received/seen: of these, queued; seen before
workers/pages: pages of all workers
workers/partitions, workers/lag: partitions that this worker owns; seconds since Redis confirmed its changes
workers/taken, workers/released, workers/lost: partitions taken; given back; lost to another worker
workers/sent, workers/sent/refused: URLs sent to other workers; too long for it
workers/received, workers/received/bad: URLs received; unreadable ones
workers/orders/bad: actions of a console that this worker could not apply
workers/redis_away: times that Redis did not answer
workers/cuts, workers/calls: sets of changes that Redis confirmed; round trips
workers/snapshots: snapshots of partitions written
workers/total/…: of the last worker that ends: sums of the stats of all workers
workers/total/frontier/urls, workers/total/frontier/servers: what Redis holds then
workers/start_urls, workers/start_urls/bad: start URLs queued; unusable ones

## Monitoring

monitor/sessions, monitor/session_limit: open sessions; the limit on them
monitor/session_limit/lowest, monitor/throttled: the lowest limit; how often it was lowered
monitor/connections, monitor/dns_lookups: open connections; look-ups in progress
monitor/bytes_per_second, monitor/pages_per_second: over about the last ten seconds
monitor/lag, monitor/lag/max, monitor/lag/longest: lag of the event loop in seconds: last mean, highest mean, longest
    delay
monitor/memory, monitor/memory/max: memory of the process, bytes
monitor/cpu: CPU seconds per second
monitor/quality_gathered, monitor/quality_share: estimated quality of the pages fetched; as a share of what is known
monitor/urls, monitor/servers/ready, …/resting, …/waiting, …/leased, …/idle, …/held: URLs queued; servers by state
monitor/urls/blocked: URLs queued on blocked servers
monitor/servers/given_up: servers given up
console/actions: actions of the operator

## Repository

repository/records/response, …/revisit, …/request, …/metadata, …/warcinfo, …/conversion: records written to WARC files
repository/bytes, repository/files: compressed bytes written; files finished
repository/repaired, repository/recovered: files left open by a crash, now finished; their pages added to the index
repository/unreadable: unreadable records in these files
repository/urls_changed: URLs changed to fit into a record
repository/failures: pages that could not be written; the crawl ends, and they stay in the frontier
repository/index_failures: failed reads and writes of the index

## Several spiders

NAME is the name of a spider of `-a spiders` ([spiders](spiders.md#several-spiders)).

spiders/NAME/pages, …/items, …/errors: pages given to it; its items; errors of its callbacks
spiders/NAME/empty: pages without an item
spiders/NAME/dropped: its URLs dropped because it had ended
spiders/NAME/seconds: seconds of connections to its servers
spiders/NAME/finish_reason: why it ended before the crawl

## Records

records/pages, records/found: pages that rules were applied to; records found
records/selector_errors, records/bad_values, records/missing_required: failed or slow selectors; values of another
    type; missing required fields
records/incomplete: records left out because a required field is missing
records/pages_cut: pages read only in part
records/page_objects, records/page_objects/errors, records/page_objects/too_large: items of page objects; errors;
    pages too large for them
records/without_key: records without a value in their key
records/db/written, records/db/failed, records/db/away: rows written; rows refused and kept in a file; times that the
    database was away
records/db/unreadable: damaged lines in the file of waiting records
records/pending, records/lost: records that wait at the end; records lost

## Topic and keyword

topic/pages, topic/relevant: pages judged; relevant ones
topic/harvest_rate: share of relevant pages
topic/learned: links that the model has learned from
topic/bad_examples: example pages that could not be fetched
topic/state_damaged, topic/state_failed: `topic.json` could not be used; could not be written
keyword/pages, keyword/levels: pages searched; levels begun
keyword/lines_found: lines with the keyword
keyword/links_lost: links of a next level that did not fit on disk
keyword/saved, keyword/not_saved: pages written to `output`; not written because the disk is full
"""
