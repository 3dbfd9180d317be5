import type { EpochStart, StoreEpoch } from '../../core/ports/state-store.ts';

/** A store epoch as it is stored, with the identity of the server on which it began. */
export interface StoredEpoch {
  readonly epoch: StoreEpoch;
  readonly run: string;
  readonly text: string;
}

const STARTS: readonly string[] = ['empty', 'serverChanged', 'rolledBack'] satisfies EpochStart[];

const ID_LENGTH = 10;

export function newEpoch(
  why: EpochStart,
  sinceMs: number,
  randomText: (length: number) => string,
): StoreEpoch {
  return { id: randomText(ID_LENGTH), why, sinceMs };
}

export function writeEpoch(epoch: StoreEpoch, run: string): string {
  return `${epoch.id}|${epoch.why}|${epoch.sinceMs}|${run}`;
}

/** `undefined`: there is none, or nothing that this program has written. */
export function readEpoch(text: string | null): StoredEpoch | undefined {
  const [id = '', why = '', since = '', run = '', ...rest] = text?.split('|') ?? [];
  if (text === null || !/^[a-z0-9]+$/.test(id) || !STARTS.includes(why) || rest.length > 0) return undefined;
  return { epoch: { id, why: why as EpochStart, sinceMs: Number(since) }, run, text };
}
