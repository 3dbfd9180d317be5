import { z } from 'zod';
import type { ChainedRecord } from '../../core/audit/audit-record.ts';
import { outcomesBy, type WouldBeOrder, wouldBeOrders, wouldHaveWords } from '../../core/costs/would-have.ts';
import { accountRow } from '../../core/lines/account-row.ts';
import { meantOr } from '../../core/text/suggest.ts';
import { type AccountView, accountSchema } from '../../core/view/account-view.ts';
import { storyOf } from '../../core/view/story.ts';
import { ApiError } from './errors.ts';
import { type ApiContext, type ApiRoute, route } from './route.ts';
import {
  accountsReply,
  actionsReply,
  auditReply,
  historyReply,
  me,
  observedReply,
  overview,
  processesReply,
  rowsReply,
  storyReply,
  stressReply,
  subjectKey,
  topUpOfferReply,
} from './schemas.ts';

export const accountId = () => z.string().min(1).max(100);
export const byAccount = z.strictObject({ id: accountId().describe('Id of the account.') });

/** A whole number in a query string. */
function whole(min: number, max: number, instead: number): z.ZodType<number> {
  return z.coerce.number().int().min(min).max(max).default(instead);
}

const getMe = route({
  id: 'getMe',
  path: '/api/v1/me',
  summary: 'Who asks, as this server knows them, and what they may do.',
  reply: me,
  async answer(_context, { caller: { address, identity } }) {
    const scopes = identity?.scopes ?? (['read'] as const);
    return { name: identity?.isOwn === true ? identity.name : null, scopes, address };
  },
});

export const getOverview = route({
  id: 'getOverview',
  path: '/api/v1/overview',
  summary: 'How everything is, at a glance.',
  reply: overview,
  answer: (context) => context.overview(),
});

const MOST_WAIT_MS = 2_000;

export const listProcesses = route({
  id: 'listProcesses',
  path: '/api/v1/processes',
  // It asks the store again and again: not for everybody who may look.
  access: 'control',
  summary: 'Which processes have confirmed what was paused, silenced, acknowledged or lifted so far.',
  query: z.strictObject({
    withinMs: whole(0, MOST_WAIT_MS, MOST_WAIT_MS).describe(
      'Answered when all have, at the latest after this time.',
    ),
  }),
  reply: processesReply,
  async answer({ process }, { query: { withinMs } }) {
    const processes = await process.processes(withinMs);
    return { reachesAll: process.reachesAll(), processes };
  },
});

export const listAccounts = route({
  id: 'listAccounts',
  path: '/api/v1/accounts',
  summary: 'Accounts with their positions, credit lines, rules and orders, most endangered first.',
  query: z.strictObject({
    query: z
      .string()
      .max(100)
      .default('')
      .describe('Text in the id, a label, a market, an asset or a rule that fires.'),
    firing: z.enum(['true', 'false']).optional().describe('Only those of which a rule fires, or does not.'),
    limit: whole(1, 100, 25),
    offset: whole(0, 1_000_000, 0),
  }),
  reply: accountsReply,
  async answer(context, { query: { query, firing, limit, offset } }) {
    const views = (await context.views.read()).map(({ view }) => view);
    const found = views
      .filter((view) => firing === undefined || (view.worst !== null) === (firing === 'true'))
      .filter((view) => matches(view, query.trim().toLowerCase()))
      .sort(byDanger);
    const accounts = found.slice(offset, offset + limit);
    return { atMs: context.nowMs(), total: found.length, offset, limit, accounts };
  },
});

/** Sorts by danger; accounts that cannot be read come first, because their danger is unknown. */
function byDanger(a: AccountView, b: AccountView): number {
  if ((a.refused === null) !== (b.refused === null)) return a.refused === null ? 1 : -1;
  return b.danger - a.danger || (a.accountId < b.accountId ? -1 : 1);
}

function matches(
  { accountId: id, labels, positions, creditLines, rules }: AccountView,
  text: string,
): boolean {
  if (text === '') return true;
  const has = (value: string): boolean => value.toLowerCase().includes(text);
  return (
    has(id) ||
    Object.entries(labels).some(([name, value]) => has(`${name}=${value}`)) ||
    positions.some(({ market, positionId }) => has(market) || has(positionId)) ||
    creditLines.some(({ asset }) => has(asset)) ||
    rules.some(({ phase, ruleId }) => phase === 'firing' && has(ruleId))
  );
}

export const listRows = route({
  id: 'listRows',
  path: '/api/v1/rows',
  summary: 'Every account in one line.',
  reply: rowsReply,
  answer: async ({ views, nowMs }) => ({
    atMs: nowMs(),
    rows: (await views.read()).map(({ view }) => accountRow(view)),
  }),
});

export const getAccount = route({
  id: 'getAccount',
  path: '/api/v1/accounts/:id',
  summary: 'One account.',
  params: byAccount,
  reply: accountSchema,
  answer: async (context, { params: { id } }) => await viewOf(context, id),
});

export async function viewOf({ views }: ApiContext, id: string): Promise<AccountView> {
  requireAccount(views, id);
  const [found] = await views.read([id]);
  if (found === undefined) throw new ApiError(404, 'notFound', 'nothing is known of this account yet');
  return found.view;
}

export function requireAccount(views: ApiContext['views'], id: string): void {
  const ids = views.ids();
  if (ids.includes(id)) return;
  const cure = meantOr(id, ids, `Accounts: ${ids.join(', ')}.`);
  throw new ApiError(404, 'notFound', `there is no account ${JSON.stringify(id)}. ${cure}`);
}

const getHistory = route({
  id: 'getHistory',
  path: '/api/v1/accounts/:id/history',
  summary: 'Figures of one subject over time, oldest first.',
  params: byAccount,
  query: z.strictObject({
    subject: subjectKey(),
    fromMs: whole(0, Number.MAX_SAFE_INTEGER, 0),
    limit: whole(1, 3000, 360).describe('The newest so many.'),
  }),
  reply: historyReply,
  async answer({ views, history }, { params: { id }, query: { subject, fromMs, limit } }) {
    requireAccount(views, id);
    const points = await history.read(id, subject, { fromMs, limit });
    return { subject, points };
  },
});

/** Bounds the records read for one request: the story of a quiet subject in a busy account comes in parts. */
const STORY_PAGE = 250;
const STORY_PAGES = 8;

export const getStory = route({
  id: 'getStory',
  path: '/api/v1/accounts/:id/story',
  summary: 'What happened to one subject, or to the account, newest first.',
  params: byAccount,
  query: z.strictObject({
    subject: subjectKey().optional(),
    limit: whole(1, 500, 200),
    beforeSeq: z.coerce.number().int().min(1).optional(),
  }),
  reply: storyReply,
  async answer(context, { params: { id }, query }) {
    const { subject, limit, beforeSeq } = query;
    const view = await viewOf(context, id);
    const known = view.positions.find((position) => position.subject === subject)?.market;
    const parts: (readonly ChainedRecord[])[] = [];
    let entries: ReturnType<typeof storyOf> = [];
    let before = beforeSeq;
    for (let page = 0; page < STORY_PAGES && entries.length < limit; page++) {
      const older = await recordsBefore(context, id, before, subject === undefined ? limit : STORY_PAGE);
      if (older.length === 0) {
        before = 1;
        break;
      }
      parts.unshift(older);
      before = older[0]?.number ?? 1;
      const records = parts.flat();
      const market = known ?? marketOf(records, subject);
      entries = storyOf(records, {
        ...(subject === undefined ? {} : { subject }),
        ...(market === undefined ? {} : { market }),
      });
    }
    // Never split the entries of one record.
    const last = entries[limit - 1]?.seq;
    const shown = last === undefined ? entries : entries.filter(({ seq }) => seq >= last);
    const next = shown.length < entries.length ? (last ?? null) : (before ?? 1) > 1 ? (before ?? null) : null;
    return { entries: shown, nextBeforeSeq: next };
  },
});

async function recordsBefore(
  { audit }: ApiContext,
  id: string,
  before: number | undefined,
  page: number,
): Promise<readonly ChainedRecord[]> {
  const limit = Math.min(page, STORY_PAGE);
  if (before === undefined) return await audit.tail(id, limit);
  if (before <= 1) return [];
  const range = { from: Math.max(1, before - limit), to: before - 1, limit };
  return await audit.read(id, range);
}

/** Finds the market of a closed position in the records. */
function marketOf(records: readonly ChainedRecord[], subject: string | undefined): string | undefined {
  if (subject?.startsWith('position:') !== true) return undefined;
  const positionId = subject.slice('position:'.length);
  for (const { record } of records) {
    const { content } = record;
    if (content.kind === 'action' && content.event.positionId === positionId) return content.event.market;
  }
  return undefined;
}

const getAudit = route({
  id: 'getAuditRecord',
  path: '/api/v1/accounts/:id/audit/:seq',
  summary: 'One record of the audit trail; of a decision also what it was computed from.',
  params: byAccount.extend({
    seq: z.coerce.number().int().min(1).describe('Number of the record.'),
  }),
  reply: auditReply,
  async answer({ views, audit }, { params: { id, seq } }) {
    requireAccount(views, id);
    const found = await audit.show(id, seq);
    if (found === undefined) throw new ApiError(404, 'notFound', 'there is no such record (any more)');
    const { record, hash } = found;
    const inputs = await audit.inputs(record);
    const { content } = record;
    const shown = content.kind === 'decision' ? { ...content, inputs: undefined } : content;
    return {
      hash,
      record: withoutPersonal({ ...record, content: shown }) as z.output<typeof auditReply>['record'],
      inputs: inputs === undefined ? null : (withoutPersonal(inputs) as Record<string, unknown>),
    };
  },
});

const PERSONAL: ReadonlySet<string> = new Set([
  'address',
  'memo',
  'description',
  'transactionHash',
  'withdrawalAllowList',
]);

/** Hides personal data: the audit trail keeps the destinations of transfers, but the page must not show them. */
function withoutPersonal(value: object): unknown {
  const text = JSON.stringify(value, (key, inner: unknown) =>
    PERSONAL.has(key) && inner !== undefined ? '[not shown]' : inner,
  );
  return JSON.parse(text) as unknown;
}

const listActions = route({
  id: 'listActions',
  path: '/api/v1/actions',
  summary: 'What was sent to the exchange and what became of it, over all accounts, newest first.',
  query: z.strictObject({ limit: whole(1, 500, 50) }),
  reply: actionsReply,
  async answer({ views, actions }, { query: { limit } }) {
    await actions.refresh(await views.read());
    return { actions: actions.newest(limit) };
  },
});

const ALL_POINTS = 1_000_000;

const listObserved = route({
  id: 'listObserved',
  path: '/api/v1/accounts/:id/observed',
  summary: 'Orders that observe mode held back, newest first, and what they would have cost or saved by now.',
  params: byAccount,
  query: z.strictObject({ limit: whole(1, 200, 50) }),
  reply: observedReply,
  async answer(context, { params: { id }, query: { limit } }) {
    requireAccount(context.views, id);
    const orders: WouldBeOrder[] = [];
    let before: number | undefined;
    for (let page = 0; page < STORY_PAGES && orders.length < limit && before !== 1; page++) {
      const older = await recordsBefore(context, id, before, STORY_PAGE);
      orders.push(...wouldBeOrders(older).toReversed());
      before = older[0]?.number ?? 1;
    }
    const judged = await outcomesBy(orders.slice(0, limit), (subject) =>
      context.history.read(id, subject, { limit: ALL_POINTS }),
    );
    return {
      orders: judged.map(({ order: found, outcome }) => {
        const { seq, atMs, ruleId, positionId, order } = found;
        const { side, amount, market, activationPrice, price } = order;
        const money = context.orders.moneyOf(id, market);
        const words = wouldHaveWords(found, outcome, money);
        const shown = { market, side, amount, activationPrice, price, money };
        return Object.assign(shown, { seq, atMs, ruleId, positionId, outcome, words });
      }),
    };
  },
});

const getTopUpOffer = route({
  id: 'getTopUpOffer',
  path: '/api/v1/accounts/:id/top-ups',
  summary: 'What a deposit link for this account can be made for.',
  params: byAccount,
  reply: topUpOfferReply,
  async answer({ views, deposits }, { params: { id } }) {
    requireAccount(views, id);
    return { offer: deposits.offer(id) ?? null };
  },
});

const getStress = route({
  id: 'getStress',
  path: '/api/v1/stress',
  summary: 'What crashes would do to the accounts, as the newest stress test on a schedule found.',
  reply: stressReply,
  answer: ({ stress }) => stress(),
});

export const READ_ROUTES: readonly ApiRoute[] = [
  getMe,
  getOverview,
  listProcesses,
  listAccounts,
  listRows,
  getAccount,
  getHistory,
  getStory,
  getAudit,
  listActions,
  listObserved,
  getTopUpOffer,
  getStress,
];
