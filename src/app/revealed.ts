import { Secret } from '../config/secret.ts';

export type Revealed<T> = T extends unknown
  ? { readonly [K in keyof T]: Secret extends T[K] ? string : T[K] }
  : never;

/** The same object with its secrets in the clear: do not keep. */
export function revealed<T extends object>(hidden: T): Revealed<T> {
  const entries = Object.entries(hidden).map(([key, value]): readonly [string, unknown] => [
    key,
    value instanceof Secret ? value.reveal() : value,
  ]);
  return Object.fromEntries(entries) as Revealed<T>;
}
