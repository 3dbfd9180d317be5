import { isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';

/** A config as a replay runs it, and what was changed in it. */
export interface ReplayConfig {
  readonly text: string;
  /** In whole sentences. */
  readonly notes: readonly string[];
}

/**
 * A config that was checked already, with only these accounts in it, and acting: a config that observes is replayed as
 * if it enforced, as what would have been done is the question. A rule with a mode of its own keeps it.
 */
export function replayConfig(text: string, accountIds: readonly string[]): ReplayConfig {
  const document = parseDocument(text, { version: '1.2', merge: false });
  const notes: string[] = [];
  const accounts = document.get('accounts');
  let observes = document.get('mode') !== 'enforce';
  if (isSeq(accounts)) {
    const kept = accounts.items.filter(
      (item): item is YAMLMap => isMap(item) && accountIds.includes(String(item.get('id'))),
    );
    accounts.items = kept;
    for (const account of kept) {
      if (account.get('mode') === 'observe') observes = true;
      account.delete('mode');
    }
  }
  document.set('mode', 'enforce');
  if (observes) notes.push('The config observes; it was replayed as if it enforced.');
  return { text: document.toString(), notes };
}
