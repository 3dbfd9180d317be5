/** The platform's timers fire at once if set to more than this. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A deadline and its links in the list. */
export class Deadline {
  deadlineMs = 0;
  before: Deadline | undefined;
  after: Deadline | undefined;
  isListed = false;

  /** Called when the deadline has passed, after the entry left the list. */
  readonly expire: () => void;

  constructor(expire: () => void) {
    this.expire = expire;
  }
}

/**
 * Keeps deadlines that are rarely reached, such as those of requests in flight, on one platform timer. A timer each
 * would cost more than a tenth of a request. Most are equally far ahead, so a new one goes at or near the end.
 */
export class Deadlines {
  readonly #nowMs: () => number;
  #first: Deadline | undefined;
  #last: Deadline | undefined;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Infinity;

  /** @param nowMs a clock that runs like the platform's timers */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  add(entry: Deadline, inMs: number): void {
    if (entry.isListed) throw new RangeError('has a deadline already');
    // It would never expire, and would block the deadlines behind it.
    if (Number.isNaN(inMs)) throw new RangeError('a deadline is a number of milliseconds');
    entry.deadlineMs = this.#nowMs() + inMs;
    entry.isListed = true;
    let before = this.#last;
    while (before !== undefined && before.deadlineMs > entry.deadlineMs) before = before.before;
    const after = before === undefined ? this.#first : before.after;
    entry.before = before;
    entry.after = after;
    if (before === undefined) this.#first = entry;
    else before.after = entry;
    if (after === undefined) this.#last = entry;
    else after.before = entry;
    if (this.#first === entry) this.#arm(inMs, entry.deadlineMs);
  }

  /** Does nothing if the entry is not listed. */
  remove(entry: Deadline): void {
    if (!entry.isListed) return;
    const { before, after } = entry;
    entry.isListed = false;
    entry.before = undefined;
    entry.after = undefined;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    // The timer stays for the next deadline, but must not keep the process alive until then.
    if (this.#first === undefined) this.#timer?.unref();
  }

  /** Sets the timer to `atMs`, unless it fires earlier anyway. */
  #arm(inMs: number, atMs: number): void {
    if (this.#timer !== undefined && this.#timerAtMs <= atMs) {
      this.#timer.ref();
      return;
    }
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = setTimeout(() => this.#ring(), Math.min(Math.max(1, Math.ceil(inMs)), MAX_TIMER_MS));
  }

  #ring(): void {
    this.#timer = undefined;
    const nowMs = this.#nowMs();
    try {
      for (let entry = this.#first; entry !== undefined && entry.deadlineMs <= nowMs; entry = this.#first) {
        this.remove(entry);
        entry.expire();
      }
    } finally {
      // An error in one `expire` must not block the other deadlines.
      if (this.#first !== undefined) this.#arm(this.#first.deadlineMs - nowMs, this.#first.deadlineMs);
    }
  }
}
