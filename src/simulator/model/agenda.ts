import { Heap } from './heap.ts';

interface Task {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** Scheduled tasks in order of virtual time; tasks for the same time run in the order of scheduling. */
export class Agenda {
  #scheduled = 0;
  readonly #tasks = new Heap<Task>((a, b) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order));

  schedule(atMs: number, run: () => void): void {
    this.#tasks.push({ atMs, order: this.#scheduled, run });
    this.#scheduled += 1;
  }

  takeDue(byMs: number): Task | undefined {
    const next = this.#tasks.peek();
    return next !== undefined && next.atMs <= byMs ? this.#tasks.pop() : undefined;
  }
}
