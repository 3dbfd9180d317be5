import { type QuietHoursLine, quietHoursLine } from '../core/lines/quiet-hours.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { HeldNotices } from '../core/ports/delivery.ts';
import { compileActiveWindow, endOfWindow, type WindowJudge } from '../core/rules/active-window.ts';
import type { ActiveWindow } from '../core/rules/rule.ts';
import { minuteWords } from '../core/text/time-words.ts';

/** Whether quiet hours are on, until when, and how many notices wait: for the page, `status` and chats. */
export class QuietSource {
  readonly #held: Pick<HeldNotices, 'count'>;
  readonly #clock: Pick<Clock, 'nowMs'>;
  #isInside: WindowJudge | undefined;
  #found: { readonly atMs: number; readonly untilMs: number } | undefined;

  constructor(
    held: Pick<HeldNotices, 'count'>,
    clock: Pick<Clock, 'nowMs'>,
    window: ActiveWindow | undefined,
  ) {
    this.#held = held;
    this.#clock = clock;
    this.adopt(window);
  }

  /** `window`: of the config in force; undefined: there are no quiet hours. */
  adopt(window: ActiveWindow | undefined): void {
    this.#isInside = window && compileActiveWindow(window);
    this.#found = undefined;
  }

  /** null: they are off, and no notice waits. */
  async now(): Promise<QuietHoursLine | null> {
    const untilMs = this.#untilMs() ?? null;
    const held = await this.#held.count().catch(() => null);
    return quietHoursLine({ untilMs, held }, minuteWords);
  }

  #untilMs(): number | undefined {
    const nowMs = this.#clock.nowMs();
    if (this.#found !== undefined && nowMs >= this.#found.atMs && nowMs < this.#found.untilMs)
      return this.#found.untilMs;
    const untilMs = this.#isInside && endOfWindow(this.#isInside, nowMs);
    this.#found = untilMs === undefined ? undefined : { atMs: nowMs, untilMs };
    return untilMs;
  }
}
