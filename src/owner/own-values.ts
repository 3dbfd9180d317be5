import type { Clock } from '../core/ports/clock.ts';
import type { JournalEntry, JournalImage } from './journal-lines.ts';

/** Texts by name that a process finds again after a restart: receipts, cursors, notices on their way. */
export interface KeptValues {
  get(name: string): string | undefined;
  /** null: removes it. Resolves when that is on the disk, or is no longer waited for. */
  set(name: string, text: string | null, lifeMs?: number): Promise<void>;
  /** Names that begin so. */
  names(beginning: string): readonly string[];
}

interface Value {
  readonly text: string;
  readonly expiresAtMs: number | null;
}

export class OwnValues implements KeptValues {
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #values = new Map<string, Value>();
  /** Called with each name that has changed. */
  onChanged: (name: string) => Promise<void> = async () => undefined;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  restore(found: JournalImage['values']): void {
    for (const [name, value] of found) this.#values.set(name, value);
  }

  get(name: string): string | undefined {
    const value = this.#values.get(name);
    return value === undefined || this.#isOver(value) ? undefined : value.text;
  }

  async set(name: string, text: string | null, lifeMs?: number): Promise<void> {
    const expiresAtMs = lifeMs === undefined ? null : this.#clock.nowMs() + lifeMs;
    if (text === null) this.#values.delete(name);
    else this.#values.set(name, { text, expiresAtMs });
    await this.onChanged(name);
  }

  names(beginning: string): readonly string[] {
    return [...this.#values].flatMap(([name, value]) =>
      name.startsWith(beginning) && !this.#isOver(value) ? [name] : [],
    );
  }

  entryOf(name: string): JournalEntry {
    const { text = null, expiresAtMs = null } = this.#values.get(name) ?? {};
    return { kind: 'value', name, text, expiresAtMs };
  }

  /** All that has not expired; what has is forgotten. */
  entries(): readonly JournalEntry[] {
    for (const [name, value] of this.#values) if (this.#isOver(value)) this.#values.delete(name);
    return [...this.#values.keys()].map((name) => this.entryOf(name));
  }

  #isOver({ expiresAtMs }: Value): boolean {
    return expiresAtMs !== null && expiresAtMs < this.#clock.nowMs();
  }
}
