/** Closers, run in reverse order; a failed one does not stop the others. */
export class Closers {
  readonly #closers: (() => Promise<unknown>)[] = [];

  readonly add = (close: () => Promise<unknown>): void => void this.#closers.push(close);

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close().catch(() => undefined);
  }
}
