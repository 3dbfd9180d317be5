import { LUA_NOW, type RedisScript } from '../redis-scripts.ts';
import { CLOCK_MEMBER, CLOCK_STEP_MS, STAMP_LENGTH } from './account-backend.ts';
import { WRITER_LENGTH } from './header.ts';

/**
 * KEYS: epoch, controls, due, then one hash per account. ARGV: writer, stamp, claim ('' = all, due or not), the
 * farthest plausible due time, then the account ids in the order of the keys.
 */
export const VIEW: RedisScript = {
  name: 'bwStateView',
  lua: `
local claim, count = tonumber(ARGV[3]), #KEYS - 3
local controls = redis.call('GET', KEYS[2]) or ''
local out = { redis.call('GET', KEYS[1]) or '', controls, -1, -1 }
if controls ~= '' and string.sub(controls, 1, ${STAMP_LENGTH}) == ARGV[2] then out[2] = 0 end
local function give(index)
  local key = KEYS[3 + index]
  local found = redis.call('HMGET', key, 'h', 't')
  local header, tally = found[1] or '', found[2] or ''
  out[#out + 1] = index
  out[#out + 1] = header
  out[#out + 1] = tally
  local isOwn = string.sub(header, 3, ${WRITER_LENGTH + 2}) == ARGV[1]
  if header == '' or isOwn and string.sub(tally, 1, ${WRITER_LENGTH}) == ARGV[1] then out[#out + 1] = 0
  else out[#out + 1] = redis.call('HGETALL', key) end
end
if not claim then
  for index = 1, count do give(index) end
  return out
end
${LUA_NOW}
local farthest, nextDue, claimed = now + tonumber(ARGV[4]), nil, { 'ZADD', KEYS[3], now, '${CLOCK_MEMBER}' }
local scores = redis.call('ZMSCORE', KEYS[3], '${CLOCK_MEMBER}', unpack(ARGV, 5, 4 + count))
local steppedBack = tonumber(scores[1] or 0) > now + ${CLOCK_STEP_MS}
for index = 1, count do
  local due = tonumber(scores[index + 1] or 0)
  if due <= now or due > farthest or steppedBack then
    give(index)
    due = now + claim
    claimed[#claimed + 1] = due
    claimed[#claimed + 1] = ARGV[4 + index]
  end
  if nextDue == nil or due < nextDue then nextDue = due end
end
if #claimed > 4 or steppedBack then redis.call(unpack(claimed)) end
if nextDue then out[3] = nextDue - now end
out[4] = now
return out`,
};

/**
 * KEYS: epoch, controls, due, then per change its hash and, as needed, its leases, audit, files, history. ARGV:
 * epoch, stamp and text of new controls ('' = none), samples of history to keep, writer, then the changes.
 *
 * A change begins with account id, expected header, due time ('' = unchanged), new header ('' = leave the account's
 * part alone), and how many values of further fields to set follow; most changes end after these values. Any other
 * change has 'more' in place of that number, then that number, the required stamp ('-' = any), lease field ('' =
 * none), lease token, how many values of each kind follow (fields to remove, records, files, files to remove), the
 * first record to keep (0 = all), how many values of history and how many lanes follow, and the number of the last
 * record for an account without a tally. The values follow in this order.
 *
 * A lane is market, expected header, new header, 1 if it may be left out, 's' and its text, or 'r' (removed) or ''
 * (unchanged) and '', how many records follow, and these. A record is text and hash.
 *
 * Returns per change its code, or its code, tally before and after, and the places of lanes left out.
 */
export const COMMIT: RedisScript = {
  name: 'bwStateCommit',
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return { 0 } end
local controls = redis.call('GET', KEYS[2]) or ''
local stamp = string.sub(controls, 1, ${STAMP_LENGTH})
local setsControls = ARGV[3] ~= ''
local out, key, at, last, all, now = { 1, '' }, 4, 6, #ARGV, true, nil
local function clock()
  if now == nil then
    ${LUA_NOW.replace('local now =', 'now =')}
  end
  return now
end
local function readLanes(account, count)
  local lanes, isChanged, leftOut = {}, false, {}
  for index = 1, count do
    local lane = { at = at, records = tonumber(ARGV[at + 6]) }
    at = at + 7 + 2 * lane.records
    local found = redis.call('HGET', account, 'v:' .. ARGV[lane.at]) or ''
    if found == ARGV[lane.at + 1] then lanes[#lanes + 1] = lane
    elseif ARGV[lane.at + 3] == '1' then leftOut[#leftOut + 1] = index
    else isChanged = true end
  end
  return lanes, isChanged, leftOut
end
while at <= last do
  local id, expected, due, header, sets = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4])
  local insist, leaseField, token, keepFrom, lastNumber = '-', '', '', '0', '0'
  local removes, records, files, fileRemoves, history, laneCount = 0, 0, 0, 0, 0, 0
  local isMore = not sets
  if isMore then
    sets, insist, leaseField, token = tonumber(ARGV[at + 5]), ARGV[at + 6], ARGV[at + 7], ARGV[at + 8]
    removes, records, files = tonumber(ARGV[at + 9]), tonumber(ARGV[at + 10]), tonumber(ARGV[at + 11])
    fileRemoves, keepFrom, history = tonumber(ARGV[at + 12]), ARGV[at + 13], tonumber(ARGV[at + 14])
    laneCount, lastNumber = tonumber(ARGV[at + 15]), ARGV[at + 16]
    at = at + 17
  else at = at + 5 end
  local account, leases, audit, filed, series = KEYS[key], nil, nil, nil, nil
  key = key + 1
  if leaseField ~= '' then leases = KEYS[key] key = key + 1 end
  if records > 0 or keepFrom ~= '0' or laneCount > 0 then audit = KEYS[key] key = key + 1 end
  if files > 0 or fileRemoves > 0 then filed = KEYS[key] key = key + 1 end
  if history > 0 then series = KEYS[key] key = key + 1 end
  local setFrom = at
  local removeFrom = setFrom + sets
  local recordFrom = removeFrom + removes
  local fileFrom = recordFrom + 2 * records
  local fileRemoveFrom = fileFrom + files
  local historyFrom = fileRemoveFrom + fileRemoves
  local laneFrom = historyFrom + history
  at = laneFrom
  local lanes, isChanged, leftOut = readLanes(account, laneCount)
  local code, before, after = 1, '', ''
  if isChanged or header ~= '' and (redis.call('HGET', account, 'h') or '') ~= expected then code = 2
  elseif setsControls and ARGV[2] ~= stamp or insist ~= '-' and insist ~= stamp then
    code = 4
    out[2] = controls
  elseif leases then
    local held = redis.call('HGET', leases, leaseField)
    if not held or string.sub(held, 1, #token + 1) ~= token .. '|' then code = 3 end
  end
  if code == 1 and isMore then
    before = redis.call('HGET', account, 't') or ''
    local count, number = string.match(before, '|(%d+)|(%d+)$')
    count, number = tonumber(count or 0), tonumber(number or lastNumber)
    local function append(from, amount)
      for index = from, from + 2 * amount - 2, 2 do
        number = number + 1
        local entry = string.format('%.0f-0', number)
        local added = redis.pcall('XADD', audit, entry, 't', ARGV[index], 'h', ARGV[index + 1])
        if type(added) == 'table' and added.err then
          -- A server that takes no writes says nothing of the trail: as an error it goes to the caller.
          if not string.find(added.err, '^ERR ') and not string.find(added.err, '^WRONGTYPE') then error(added.err) end
          code = 5
          return
        end
      end
    end
    append(recordFrom, records)
    for _, lane in ipairs(lanes) do
      if code == 1 then append(lane.at + 7, lane.records) end
    end
    after = string.format('%s|%.0f|%.0f', ARGV[5], count + 1, number)
  end
  if code == 1 then
    if header ~= '' then redis.call('HSET', account, 'h', header, unpack(ARGV, setFrom, removeFrom - 1)) end
    if isMore then redis.call('HSET', account, 't', after) end
    for _, lane in ipairs(lanes) do
      local market, laneHeader, does = ARGV[lane.at], ARGV[lane.at + 2], ARGV[lane.at + 4]
      if laneHeader ~= ARGV[lane.at + 1] then redis.call('HSET', account, 'v:' .. market, laneHeader) end
      if does == 's' then redis.call('HSET', account, 'l:' .. market, ARGV[lane.at + 5])
      elseif does == 'r' then redis.call('HDEL', account, 'l:' .. market) end
    end
    if removes > 0 then redis.call('HDEL', account, unpack(ARGV, removeFrom, recordFrom - 1)) end
    if keepFrom ~= '0' then redis.call('XTRIM', audit, 'MINID', keepFrom .. '-0') end
    for index = fileFrom, fileRemoveFrom - 2, 2 do redis.call('HSETNX', filed, ARGV[index], ARGV[index + 1]) end
    if fileRemoves > 0 then redis.call('HDEL', filed, unpack(ARGV, fileRemoveFrom, historyFrom - 1)) end
    if history > 0 then
      redis.call('XADD', series, 'MAXLEN', '~', ARGV[4], '*', unpack(ARGV, historyFrom, laneFrom - 1))
      redis.call('PEXPIRE', series, 2592000000)
    end
    if due ~= '' then redis.call('ZADD', KEYS[3], clock() + tonumber(due), id) end
  else all = false end
  if code == 1 and isMore then out[#out + 1] = { code, before, after, unpack(leftOut) }
  else out[#out + 1] = code end
end
if setsControls and all then redis.call('SET', KEYS[2], ARGV[3]) end
return out`,
};

/** Sets KEYS[1] to ARGV[2] if its first ARGV[3] characters are ARGV[1] ('' = absent). Returns the value afterwards. */
export const REPLACE: RedisScript = {
  name: 'bwStateReplace',
  numberOfKeys: 1,
  lua: `
local current = redis.call('GET', KEYS[1]) or ''
if string.sub(current, 1, tonumber(ARGV[3])) ~= ARGV[1] then return current end
redis.call('SET', KEYS[1], ARGV[2])
return ARGV[2]`,
};

export const MAKE_DUE: RedisScript = {
  name: 'bwStateMakeDue',
  numberOfKeys: 1,
  lua: `${LUA_NOW}
redis.call('ZADD', KEYS[1], 'LT', now + tonumber(ARGV[1]), ARGV[2])
return 1`,
};

/** ARGV: time from now, then the accounts. Accounts that are due now, or later than that time, stay as they are. */
export const HOLD_DUE: RedisScript = {
  name: 'bwStateHoldDue',
  numberOfKeys: 1,
  lua: `${LUA_NOW}
local till = now + tonumber(ARGV[1])
for index = 2, #ARGV do
  local due = redis.call('ZSCORE', KEYS[1], ARGV[index])
  if due and tonumber(due) > now and tonumber(due) < till then redis.call('ZADD', KEYS[1], till, ARGV[index]) end
end
return 1`,
};
