import type { Clock } from '../core/ports/clock.ts';

const QUIET_MS = 10_000;
const MOST_KEYS = 5000;

/** Says the same thing at most once in ten seconds, and then how often it was not said. */
export class Repeats {
  readonly #clock: Clock;
  readonly #known = new Map<string, { untilMs: number; kept: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  write(key: string, say: (repeated: number | undefined) => void): void {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#known.get(key);
    if (known !== undefined && nowMs < known.untilMs) {
      known.kept++;
      return;
    }
    this.#known.delete(key);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= MOST_KEYS && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(key, { untilMs: nowMs + QUIET_MS, kept: 0 });
    say(known === undefined || known.kept === 0 ? undefined : known.kept);
  }
}
