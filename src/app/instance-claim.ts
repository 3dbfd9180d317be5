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
  /** Number of this process among several, 0 to 8. */
  readonly ordinal: number;
  /** Identifies this process among those that share the store. */
  readonly instance: string;
  readonly clock: Clock;
  readonly timers: Pick<Timers, 'after'>;
  /** Called with every renewal: whether other processes exist. */
  readonly onCompany: (hasCompany: boolean) => void;
  /** Called once when another process has taken the number. */
  readonly onTaken: (holder: string) => void;
}

/** One short line, as others may have written it. */
const shown = foreignWords([], { maxLength: 200, opaqueLength: 100 });

const ORDINALS = 10;
/** The number of a dead process stays taken this long, unless its death is detected. */
export const CLAIM_TTL_MS = 5_000;
const RENEW_MS = 1_000;
const ASK_AGAIN_MS = 250;

/**
 * Takes the number if it is free or this process's own. Returns its holder then, and how many numbers are held. A key
 * that would outlive any claim is not a claim: it must not keep a daemon from starting.
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

/** Holds this process's `--instance` number in Redis while the process lives. */
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

  /** Waits for the number in case its process has just died. @throws InstanceTakenError */
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

  /** Starts to renew it. Failures are retried: without Redis there is nothing to hold. */
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
      // The store's probe reports the loss.
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

  /** One hash tag: the script uses all keys. */
  #keyOf(ordinal: number): string {
    return `${this.#parts.prefix}:{instances}:${ordinal}`;
  }
}

/** Host, pid namespace and pid: together they are unique. */
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

/** Whether the process has certainly ended; only processes on this machine can be checked. */
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
