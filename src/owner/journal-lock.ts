import { z } from 'zod';
import type { Clock, Timers } from '../core/ports/clock.ts';
import type { Disk } from '../core/ports/disk.ts';
import { readJson } from '../state/read-json.ts';

/** Two processes on one journal would both act. */
export class JournalHeldError extends Error {
  readonly code = 'journal-held';
  override name = 'JournalHeldError';
}

export interface LockParts {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly timers: Pick<Timers, 'after'>;
  /** Unique among all processes that ever hold it. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Whether a process of this machine runs. */
  readonly isRunning: (pid: number) => boolean;
  /** Called once when another process has taken the lock. */
  readonly onLost: (holder: string) => void;
}

const LOCK_FILE = 'lock.json';
const MOST_BYTES = 10_000;
const BEAT_MS = 1_000;
/** A holder that has not beaten for so long does not run. */
const WATCH_MS = 2_500;
/** Two that take it at once see each other. */
const SETTLE_MS = 100;

const lockSchema = z.object({
  id: z.string().min(1).max(100),
  host: z.string().max(255),
  pid: z.int().min(0),
  beat: z.int().min(0),
});
type Lock = z.output<typeof lockSchema>;

/**
 * Keeps two processes from using one folder. A holder renews it each second; one that stood still asks again before it
 * counts as the holder. Where the disk fails the holder stays: nobody else can take the lock there.
 */
export class JournalLock {
  readonly #parts: LockParts;
  #beat = 0;
  #confirmedMs: number;
  #isAsking = false;
  #isLost = false;
  #isReleased = false;
  #callOff: (() => void) | undefined;

  private constructor(parts: LockParts) {
    this.#parts = parts;
    this.#confirmedMs = parts.clock.monotonicMs();
  }

  /** Rejects with a JournalHeldError while another process has it. A disk that fails is no holder. */
  static async take(parts: LockParts): Promise<JournalLock> {
    const { clock, disk, id } = parts;
    const before = await readLock(disk);
    if (before !== undefined && !isOver(parts, before)) {
      await clock.sleep(WATCH_MS);
      const after = await readLock(disk);
      if (after !== undefined && !isSame(after, before)) throw held(after);
    }
    const lock = new JournalLock(parts);
    await lock.#write().catch(() => undefined);
    await clock.sleep(SETTLE_MS);
    const now = await readLock(disk);
    if (now !== undefined && now.id !== id) throw held(now);
    lock.#later();
    return lock;
  }

  /** False once another process has taken it, and while this one does not know. */
  get isHeld(): boolean {
    const ageMs = this.#parts.clock.monotonicMs() - this.#confirmedMs;
    return !this.#isLost && (this.#isAsking || ageMs < WATCH_MS);
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    this.#callOff?.();
    if (!this.#isLost) await this.#parts.disk.remove(LOCK_FILE).catch(() => undefined);
  }

  #later(): void {
    if (this.#isReleased || this.#isLost) return;
    this.#callOff = this.#parts.timers.after(BEAT_MS, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { disk, id, onLost, clock } = this.#parts;
    const isLate = !this.isHeld;
    this.#isAsking = !isLate;
    try {
      const now = await readLock(disk);
      if (this.#isReleased) return;
      if (now !== undefined && now.id !== id) {
        this.#isLost = true;
        onLost(wordsOf(now));
        return;
      }
      await this.#write();
    } catch {
      // The disk fails; what is kept there is said elsewhere.
    } finally {
      this.#isAsking = false;
    }
    this.#confirmedMs = clock.monotonicMs();
    this.#later();
  }

  async #write(): Promise<void> {
    const { disk, id, host, pid } = this.#parts;
    this.#beat += 1;
    const lock: Lock = { id, host, pid, beat: this.#beat };
    await disk.write(LOCK_FILE, JSON.stringify(lock));
  }
}

/** Who holds it at the moment, in words; undefined: nobody, as far as can be seen. */
export async function holderOf({ disk, host, isRunning }: Pick<LockParts, 'disk' | 'host' | 'isRunning'>) {
  const lock = await readLock(disk);
  return lock === undefined || (lock.host === host && !isRunning(lock.pid)) ? undefined : wordsOf(lock);
}

async function readLock(disk: Disk): Promise<Lock | undefined> {
  const text = await disk.read(LOCK_FILE, MOST_BYTES).catch(() => undefined);
  return text === undefined ? undefined : readJson(lockSchema, text);
}

/** A holder on this machine that has ended. The own number is one that was used before, as in a container. */
function isOver({ host, pid, isRunning }: LockParts, lock: Lock): boolean {
  return lock.host === host && (lock.pid === pid || !isRunning(lock.pid));
}

function isSame(one: Lock, other: Lock): boolean {
  return one.id === other.id && one.beat === other.beat;
}

function wordsOf({ host, pid }: Lock): string {
  return `process ${pid} on ${host}`;
}

function held(lock: Lock): JournalHeldError {
  return new JournalHeldError(
    `another daemon keeps its state there (${wordsOf(lock)}): end it, or give this one a \`stateDir\` of its own; several share a Redis`,
  );
}
