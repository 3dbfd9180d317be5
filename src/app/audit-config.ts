import type { AccountConfigChange, ConfigChange } from '../config/compare-configs.ts';
import type { CompiledConfig } from '../config/compiled-config.ts';
import { OPERATOR_CHAIN } from '../core/audit/audit-record.ts';
import type { State } from '../state/state.ts';

const ABOUT = 'configInForce';
/** Records searched for the last such note; if that is older, the note is written again. */
const LOOKED_AT = 100;
const ATTEMPTS = 20;
/** All processes adopt a changed file within this time. */
const SAME_CHANGE_MS = 60_000;

interface InForce {
  readonly config: CompiledConfig;
  /** Absent at a start. */
  readonly change?: ConfigChange;
  readonly instance: string;
  readonly atMs: number;
}

/**
 * Notes in the operators' chain which config is in force from now on. Several processes adopt the same file; the first
 * one notes it. @throws StoreLostError
 */
export async function auditConfig(
  { store, audit }: Pick<State, 'store' | 'audit'>,
  { config, change, instance, atMs }: InForce,
): Promise<void> {
  const { checksum, file } = config;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    // Read before looking for the last note: a note by another process in between makes the commit a conflict.
    const { load } = await store.read(OPERATOR_CHAIN);
    if (load.kind === 'refused') return;
    const before = await lastNoted(audit);
    const changes = change === undefined ? [] : changesOf(change);
    if (before?.detail?.['checksum'] === checksum) {
      const { detail, atMs: notedMs } = before;
      const isOfOther = detail['instance'] !== instance && atMs - notedMs < SAME_CHANGE_MS;
      // The same file with other secrets is also a change.
      if (changes.length === 0 || (isOfOther && String(detail['changes']) === String(changes))) return;
    }
    const how =
      change === undefined && before !== undefined
        ? 'changed while no daemon read it'
        : changes.join('; ') || 'first seen';
    const detail = { checksum, file, changes, instance };
    const words = `${file}, SHA-256 ${checksum}: ${how}`;
    const [result] = await store.commit([
      { base: load.account, audit: [{ kind: 'note', atMs, about: ABOUT, words, detail }] },
    ]);
    if (result?.kind === 'committed') return;
  }
}

async function lastNoted(audit: State['audit']) {
  const records = await audit.tail(OPERATOR_CHAIN, LOOKED_AT);
  const notes = records.map(({ record: { content } }) => (content.kind === 'note' ? content : undefined));
  return notes.findLast((note) => note?.about === ABOUT);
}

/** Changes of a reload, one line per account and section; contains no secret values. */
function changesOf({ added, removed, changed, sections }: ConfigChange): readonly string[] {
  return [
    ...added.map((id) => `account ${id} added`),
    ...removed.map((id) => `account ${id} removed`),
    ...changed.map((account) => `account ${account.accountId}: ${accountWords(account)}`),
    ...sections.map((section) => `section ${section}`),
  ];
}

function accountWords(change: AccountConfigChange): string {
  const { rules, settings, credentials, watch, egress, depositLink } = change;
  const listed = (what: string, names: readonly string[]): readonly string[] =>
    names.length === 0 ? [] : [`${what} ${names.join(', ')}`];
  return [
    ...listed('rules added', rules.added),
    ...listed('rules removed', rules.removed),
    ...listed('rules changed', rules.changed),
    ...listed('rules relabelled', rules.relabelled),
    ...listed('settings', settings),
    ...Object.entries({ keys: credentials, watch, egress, depositLink }).flatMap(([name, differs]) =>
      differs ? [name] : [],
    ),
  ].join(', ');
}
