import { expect, test } from 'vitest';
import type { CreditLineRecord } from '../../../src/core/ports/exchange.ts';
import type { Snapshot } from '../../../src/core/quantities/snapshot.ts';
import type { KnownTransfer } from '../../../src/core/quantities/transfer.ts';
import { type AccountState, emptyAccountState } from '../../../src/core/rules/account-state.ts';
import type { Transition } from '../../../src/core/rules/decision.ts';
import { depositCures } from '../../../src/pipeline/alerts/deposit-cure.ts';
import { at, d, LOAN, list, read, settings } from '../../core/rules/fixtures.ts';

const SUBJECT = `creditLine:${LOAN.asset}@${LOAN.createdAt}` as const;
const BEGAN_MS = 1_700_000_500_000;

const deposit: KnownTransfer = {
  createdAt: BEGAN_MS / 1000 + 60,
  ticker: 'EUR',
  method: { known: true, value: 'deposit' },
  amount: d('500'),
  status: 3,
  network: null,
} as unknown as KnownTransfer;

function wordsWith(creditLine: Snapshot['sources']['creditLine']): string | undefined {
  const entry = { subject: SUBJECT, stages: [{ stage: 0, atMs: BEGAN_MS }] };
  const before = { ...emptyAccountState('a'), rules: [{ ruleId: 'ltv', entries: [entry] }] };
  const change = { ruleId: 'ltv', subject: SUBJECT, from: 'firing', to: 'inactive', reason: 'ruleRemoved' };
  const sources = { transfers: read(list([deposit])), ...(creditLine === undefined ? {} : { creditLine }) };
  const [cure] = depositCures({
    snapshot: { version: 1, accountId: 'a', at: at(0), sources, ownStops: [] } as unknown as Snapshot,
    before: before as unknown as AccountState,
    transitions: [change as unknown as Transition],
    settings: settings(),
  });
  return cure?.words.replace(/^a deposit of 500 EUR arrived at [^;]*; /, '');
}

test('a credit line that was not read, or missing in an incomplete list, is not reported as gone', () => {
  const none: readonly CreditLineRecord[] = [];
  expect(wordsWith(read(list([LOAN])))).toBe('the loan-to-value is 60 % now');
  expect(wordsWith(read(list(none)))).toBe('the credit line is gone');
  expect(wordsWith(read(list(none, false)))).toBe('whether it is safe now is not known');
  expect(wordsWith(undefined)).toBe('whether it is safe now is not known');
});
