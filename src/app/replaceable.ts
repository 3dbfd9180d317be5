/** A value that may be replaced while it is used; the replaced one is closed. */
export class Replaceable<T extends { close(): Promise<void> }> {
  #current: T;
  readonly #closing = new Set<Promise<void>>();

  constructor(first: T) {
    this.#current = first;
  }

  get current(): T {
    return this.#current;
  }

  async replace(next: T): Promise<void> {
    const before = this.#current;
    this.#current = next;
    const closed = before.close().finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }

  async close(): Promise<void> {
    await Promise.all([this.#current.close(), ...this.#closing]);
  }
}
