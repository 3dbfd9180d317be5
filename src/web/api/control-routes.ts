import { createHash } from 'node:crypto';
import { z } from 'zod';
import { readReference } from '../../core/approvals/question.ts';
import { acknowledgeAll, isMeant } from '../../core/controls/acknowledge.ts';
import {
  type Control,
  LONGEST_ACKNOWLEDGED_MS,
  type Pause,
  pauseSchema,
  type Silence,
  silenceSchema,
} from '../../core/controls/controls.ts';
import type { AnswerReply, ControlDraft } from '../../core/ports/operator-controls.ts';
import { isDecimalString, parseDecimal, ZERO } from '../../core/quantities/decimal.ts';
import { OWN_RULES } from '../../core/rules/own-rules.ts';
import { meantOr } from '../../core/text/suggest.ts';
import { authorOf, by, inForce, line } from './authored.ts';
import { ApiError } from './errors.ts';
import { accountId, byAccount, requireAccount } from './read-routes.ts';
import { type ApiContext, type ApiRoute, route } from './route.ts';
import {
  acknowledgedReply,
  answerReply,
  liftedReply,
  prunedReply,
  subjectKey,
  topUpReply,
} from './schemas.ts';

const LONGEST_MS = 366 * 86_400_000;
const forMs = () => z.int().min(1000).max(LONGEST_MS);
const byId = z.strictObject({ id: z.string().min(1).max(64) });

const put = ({ controls, process }: ApiContext, draft: ControlDraft) =>
  inForce(process, () => controls.put(draft));

export const putPause = route({
  id: 'pause',
  method: 'POST',
  path: '/api/v1/pauses',
  summary: 'Hold back all actions, everywhere or of one account, before their next step.',
  body: z.strictObject({
    accountId: accountId().nullable().describe('null: everywhere.'),
    ...by,
    forMs: forMs().nullable().describe('Ends by itself after this time; null: when it is lifted.'),
  }),
  reply: pauseSchema,
  async answer(context, { body: { forMs: duration, author: said, ...draft }, caller }) {
    const author = authorOf(caller, said);
    if (draft.accountId !== null) requireAccount(context.views, draft.accountId);
    const expiresAtMs = duration === null ? null : context.nowMs() + duration;
    return (await put(context, { kind: 'pause', ...draft, author, expiresAtMs })) as Pause;
  },
});

export const putSilence = route({
  id: 'silence',
  method: 'POST',
  path: '/api/v1/silences',
  summary: 'Hold back the actions and notifications of one rule for a time.',
  body: z.strictObject({
    accountId: accountId().nullable().describe('null: of every account.'),
    ruleId: z.string().min(1).max(100),
    subject: subjectKey().nullable().describe('null: all subjects of the rule.'),
    ...by,
    forMs: forMs(),
  }),
  reply: silenceSchema,
  async answer(context, { body: { forMs: duration, author: said, ...draft }, caller }) {
    const { views, nowMs } = context;
    const author = authorOf(caller, said);
    const { accountId: id, ruleId } = draft;
    if (id !== null) requireAccount(views, id);
    const ids = views.ruleIds(id);
    if (!ids.includes(ruleId)) {
      const whose = id === null ? 'no account has' : `account ${id} does not have`;
      const cure = meantOr(ruleId, ids, `Rules: ${ids.join(', ')}.`);
      throw new ApiError(404, 'notFound', `${whose} a rule ${JSON.stringify(ruleId)}. ${cure}`);
    }
    const expiresAtMs = nowMs() + duration;
    return (await put(context, { kind: 'silence', ...draft, author, expiresAtMs })) as Silence;
  },
});

export const acknowledge = route({
  id: 'acknowledge',
  method: 'POST',
  path: '/api/v1/acknowledgements',
  summary: 'Say that somebody sees to it: no reminders and no escalation, until it is over or gets worse.',
  body: z.strictObject({
    accountId: accountId().nullable().describe('null: of every account.'),
    ruleId: z.string().min(1).max(100).optional().describe('Absent: every rule.'),
    subject: subjectKey().optional().describe('Absent: every subject.'),
    ...by,
    reason: by.reason.default('acknowledged'),
    episode: z
      .number()
      .optional()
      .describe('As it was shown to who acknowledges, with `stage`; refused where it is another one by now.'),
    stage: z.int().min(0).optional(),
    forMs: forMs().max(LONGEST_ACKNOWLEDGED_MS).optional().describe('Default: a week.'),
  }),
  reply: acknowledgedReply,
  async answer(context, { body, caller }) {
    const { views, controls, nowMs, process } = context;
    const { accountId: id, author: said, reason, forMs: duration, episode, stage } = body;
    if (id !== null) requireAccount(views, id);
    const author = authorOf(caller, said);
    const found = await views.read(id === null ? undefined : [id]);
    const open = found.flatMap(({ view }) =>
      view.notices.map((notice) => ({ ...notice, accountId: view.accountId })),
    );
    const meant = open.filter((notice) => isMeant(notice, body));
    if (meant.length === 0) requireRule(context, body.ruleId, open);
    if (meant.length === 0)
      throw new ApiError(404, 'notFound', 'nothing of it is open: it may be over by now');
    const isSeen = meant.every(
      (one) => (episode ?? one.episode) === one.episode && (stage ?? one.stage) === one.stage,
    );
    if (!isSeen) throw new ApiError(409, 'refused', 'it has changed since it was shown: look at it again');
    const done = await inForce(process, () =>
      acknowledgeAll(controls, meant, { by: { author, reason }, nowMs: nowMs(), forMs: duration }),
    );
    return { acknowledgements: done.map(({ acknowledgement }) => acknowledgement) };
  },
});

/** A rule that exists may have nothing open. @throws ApiError naming the rules that have */
function requireRule(
  { views }: ApiContext,
  ruleId: string | undefined,
  open: readonly { readonly ruleId: string }[],
): void {
  if (ruleId === undefined || [...views.ruleIds(null), ...Object.values(OWN_RULES)].includes(ruleId)) return;
  const ids = [...new Set(open.map((one) => one.ruleId))];
  const cure = ids.length === 0 ? 'Nothing is open.' : `Rules with something open: ${ids.join(', ')}.`;
  throw new ApiError(400, 'badRequest', `nothing is open of a rule ${JSON.stringify(ruleId)}. ${cure}`);
}

const lift = (kind: Control['kind'], id: string, path: string, summary: string) =>
  route({
    id,
    method: 'DELETE',
    path,
    summary,
    params: byId,
    body: z.strictObject(by),
    reply: liftedReply,
    async answer({ controls, process }, { params, body: { reason, author }, caller }) {
      const signed = { reason, author: authorOf(caller, author) };
      let seen: Control | undefined;
      const lifted = await inForce(process, async () => {
        const found = (await controls.list()).find((control) => control.id === params.id);
        // An attempt that took effect, and whose answer was lost, leaves nothing to lift.
        if (found === undefined && seen !== undefined) return [seen];
        seen = found?.kind === kind ? found : undefined;
        return seen === undefined ? [] : await controls.lift({ kind: 'id', id: params.id }, signed);
      });
      if (lifted.length === 0) throw new ApiError(404, 'notFound', `no such ${kind} is in force`);
      return { lifted };
    },
  });

export const answer = route({
  id: 'answer',
  method: 'POST',
  path: '/api/v1/accounts/:id/answers',
  summary: 'Approve or veto what people are asked of an account; the first answer counts.',
  params: byAccount,
  body: z.strictObject({
    reference: z
      .string()
      .max(60)
      .describe(
        'What is answered, as `questions` of the account has it: a later revision needs an answer of its own.',
      ),
    decision: z.enum(['approve', 'veto']),
    ...by,
  }),
  reply: answerReply,
  async answer({ views, controls, process }, { params: { id }, body, caller }) {
    const author = authorOf(caller, body.author);
    requireAccount(views, id);
    const { reference, decision, reason } = body;
    const named = readReference(reference);
    if (named === undefined)
      throw new ApiError(400, 'badRequest', 'reference: must be one such as 4c604367-1');
    let isRepeated = false;
    const reply = await inForce(process, () => {
      const answered = controls.answer(id, { ...named, decision, author, reason });
      return answered.catch((error: unknown) => {
        isRepeated = true;
        throw error;
      });
    });
    // An attempt that took effect, and whose answer was lost, answers before the next one.
    if (isRepeated && reply.kind === 'answered' && reply.author === author && reply.decision === decision)
      throw new ApiError(
        503,
        'stateLost',
        'Redis was lost meanwhile: it was probably done. Look at the account',
      );
    if (reply.kind === 'taken') {
      const { order } = reply;
      return { reference, decision, author, reason, atMs: order.atMs, order };
    }
    throw refusalOf(reply);
  },
});

function refusalOf(reply: Exclude<AnswerReply, { kind: 'taken' }>): ApiError {
  if (reply.kind === 'notAsked') return new ApiError(404, 'notFound', 'nobody is asked about this');
  if (reply.kind === 'over') return new ApiError(409, 'notWaiting', 'it is not waited for any longer');
  const did = reply.decision === 'approve' ? 'approved' : 'vetoed';
  return new ApiError(409, 'answeredBefore', `${reply.author} ${did} it before`);
}

const amount = z
  .string()
  .regex(/^\d{1,15}(\.\d{1,8})?$/, 'must be an amount such as "100" or "99.50"')
  .describe('In the currency of the ticker, as a text.');

const topUp = route({
  id: 'topUp',
  method: 'POST',
  path: '/api/v1/accounts/:id/top-ups',
  access: 'operate',
  summary: 'Make a link at which a person pays in, for bringing a credit line back.',
  params: byAccount,
  body: z.strictObject({
    subject: subjectKey().describe('What it is for: the credit line.'),
    amount,
    ticker: z.string().min(1).max(20).optional().describe("One of the offer's; default: its first."),
    author: line(80).default('the page').describe('Who asked for it; goes into the audit trail.'),
  }),
  reply: topUpReply,
  async answer(context, { params: { id }, body: { subject, amount: text, ticker, author }, caller }) {
    requireAccount(context.views, id);
    const chosen = chooseOffer(context, id, ticker);
    const value = isDecimalString(text) ? parseDecimal(text) : undefined;
    if (!isDecimalString(text) || value === undefined || value.lte(ZERO)) {
      throw new ApiError(400, 'badRequest', 'amount: must be above 0');
    }
    const { minAmount, maxAmount } = chosen;
    const [min, max] = [minAmount, maxAmount].map((bound) =>
      bound === null ? undefined : parseDecimal(bound),
    );
    if ((min !== undefined && value.lt(min)) || (max !== undefined && value.gt(max))) {
      const bounds = [minAmount && `at least ${minAmount}`, maxAmount && `at most ${maxAmount}`];
      const words = bounds.filter((bound) => bound !== null).join(' and ');
      throw new ApiError(400, 'badRequest', `amount: must be ${words} ${chosen.ticker}`);
    }
    const signed = authorOf(caller, author);
    const order = { accountId: id, subject, ticker: chosen.ticker, amount: text, author: signed };
    const made = await context.deposits.link(order);
    if (made.kind === 'made')
      return { url: made.url, uniqueId: made.uniqueId, opensWith: 'referrer' as const };
    if (made.kind === 'unknown') throw new ApiError(502, 'depositUnknown', made.words);
    throw new ApiError(made.code === 'stateLost' ? 503 : 422, 'depositRefused', made.words);
  },
});

function chooseOffer({ deposits }: ApiContext, id: string, ticker: string | undefined) {
  const offer = deposits.offer(id);
  if (offer === undefined) {
    const message = 'no deposit link is configured for this account: see depositLink in docs/config.md';
    throw new ApiError(404, 'notOffered', message);
  }
  const chosen = ticker ?? offer.tickers[0] ?? '';
  if (!offer.tickers.includes(chosen)) {
    throw new ApiError(400, 'badRequest', `ticker: must be one of ${offer.tickers.join(', ')}`);
  }
  return { ...offer, ticker: chosen };
}

/** By the kind of what they end. */
export const LIFTS = {
  pause: lift('pause', 'resume', '/api/v1/pauses/:id', 'End a pause.'),
  silence: lift('silence', 'liftSilence', '/api/v1/silences/:id', 'End a silence.'),
  acknowledgement: lift(
    'acknowledgement',
    'liftAcknowledgement',
    '/api/v1/acknowledgements/:id',
    'End an acknowledgement: people are reminded again.',
  ),
};

/** A record that is added between two steps moves what is the oldest so many: then it is looked again. */
const PRUNE_ATTEMPTS = 5;

export const pruneAudit = route({
  id: 'pruneAudit',
  method: 'POST',
  path: '/api/v1/accounts/:id/audit/prunings',
  access: 'operate',
  summary: 'Take away the oldest audit records, once they have been exported.',
  params: byAccount,
  body: z.strictObject({
    lastNumber: z.int().min(1).describe('Number of the newest of them.'),
    exportSha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .describe(
        'Of the lines of their export, each with its end: only who has read every record can know it.',
      ),
    ...by,
  }),
  reply: prunedReply,
  async answer({ audit, nowMs }, { params: { id }, body, caller }) {
    const { lastNumber, exportSha256, author: said, reason: why } = body;
    const reason = `${authorOf(caller, said)}: ${why}`;
    for (let attempt = 0; attempt < PRUNE_ATTEMPTS; attempt += 1) {
      const [newest] = await audit.tail(id, 1);
      const keepRecords = (newest?.number ?? 0) - lastNumber;
      if (keepRecords < 0) break;
      const exporter = expecting(exportSha256);
      try {
        const done = await audit.prune(id, { keepRecords, reason, atMs: nowMs(), exporter });
        if (done.pruned > 0) return done;
      } catch (error) {
        if (!exporter.isOther()) throw error;
      }
    }
    throw new ApiError(409, 'refused', 'the oldest records are other ones than those that were written out');
  },
});

/** Writes nothing, and rejects at the end if the lines are not those with this SHA-256. */
function expecting(sha256: string) {
  const digest = createHash('sha256');
  let isOther = false;
  return {
    isOther: () => isOther,
    write: async (text: string) => void digest.update(`${text}\n`, 'utf8'),
    async end() {
      isOther = digest.digest('hex') !== sha256;
      if (isOther) throw new Error('not the records that were written out');
    },
  };
}

export const CONTROL_ROUTES: readonly ApiRoute[] = [
  putPause,
  LIFTS.pause,
  putSilence,
  LIFTS.silence,
  answer,
  acknowledge,
  LIFTS.acknowledgement,
  topUp,
  pruneAudit,
];
