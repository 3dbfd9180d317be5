/** Binary heap: `peek` and `pop` return the item that comes before all others. */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    this.#items.push(item);
    this.#rise(this.#items.length - 1);
  }

  pop(): T | undefined {
    const top = this.#items[0];
    const last = this.#items.pop();
    if (this.#items.length > 0 && last !== undefined) {
      this.#items[0] = last;
      this.#sink(0);
    }
    return top;
  }

  /** Drops unwanted items, for heaps whose items go stale in place. */
  retain(wanted: (item: T) => boolean): void {
    const kept = this.#items.filter(wanted);
    this.#items.length = 0;
    for (const item of kept) this.push(item);
  }

  #rise(start: number): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfBefore(index, parent)) return;
      index = parent;
    }
  }

  #sink(start: number): void {
    let index = start;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      let first = index;
      if (this.#isBefore(left, first)) first = left;
      if (this.#isBefore(right, first)) first = right;
      if (first === index || !this.#swapIfBefore(first, index)) return;
      index = first;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const first = this.#items[a];
    const second = this.#items[b];
    return first !== undefined && second !== undefined && this.#before(first, second);
  }

  #swapIfBefore(lower: number, upper: number): boolean {
    if (!this.#isBefore(lower, upper)) return false;
    const moved = this.#items[lower] as T;
    this.#items[lower] = this.#items[upper] as T;
    this.#items[upper] = moved;
    return true;
  }
}
