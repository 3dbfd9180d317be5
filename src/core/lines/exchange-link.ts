import { z } from 'zod';
import type { OutputOf } from '../schema/parts.ts';
import type { AccountView } from '../view/account-view.ts';
import { causeWords, type StateCause } from '../view/state-line.ts';

/** Whether the exchange answers, according to the newest polls of all accounts; null: unknown. */
export const exchangeLinkSchema = z.strictObject({ ok: z.boolean().nullable(), words: z.string() });
export type ExchangeLink = OutputOf<typeof exchangeLinkSchema>;

const CAUSES: ReadonlySet<StateCause> = new Set<StateCause>([
  'keyRefused',
  'unreachable',
  'exchangeFails',
  'rateLimited',
  'replyUnreadable',
]);

export function exchangeLinkOf(accounts: readonly Pick<AccountView, 'state' | 'judgedAtMs'>[]): ExchangeLink {
  const causes = accounts.map(({ state }) => state.cause);
  const failing = causes.filter((cause) => CAUSES.has(cause));
  if (failing.length > 0) {
    const counts = Map.groupBy(failing, (cause) => cause);
    const words = [...counts].map(([cause, { length }]) => `${causeWords(cause)}: ${length}`);
    return {
      ok: false,
      words: `${words.join('; ')} of ${accounts.length} ${accounts.length === 1 ? 'account' : 'accounts'}`,
    };
  }
  if (causes.includes('storeLost')) return { ok: null, words: 'not known while Redis is down' };
  const asked = accounts.filter(({ judgedAtMs }) => judgedAtMs !== null).length;
  return asked === 0
    ? { ok: null, words: 'no account has been polled yet' }
    : { ok: true, words: 'it answers' };
}
