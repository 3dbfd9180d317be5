import type { Life, LifeStart } from '../../core/ports/state-store.ts';

/** A life as it is stored, with the identity of the server on which it began. */
export interface StoredLife {
  readonly life: Life;
  readonly run: string;
  readonly text: string;
}

const STARTS: readonly string[] = ['empty', 'serverChanged', 'rolledBack'] satisfies LifeStart[];

export function writeLife(life: Life, run: string): string {
  return `${life.id}|${life.why}|${life.sinceMs}|${run}`;
}

/** `undefined`: there is none, or nothing that this program has written. */
export function readLife(text: string | null): StoredLife | undefined {
  const [id = '', why = '', since = '', run = '', ...rest] = text?.split('|') ?? [];
  if (text === null || !/^[a-z0-9]+$/.test(id) || !STARTS.includes(why) || rest.length > 0) return undefined;
  return { life: { id, why: why as LifeStart, sinceMs: Number(since) }, run, text };
}
