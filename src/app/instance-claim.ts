import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import type { Clock, Timers } from '../core/ports/clock.ts';
import { foreignWords } from '../core/redaction/foreign-words.ts';

/** Two processes with one `--instance` would act at the same time while Redis is lost, and share nonces. */
export class InstanceTakenError extends Error {
  readonly code = 'instance-taken';
  constructor(ordinal: number, holder: string) {
    super(
      `--instance ${ordinal} is taken by a process that runs (${shown(holder)}): give each process a number of its own, 0 to 8`,
    );
    this.name = 'InstanceTakenError';
  }
}

export interface ClaimParts {
  readonly redis: Redis;
  readonly prefix: string;
  readonly ordinal: number;
  /** Names this process; no other has the name. */
  readonly instance: string;
  readonly clock: Clock;
  readonly timers: Pick<Timers, 'after'>;
  /** Told with every renewal whether other processes are there. */
  readonly onCompany: (hasCompany: boolean) => void;
  /** Told once when the number has become another's. */
  readonly onTaken: (holder: string) => void;
}

/** Others may have written it: one short line. */
const shown = foreignWords([], { maxLength: 200, opaqueLength: 100 });

const ORDINALS = 10;
/** So long the number of a process that died stays taken, unless it is seen to be dead. */
export const CLAIM_TTL_MS = 5_000;
const RENEW_MS = 1_000;
const ASK_AGAIN_MS = 250;

/**
 * Takes what is free or one's own, and answers who holds it then, and how many numbers are held. What would stay longer
 * than any of our claims is none: it must not keep a daemon from starting.
 */
const CLAIM = `
local key = KEYS[tonumber(ARGV[1])]
local left = redis.call('PTTL', key)
local holder = left >= 0 and left <= tonumber(ARGV[4]) and redis.call('GET', key)
if not holder or holder == ARGV[2] or holder == ARGV[3] then
  holder = ARGV[2]
  redis.call('SET', key, holder, 'PX', ARGV[4])
end
return { holder, redis.call('EXISTS', unpack(KEYS)) }`;

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end return 1`;

/** Holds the `--instance` of this process in Redis, as long as it lives. */
export class InstanceClaim {
  readonly #parts: ClaimParts;
  readonly #name: string;
  #callOff: (() => void) | undefined;
  #isTaken = false;
  #isReleased = false;

  constructor(parts: ClaimParts) {
    this.#parts = parts;
    this.#name = `${parts.instance} ${whereabouts(process.pid)}`;
  }

  /** Waits for a number to become free whose process may just have died. @throws InstanceTakenError */
  async take(): Promise<void> {
    const { clock, ordinal } = this.#parts;
    const startedMs = clock.monotonicMs();
    let holder = await this.#claim('');
    while (holder !== this.#name) {
      if (hasDied(holder)) holder = await this.#claim(holder);
      else {
        if (clock.monotonicMs() - startedMs > CLAIM_TTL_MS + RENEW_MS)
          throw new InstanceTakenError(ordinal, holder);
        await clock.sleep(ASK_AGAIN_MS);
        holder = await this.#claim('');
      }
    }
  }

  /** Renews it from now on. What fails is repeated: without Redis there is nothing to hold. */
  start(): void {
    this.#callOff = this.#parts.timers.after(RENEW_MS, () => void this.#renew());
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    this.#callOff?.();
    const { redis, ordinal } = this.#parts;
    if (redis.status !== 'ready') return;
    await redis.eval(RELEASE, 1, this.#keyOf(ordinal), this.#name).catch(() => undefined);
  }

  async #renew(): Promise<void> {
    try {
      const holder = await this.#claim('');
      if (holder !== this.#name && !this.#isTaken) this.#parts.onTaken(shown(holder));
      this.#isTaken = holder !== this.#name;
    } catch {
      // The probe of the store says that it is lost.
    }
    if (!this.#isReleased) this.start();
  }

  /** `dead`: a holder that may be replaced. */
  async #claim(dead: string): Promise<string> {
    const { redis, ordinal, onCompany } = this.#parts;
    const keys = Array.from({ length: ORDINALS }, (_, number) => this.#keyOf(number));
    const reply = await redis.eval(CLAIM, ORDINALS, ...keys, ordinal + 1, this.#name, dead, CLAIM_TTL_MS);
    const [holder, held] = reply as [string, number];
    onCompany(held > 1);
    return holder;
  }

  /** One hash tag: a script looks at all of them. */
  #keyOf(ordinal: number): string {
    return `${this.#parts.prefix}:{instances}:${ordinal}`;
  }
}

/** A host, a space of process ids and an id in it: nothing else has all three. */
function whereabouts(pid: number): string {
  return `${hostname()} ${processSpace()} ${pid}`;
}

function processSpace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '?';
  }
}

/** Whether the process certainly runs no more: only one on this machine can be looked for. */
function hasDied(holder: string): boolean {
  const pid = Number(holder.split(' ').at(-1));
  const isHere =
    processSpace() !== '?' && Number.isSafeInteger(pid) && holder.endsWith(` ${whereabouts(pid)}`);
  if (!isHere) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
