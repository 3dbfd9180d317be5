import { randomUUID } from 'node:crypto';
import type { CompiledDepositLink, PersonalData } from '../../config/deposit-link.ts';
import type { AuditDraft } from '../../core/audit/audit-record.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { DepositCustomer, ExchangeError, FiatDeposit } from '../../core/ports/exchange.ts';
import type { StateStore } from '../../core/ports/state-store.ts';
import type { DepositDesk, TopUpOutcome } from '../../web/sources.ts';
import { revealed } from '../revealed.ts';

/** An account's settings and client for deposit links. */
export interface DepositAccess {
  readonly settings: CompiledDepositLink;
  /** Absent: this process has no key for the account. */
  readonly deposit: FiatDeposit | undefined;
}

export interface DepositDeskParts {
  readonly store: Pick<StateStore, 'read' | 'commit'>;
  readonly clock: Clock;
  /** As configured now; undefined: no links for this account. */
  readonly accessOf: (accountId: string) => DepositAccess | undefined;
}

const KEY_MISSING =
  'this process has no API key for this account: a link takes its apiKey and apiSecret where the page is served';

/** Bound on the exchange's answer: the outcome arrives before the server closes (`CONNECTION_TIMEOUT_MS`). */
const TIMEOUT_MS = 8_000;

/**
 * Makes deposit links (specification 4.1). The audit records who asks, beforehand, and the outcome; nothing personal.
 */
export function createDepositDesk({ store, clock, accessOf }: DepositDeskParts): DepositDesk {
  const note = (accountId: string, draft: AuditDraft) => record(store, accountId, draft);
  return {
    offer(accountId) {
      const settings = accessOf(accountId)?.settings;
      if (settings === undefined) return undefined;
      const { tickers, minAmount = null, maxAmount = null } = settings;
      return { tickers, minAmount, maxAmount };
    },
    async link(order) {
      const access = accessOf(order.accountId);
      if (access === undefined) {
        return { kind: 'refused', code: 'notOffered', words: 'no deposit link is configured any more' };
      }
      const { settings, deposit } = access;
      if (deposit === undefined) return { kind: 'refused', code: 'keyMissing', words: KEY_MISSING };
      // Never used before, so that a retry after a lost answer does no harm (specification 4.1, unique_id).
      const uniqueId = `${settings.uniqueIdPrefix}-${randomUUID()}`;
      const { subject, ticker, amount, author } = order;
      const about = { subject, ticker, amount, author, provider: settings.provider, uniqueId };
      const asked = `a deposit link for ${amount} ${ticker} was asked for by ${author}`;
      try {
        await note(order.accountId, noteOf(clock, 'topUpAsked', asked, about));
      } catch {
        const words = 'the state store does not answer: a link that is in no record is not made';
        return { kind: 'refused', code: 'stateLost', words };
      }
      const outcome = await deposit.link(
        {
          ticker,
          provider: settings.provider,
          amount,
          uniqueId,
          ...settings.links,
          ...(settings.customer === undefined ? {} : { customer: customerOf(settings.customer) }),
        },
        { timeoutMs: TIMEOUT_MS },
      );
      const result: TopUpOutcome =
        outcome.kind === 'accepted'
          ? { kind: 'made', url: outcome.value.url, uniqueId }
          : failed(outcome.kind, outcome.error);
      await note(order.accountId, endOf(clock, result, about)).catch(() => undefined);
      return result;
    },
  };
}

function noteOf(
  clock: Clock,
  about: string,
  words: string,
  detail: Readonly<Record<string, string>>,
): AuditDraft {
  return { kind: 'note', atMs: clock.nowMs(), about, words, detail };
}

function endOf(clock: Clock, result: TopUpOutcome, about: Readonly<Record<string, string>>): AuditDraft {
  const what = `${about['amount']} ${about['ticker']}`;
  if (result.kind === 'made') return noteOf(clock, 'topUpLinkMade', `a deposit link for ${what}`, about);
  const { code, words } = result;
  return noteOf(clock, 'topUpFailed', `no deposit link for ${what}: ${words}`, { ...about, code });
}

function failed(kind: 'rejected' | 'unknown', error: ExchangeError): TopUpOutcome {
  const meaning = MEANINGS[error.name] ?? `the exchange refused it (${error.name}${codeOf(error)})`;
  const fields = Object.entries(error.fields ?? {}).map(([name, words]) => fieldWords(name, words));
  const told = [meaning, ...fields].join('; ');
  return kind === 'unknown'
    ? { kind: 'unknown', code: error.name, words: `${told}. Nobody knows whether it was made; try again` }
    : { kind: 'refused', code: error.name, words: told };
}

function codeOf({ code }: ExchangeError): string {
  return code === undefined ? '' : `, code ${code}`;
}

/** By the names in the client's error catalogue. */
const MEANINGS: Readonly<Record<string, string>> = {
  validationFailed: 'the exchange does not take these values',
  depositLinkFailed: 'the exchange could not make a link: try again later, or another amount',
  permissionDenied: 'this API key may not make deposit links: support enables them on demand',
  temporarilyUnavailable: 'deposits are unavailable at the moment: try again later',
  rateLimited: 'the exchange takes no more requests at the moment: try again in some seconds',
  timeout: 'the exchange did not answer in time',
};

/** Fields that this program chooses (specification 7). What the exchange says of others could be personal. */
const FIELDS = new Set('amount provider ticker uniqueId successLink failureLink'.split(' '));

function fieldWords(name: string, words: readonly string[]): string {
  const [field = name] = name.split('.');
  return FIELDS.has(field) ? `${field}: ${words.join(', ')}` : `${field}: not taken`;
}

function customerOf({ address, ...person }: PersonalData): DepositCustomer {
  return { ...revealed(person), address: revealed(address) };
}

/** Workers commit once per poll: more consecutive conflicts than this are no accident. */
const ATTEMPTS = 50;

async function record(store: DepositDeskParts['store'], accountId: string, draft: AuditDraft): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { load } = await store.read(accountId);
    if (load.kind === 'refused') throw new Error(load.problem.message);
    const [result] = await store.commit([{ base: load.account, audit: [draft] }]);
    if (result?.kind === 'committed') return;
    if (result?.kind === 'refused') throw new Error(result.problem.message);
  }
  throw new Error(`the state of account ${accountId} changes faster than it can be written`);
}
