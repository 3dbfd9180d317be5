import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import { sha256Hex } from '../core/audit/sha256.ts';
import type { Control } from '../core/controls/controls.ts';
import {
  companyFault,
  type DaemonSign,
  daemonSign,
  expectationOf,
  FOREIGN,
} from '../core/controls/daemon-sign.ts';
import type { OperatorControls } from '../core/ports/operator-controls.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import { within } from '../core/ports/within.ts';
import { readJson } from '../state/read-json.ts';
import type { ProcessLine } from '../web/sources.ts';
import type { ClaimParts } from './instance-claim.ts';

/** A daemon that has not renewed its sign for this long has ended, or cannot reach Redis. */
const LIFE_MS = 5_000;
/** Its sign stays for this long, unless it ended in order: it may be cut off, and act on. */
const KEPT_MS = 86_400_000;
const RENEW_MS = 1_000;

const SAY = `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', nowMs - ARGV[4])) do redis.call('HDEL', KEYS[1], name) end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', nowMs - ARGV[4])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], nowMs + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3] + ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[3] + ARGV[4])
return 1`;

const READ = `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local signs = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', nowMs + ARGV[1])) do
  signs[#signs + 1] = { name, redis.call('HGET', KEYS[1], name), redis.call('ZSCORE', KEYS[2], name) - nowMs }
end
return signs`;

const FORGET = `redis.call('HDEL', KEYS[1], ARGV[1]) redis.call('ZREM', KEYS[2], ARGV[1]) return 1`;

/** One hash tag: the scripts use both keys. */
function keysOf(prefix: string): readonly [string, string] {
  return [`${prefix}:{daemons}:signs`, `${prefix}:{daemons}:until`];
}

export interface SigningParts extends Pick<ClaimParts, 'redis' | 'prefix' | 'instance' | 'timers' | 'clock'> {
  readonly sign: () => DaemonSign;
  readonly telemetry: Telemetry;
  readonly state: {
    readonly controls: Pick<OperatorControls, 'list'>;
    readonly standby?: { readonly isAlone: boolean };
  };
}

export type ShownSign = Awaited<ReturnType<typeof showSign>>;

/** Publishes the sign now and every second. Failures are retried. */
export async function showSign(parts: SigningParts) {
  const { redis, prefix, instance, timers, clock, state } = parts;
  const keys = keysOf(prefix);
  const onSigns = watchCompany(parts);
  let known: readonly NamedSign[] = [];
  const sign = async (): Promise<DaemonSign> => {
    const obeys = await state.controls.list().then(obeyedMark, () => undefined);
    return { ...parts.sign(), host: hostname(), ...(obeys === undefined ? {} : { obeys }) };
  };
  /** Resolves to whether the store answers. */
  const learn = (): Promise<boolean> =>
    readAllSigns(redis, prefix).then(
      (signs) => {
        known = signs;
        onSigns(signs.filter(isLive));
        return true;
      },
      () => false,
    );
  const others = () => known.filter((one) => one.instance !== instance && isLive(one));
  let callOff: (() => void) | undefined;
  let hasEnded = false;
  let saying: Promise<void> = Promise.resolve();
  const say = async (): Promise<void> => {
    if (redis.status === 'ready' && !hasEnded) {
      const text = JSON.stringify(await sign());
      if (!hasEnded)
        await redis.eval(SAY, 2, ...keys, instance, text, LIFE_MS, KEPT_MS).catch(() => undefined);
      await learn();
    }
    if (!hasEnded) callOff = timers.after(RENEW_MS, () => void (saying = say()));
  };
  await say();
  return {
    /** Which processes obey what this one does. Resolves when all do, at the latest after `withinMs`. */
    async processes(withinMs: number): Promise<readonly ProcessLine[]> {
      const untilMs = clock.monotonicMs() + withinMs;
      for (;;) {
        const own = await within(timers, MOST_LOOK_MS, sign(), parts.sign);
        const isRead =
          state.standby?.isAlone !== true && (await within(timers, MOST_LOOK_MS, learn(), () => false));
        const lines = linesOf({ ...own, instance, leftMs: LIFE_MS }, known, isRead);
        const isOver = !isRead || clock.monotonicMs() >= untilMs;
        if (isOver || lines.every(({ confirmed }) => confirmed)) return lines;
        await clock.sleep(LOOK_MS);
      }
    },
    /** What the daemons that run will do with an operator order made here. */
    expected: (slippageSteps: readonly number[]) => expectationOf(parts.sign(), others(), slippageSteps),
    /** Number of processes that run and poll, as far as is known here. */
    polling: () => [parts.sign(), ...others()].filter(({ takesOrders }) => takesOrders).length,
    end: async (): Promise<void> => {
      hasEnded = true;
      callOff?.();
      // A sign that is written after it was withdrawn would stay.
      await within(timers, MOST_LOOK_MS, saying, () => undefined);
      if (redis.status === 'ready') await redis.eval(FORGET, 2, ...keys, instance).catch(() => undefined);
    },
  };
}

const LOOK_MS = 100;
const MOST_LOOK_MS = 500;

/** Order and expiry do not matter: two processes obey the same if they know the same ids. */
function obeyedMark(controls: readonly Control[]): string {
  return sha256Hex(JSON.stringify(controls.map(({ id }) => id).toSorted())).slice(0, 16);
}

/** `isRead`: the store answers. Else only what this process does by itself is certain. */
function linesOf(own: NamedSign, known: readonly NamedSign[], isRead: boolean): readonly ProcessLine[] {
  const others = known.filter((sign) => sign.instance !== own.instance);
  // One that does not renew its sign may go on acting without Redis, unless another was started in its place.
  const meant = others.filter((sign) => isLive(sign) || ![own, ...others].some((one) => follows(one, sign)));
  const obeys = (sign: NamedSign): boolean =>
    own.obeys !== undefined && (sign === own || (isRead && isLive(sign) && sign.obeys === own.obeys));
  return [own, ...meant].map((sign) => {
    const { instance, host = '?', takesOrders, acts = takesOrders } = sign;
    return { instance, host, acts, confirmed: obeys(sign) };
  });
}

function isLive({ leftMs }: NamedSign): boolean {
  return leftMs > 0;
}

/** Same host, same work, same number, which is `i2` of `i2-4f`. */
function follows(one: NamedSign, before: NamedSign): boolean {
  const [number, numberBefore] = [one, before].map(({ instance }) => instance.split('-')[0]);
  return (
    isLive(one) &&
    one.host === before.host &&
    one.takesOrders === before.takesOrders &&
    (one.acts ?? one.takesOrders) === (before.acts ?? before.takesOrders) &&
    number === numberBefore
  );
}

/** A roll-out takes this long; a process whose keys were all changed reads them within the other. */
const SETTLED_MS = { configs: 60_000, keys: 5_000 };

/** Returns a listener that says what stays wrong between this process and the others. */
function watchCompany({ sign, clock, telemetry }: SigningParts): (signs: readonly DaemonSign[]) => void {
  let [seen, said]: (string | undefined)[] = [];
  let sinceMs = 0;
  return (signs) => {
    const fault = companyFault(sign(), signs);
    const nowMs = clock.monotonicMs();
    if (fault !== seen) sinceMs = nowMs;
    seen = fault;
    const settledMs = fault === undefined ? 0 : SETTLED_MS[fault === FOREIGN ? 'keys' : 'configs'];
    if (fault === said || nowMs - sinceMs < settledMs) return;
    said = fault;
    telemetry.emit({ kind: 'company', ...(fault === undefined ? {} : { fault }) });
  };
}

interface NamedSign extends DaemonSign {
  readonly instance: string;
  /** It counts as running for this long. */
  readonly leftMs: number;
}

/** Signs of the daemons that are running. */
export async function readSigns(redis: Redis, prefix: string): Promise<readonly DaemonSign[]> {
  return (await readAllSigns(redis, prefix)).filter(isLive);
}

async function readAllSigns(redis: Redis, prefix: string): Promise<readonly NamedSign[]> {
  const found = await redis.eval(READ, 2, ...keysOf(prefix), LIFE_MS);
  return (found as readonly [string, string | null, number][]).flatMap(([instance, text, leftMs]) => {
    const sign = readJson(daemonSign, text ?? '');
    return sign === undefined ? [] : Object.assign(sign, { instance, leftMs });
  });
}
