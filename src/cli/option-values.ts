import { InvalidArgumentError } from 'commander';

/** Readers of option values, for several commands. */

export function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

/** For an option that may be given several times. */
export function collect(text: string, previous: readonly string[] = []): string[] {
  return [...previous, text];
}
