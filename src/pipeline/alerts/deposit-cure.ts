import type { AuditDraft } from '../../core/audit/audit-record.ts';
import { CreditLineQuantities } from '../../core/quantities/credit-line.ts';
import type { AccountSettings } from '../../core/quantities/settings.ts';
import type { Snapshot } from '../../core/quantities/snapshot.ts';
import { isSuccessfulDeposit } from '../../core/quantities/transfer.ts';
import type { AccountState } from '../../core/rules/account-state.ts';
import type { Transition } from '../../core/rules/decision.ts';
import { creditLineKey } from '../../core/rules/memory.ts';
import { timeWords } from '../../core/text/time-words.ts';
import { figure } from '../../core/view/alert-words.ts';

/** A rule about a credit line that no longer fires, and the deposits that arrived while it fired. */
export interface DepositCure {
  readonly ruleId: string;
  readonly subject: string;
  /** For example `a deposit of 500 EUR arrived at 2026-01-31 23:59:59 UTC; the loan-to-value is 55 % now`. */
  readonly words: string;
  readonly deposits: readonly { readonly ticker: string; readonly amount: string; readonly atMs: number }[];
  /** A fraction; null: the credit line is gone, or its LTV is unknown. */
  readonly ltv: number | null;
}

export interface CureScene {
  readonly snapshot: Snapshot;
  /** State before the evaluation: when each rule began to fire. */
  readonly before: AccountState;
  readonly transitions: readonly Transition[];
  readonly settings: AccountSettings;
}

/** Deposits that may have made a credit line safe: the words only say that they arrived. */
export function depositCures(scene: CureScene): readonly DepositCure[] {
  return scene.transitions.flatMap(({ ruleId, subject, from, to }): readonly DepositCure[] => {
    if (from !== 'firing' || to !== 'inactive' || !subject.startsWith('creditLine:')) return [];
    const slot = scene.before.rules.find((rule) => rule.ruleId === ruleId);
    const sinceMs = slot?.entries.find((entry) => entry.subject === subject)?.stages[0]?.atMs;
    const deposits = sinceMs === undefined ? [] : depositsSince(scene.snapshot, sinceMs);
    if (deposits.length === 0) return [];
    const { ltv, words } = creditLineNow(scene, subject);
    return [{ ruleId, subject, deposits, ltv, words: `${depositWords(deposits)}; ${words}` }];
  });
}

/** Audit note of the cure, which the story of the credit line shows too. */
export function cureNote({ words, ...detail }: DepositCure, atMs: number): AuditDraft {
  return { kind: 'note', atMs, about: 'depositArrived', words, detail: { ...detail } };
}

function depositsSince({ sources }: Snapshot, sinceMs: number): DepositCure['deposits'] {
  const { transfers } = sources;
  if (transfers?.kind !== 'read') return [];
  // The exchange dates transfers in whole seconds.
  return transfers.value.records
    .filter((record) => isSuccessfulDeposit(record) && record.createdAt * 1000 + 999 >= sinceMs)
    .map(({ ticker, amount, createdAt }) => ({ ticker, amount, atMs: createdAt * 1000 }));
}

const MOST_NAMED = 3;

function depositWords(deposits: DepositCure['deposits']): string {
  const named = deposits
    .slice(0, MOST_NAMED)
    .map(({ ticker, amount, atMs }) => `a deposit of ${amount} ${ticker} arrived at ${timeWords(atMs)}`);
  const more = deposits.length - named.length;
  return more === 0 ? named.join(', ') : `${named.join(', ')}, and ${more} more`;
}

function creditLineNow(
  { snapshot, settings }: CureScene,
  subject: string,
): { readonly ltv: number | null; readonly words: string } {
  const reading = snapshot.sources.creditLine;
  const list = reading?.kind === 'read' ? reading.value : undefined;
  const record = list?.records.find((one) => creditLineKey(one) === subject);
  if (record === undefined) {
    // Only a complete list proves that something is absent.
    const words = list?.complete === true ? 'the credit line is gone' : 'whether it is safe now is not known';
    return { ltv: null, words };
  }
  const ltv = new CreditLineQuantities(record, settings).ltv('currentLtv');
  return ltv.kind === 'value'
    ? { ltv: ltv.value, words: `the loan-to-value is ${figure(ltv.value, 'ratio')} now` }
    : { ltv: null, words: 'its loan-to-value is not known' };
}
