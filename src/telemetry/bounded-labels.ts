/** Label values from outside, such as the names of errors: so many different ones, the rest as `other`. */
export class BoundedValues {
  readonly #known = new Set<string>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  of(value: string): string {
    if (this.#known.has(value)) return value;
    if (this.#known.size >= this.#most || value.length > MAX_LENGTH) return 'other';
    this.#known.add(value);
    return value;
  }
}

const MAX_LENGTH = 80;
