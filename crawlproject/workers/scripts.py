"""The Lua scripts: each changes Redis in one atomic step; in a cluster, on keys of one slot.

Times are milliseconds of Redis's clock; no worker's clock is compared with it.  A worker that lost a partition, or that
was buried, changes nothing: owner and epoch of the partition, or the worker's id, no longer match.
"""

from __future__ import annotations

from hashlib import sha1

_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""

#: KEYS: meta.  ARGV: field, value, ...  Create the crawl if there is none, continue it if it has ended; returns its
#: fields.
JOIN = """
if redis.call('HEXISTS', KEYS[1], 'crawl') == 0 then redis.call('HSET', KEYS[1], unpack(ARGV)) end
redis.call('HSET', KEYS[1], 'state', 'running')
return redis.call('HGETALL', KEYS[1])
"""

#: KEYS: meta, workers, dead, info, members, spent.  ARGV: id, lease, info, member, version, changed, pages, bytes.
#: Extend the lease of the worker, and read what it needs of the others.  Returns the status ("gone": no such crawl;
#: "dead": buried; "ok"), time, crawl, state, pages and bytes of all workers, ends of the leases that are over, version
#: of the members; the members, unless that is the given one; the mark of the operator's last action; the last
#: ``changed`` of any worker; the end of this worker's lease before, 0 if there was none.  A version is never used
#: again, also if Redis loses writes.  A lease longer than the given one, and a ``changed`` later than now, were set
#: before the clock was set back: they are replaced.
BEAT = (
    _NOW
    + """
local meta = redis.call('HMGET', KEYS[1], 'crawl', 'state', 'members', 'actions', 'changed')
if not meta[1] then return {'gone'} end
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then return {'dead'} end
local before = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0')
redis.call('HSET', KEYS[2], ARGV[1], now + ARGV[2])
redis.call('HSET', KEYS[4], ARGV[1], ARGV[3])
if redis.call('HGET', KEYS[5], ARGV[1]) ~= ARGV[4] then
    meta[3] = now .. ' ' .. redis.call('HINCRBY', KEYS[1], 'changes', 1)
    redis.call('HSET', KEYS[5], ARGV[1], ARGV[4])
    redis.call('HSET', KEYS[1], 'members', meta[3])
end
local changed = tonumber(meta[5] or '0')
if tonumber(ARGV[6]) > changed or changed > now then
    changed = tonumber(ARGV[6])
    redis.call('HSET', KEYS[1], 'changed', ARGV[6])
end
local spent = {}
for i, name in ipairs({'pages', 'bytes'}) do
    local field = ARGV[1] .. ' ' .. name
    local more = ARGV[6 + i] - (redis.call('HGET', KEYS[6], field) or 0)
    if more ~= 0 then redis.call('HSET', KEYS[6], field, ARGV[6 + i]) end
    spent[i] = redis.call('HINCRBY', KEYS[1], name, more)
end
local over = {}
local leases = redis.call('HGETALL', KEYS[2])
for i = 2, #leases, 2 do
    if tonumber(leases[i]) > now + ARGV[2] then redis.call('HSET', KEYS[2], leases[i - 1], now + ARGV[2]) end
    if tonumber(leases[i]) < now then
        table.insert(over, leases[i - 1])
        table.insert(over, leases[i])
    end
end
local members = meta[3] ~= ARGV[5] and redis.call('HGETALL', KEYS[5]) or {}
return {'ok', now, meta[1], meta[2], spent, over, meta[3], members, meta[4] or '', changed, before}
"""
)

#: KEYS: meta, workers, dead, info, members.  ARGV: id, grace ("" when it leaves by itself).  Remove a worker; its id
#: never comes back.  What it spent is kept: a late beat must not count it again.  Returns 1, or 0 if its lease may
#: still run.
REMOVE = (
    _NOW
    + """
local lease = redis.call('HGET', KEYS[2], ARGV[1])
if ARGV[2] ~= '' then
    if not lease or lease + ARGV[2] > now then return 0 end
    redis.call('HSET', KEYS[3], ARGV[1], lease)
end
for i = 2, 5 do
    if i ~= 3 then redis.call('HDEL', KEYS[i], ARGV[1]) end
end
redis.call('HSET', KEYS[1], 'members', now .. ' ' .. redis.call('HINCRBY', KEYS[1], 'changes', 1))
return 1
"""
)

#: KEYS: workers, stats.  ARGV: stat, number, ...  Add the stats of a worker that has left to those of others before it.
#: Returns the sums if it was the last one.
SUM = """
for i = 1, #ARGV, 2 do redis.call('HINCRBYFLOAT', KEYS[2], ARGV[i], ARGV[i + 1]) end
if #redis.call('HGETALL', KEYS[1]) > 0 then return {} end
return redis.call('HGETALL', KEYS[2])
"""

#: KEYS: meta.  ARGV: crawl, state, optionally the mark of the operator's last action.  Set the state of the crawl;
#: returns 0 if it is another crawl, or if the operator has acted since.
STATE = """
local m = redis.call('HMGET', KEYS[1], 'crawl', 'actions')
if m[1] ~= ARGV[1] or (ARGV[3] and (m[2] or '') ~= ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], 'state', ARGV[2])
return 1
"""

_OWNED = """
local m = redis.call('HMGET', KEYS[1], 'owner', 'epoch', 'seq')
if m[1] ~= ARGV[1] or m[2] ~= ARGV[2] then return {'lost'} end
"""

#: Former owners of a partition in Redis.  Each of them had a lease of its own before the next one could take it, so one
#: that is forgotten has been dead for this many leases.
MAX_FORMERS = 64

#: KEYS: m.  ARGV: id, expected owner, expected epoch.  Returns the fields of the partition, or nil.  ``former``: those
#: that owned it and did not release it, since the last owner that had loaded it all; the last ``MAX_FORMERS``.
TAKE = f"""
local m = redis.call('HMGET', KEYS[1], 'owner', 'epoch', 'former')
if (m[1] or '') ~= ARGV[2] or (m[2] or '0') ~= ARGV[3] then return nil end
if ARGV[2] ~= '' then
    local names = {{}}
    for name in string.gmatch(m[3] or '', '%S+') do
        if name ~= ARGV[2] then names[#names + 1] = name end
    end
    names[#names + 1] = ARGV[2]
    redis.call('HSET', KEYS[1], 'former', table.concat(names, ' ', math.max(1, #names - {MAX_FORMERS - 1})))
end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'epoch', ARGV[3] + 1)
return redis.call('HGETALL', KEYS[1])
"""

#: KEYS: m.  ARGV: id, epoch.  Returns {"ok"} or {"lost"}.  What former owners left stays, unless this one has dealt
#: with it (``COMMIT``).
RELEASE = (
    _OWNED
    + """
redis.call('HSET', KEYS[1], 'owner', '')
if (redis.call('HGET', KEYS[1], 'former') or '') == '' then redis.call('HSET', KEYS[1], 'open', '') end
return {'ok'}
"""
)

#: KEYS: m, journal, inbox of each partition.  ARGV: id; of each partition: epoch, seq, blob, stored, servers, open,
#: extra, 1 if nothing that former owners left must be kept, number of applied messages, their ids.  Returns for each
#: "ok"; "old": done already; "lost": another's partition; "gap": earlier commits are missing.
COMMIT = """
local found, at = {}, 2
for i = 1, #KEYS, 3 do
    local m = redis.call('HMGET', KEYS[i], 'owner', 'epoch', 'seq')
    local last, seq, applied = tonumber(m[3] or '0'), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 8])
    local result = 'ok'
    if m[1] ~= ARGV[1] or m[2] ~= ARGV[at] then
        result = 'lost'
    elseif seq <= last then
        result = 'old'
    elseif seq > last + 1 then
        result = 'gap'
    else
        redis.call('RPUSH', KEYS[i + 1], ARGV[at + 2])
        redis.call('HSET', KEYS[i], 'seq', seq, 'stored', ARGV[at + 3], 'servers', ARGV[at + 4],
                   'open', ARGV[at + 5], 'extra', ARGV[at + 6])
        if ARGV[at + 7] == '1' then redis.call('HDEL', KEYS[i], 'former') end
        if applied > 0 then redis.call('XDEL', KEYS[i + 2], unpack(ARGV, at + 9, at + 8 + applied)) end
    end
    found[#found + 1] = result
    at = at + 9 + applied
end
return found
"""

#: KEYS: inboxes.  ARGV: a message for each.
APPEND = """
for i = 1, #KEYS do redis.call('XADD', KEYS[i], '*', 'b', ARGV[i]) end
return #KEYS
"""

#: KEYS: m, rows and seen keys of a snapshot that was never finished.  ARGV: id, epoch, gen, the present gen, that of
#: the unfinished one.  Announce a new snapshot before its first part is written.  Returns {"late"} if another call was
#: carried out since the caller looked: one that was on its way for so long that nobody waits for it any longer.
BEGIN = (
    _OWNED
    + """
local s = redis.call('HMGET', KEYS[1], 'gen', 'next')
if (s[1] or '') ~= ARGV[4] or (s[2] or '') ~= ARGV[5] then return {'late'} end
redis.call('DEL', KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], 'next', ARGV[3])
return {'ok'}
"""
)

#: KEYS: m, rows, seen keys.  ARGV: id, epoch, gen, number of blobs of rows, the blobs of rows and of seen keys.  Append
#: to a snapshot if it is the one announced last.
ADD = (
    _OWNED
    + """
if redis.call('HGET', KEYS[1], 'next') ~= ARGV[3] then return {'late'} end
local rows = tonumber(ARGV[4])
if rows > 0 then redis.call('RPUSH', KEYS[2], unpack(ARGV, 5, 4 + rows)) end
if #ARGV > 4 + rows then redis.call('RPUSH', KEYS[3], unpack(ARGV, 5 + rows)) end
return {'ok'}
"""
)

#: KEYS: m, journal, old snapshot, old seen keys.  ARGV: id, epoch, gen, base.  Use the new snapshot, which holds all
#: commits up to ``base``, also those that Redis has lost or not seen yet; if it is the one announced last.
SWITCH = (
    _OWNED
    + """
if redis.call('HGET', KEYS[1], 'next') ~= ARGV[3] then return {'late'} end
local first = tonumber(redis.call('HGET', KEYS[1], 'first') or '1')
redis.call('LTRIM', KEYS[2], tonumber(ARGV[4]) - first + 1, -1)
redis.call('HSET', KEYS[1], 'gen', ARGV[3], 'base', ARGV[4], 'first', ARGV[4] + 1, 'next', '')
if tonumber(ARGV[4]) > tonumber(m[3] or '0') then redis.call('HSET', KEYS[1], 'seq', ARGV[4]) end
redis.call('DEL', KEYS[3], KEYS[4])
return {'ok'}
"""
)

#: KEYS: meta, orders, actions.  ARGV: crawl, id, action, length of the list, then order, value ("": none), ...
#: Change the operator's orders and add the action to the list; returns its number, 0 if it is another crawl.
#: Number and id are the mark of the last action in meta: a number may come twice if Redis loses writes, an id does not,
#: so orders after the same mark are the same.
ORDER = (
    _NOW
    + """
local meta = redis.call('HMGET', KEYS[1], 'crawl', 'actions')
if meta[1] ~= ARGV[1] then return 0 end
if not meta[2] then redis.call('DEL', KEYS[2], KEYS[3]) end
local number = string.match(meta[2] or '0', '^%d+') + 1
for i = 5, #ARGV, 2 do
    if ARGV[i + 1] == '' then
        redis.call('HDEL', KEYS[2], ARGV[i])
    else
        redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
    end
end
redis.call('RPUSH', KEYS[3], number .. ' ' .. ARGV[2] .. ' ' .. now .. ' ' .. ARGV[3])
redis.call('LTRIM', KEYS[3], '-' .. ARGV[4], -1)
redis.call('HSET', KEYS[1], 'actions', number .. ' ' .. ARGV[2])
return number
"""
)

ALL = (JOIN, BEAT, REMOVE, SUM, STATE, TAKE, RELEASE, COMMIT, APPEND, BEGIN, ADD, SWITCH, ORDER)


def digest(script: str) -> str:
    """The name under which Redis keeps ``script``."""
    return sha1(script.encode(), usedforsecurity=False).hexdigest()
