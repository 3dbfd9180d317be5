import { referenceOf } from '../../core/approvals/question.ts';
import { acknowledgeAll, type OpenEpisode } from '../../core/controls/acknowledge.ts';
import type { Acknowledgement } from '../../core/controls/controls.ts';
import type { LinkTarget } from '../../core/controls/signed-link.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { AnswerReply, OperatorControls } from '../../core/ports/operator-controls.ts';
import { timeWords } from '../../core/text/time-words.ts';
import type { AccountView, QuestionLine } from '../../core/view/account-view.ts';
import { orderWords } from '../../core/view/state-of.ts';
import type { LinkView } from '../../web/links.ts';

export interface LinkParts {
  readonly controls: Pick<OperatorControls, 'put' | 'answer'>;
  /** Accounts by id, without unknown ones; all accounts if `ids` is absent. */
  readonly views: (ids?: readonly string[]) => Promise<readonly AccountView[]>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Reason of an answer, for the audit; default: by a link. */
  readonly reason?: string;
}

/** `nothing`: the link can be used again. */
interface LinkResult extends LinkView {
  readonly kind: 'done' | 'nothing';
  /** Whether it had an effect: nobody was first, and it was not too late. */
  readonly changed: boolean;
}

/** What one kind of link shows and does. Doing it twice is harmless. */
interface LinkAction<T> {
  look(target: T): Promise<LinkView>;
  use(target: T, author: string): Promise<LinkResult>;
}

type LinkActions = {
  readonly [K in LinkTarget['kind']]: LinkAction<Extract<LinkTarget, { readonly kind: K }>>;
};

export function linkActions(parts: LinkParts): (target: LinkTarget) => LinkAction<LinkTarget> {
  const acknowledging = <T extends Acknowledge>(
    find: (parts: LinkParts, target: T) => Promise<readonly Open[]>,
  ): LinkAction<T> => ({
    look: async (target) => lookAt(await find(parts, target), target),
    use: async (target, author) => await acknowledge(parts, await find(parts, target), author),
  });
  const actions: LinkActions = {
    acknowledge: acknowledging(episodesOf),
    acknowledgeAll: acknowledging(episodesUntil),
    answer: answerLinks(parts),
  };
  return ({ kind }) => actions[kind];
}

type Acknowledge = Extract<LinkTarget, { readonly kind: 'acknowledge' | 'acknowledgeAll' }>;

type Open = OpenEpisode & { readonly accountId: string; readonly sinceMs: number };

/** Episodes of the target alone, up to the stage of its message: a higher stage has its own message. */
async function episodesOf(
  { views }: LinkParts,
  target: Extract<LinkTarget, { readonly kind: 'acknowledge' }>,
): Promise<readonly Open[]> {
  const found = (await views([target.accountId])).flatMap(openIn);
  return found.filter(
    (one) => isOf(one, target) && one.episode === target.episode && one.stage <= target.stage,
  );
}

async function episodesUntil(
  { views }: LinkParts,
  target: Extract<LinkTarget, { readonly kind: 'acknowledgeAll' }>,
): Promise<readonly Open[]> {
  const found = (await views()).flatMap(openIn);
  return found.filter((one) => isOf(one, target) && one.sinceMs <= target.saidAtMs);
}

export function openIn({ accountId, notices }: AccountView): readonly Open[] {
  return notices.map((notice) => ({ ...notice, accountId }));
}

function isOf(open: Open, { ruleId, subject }: Acknowledge): boolean {
  return open.ruleId === ruleId && open.subject === subject;
}

const OVER: LinkView = {
  title: 'There is nothing to acknowledge',
  lines: ['It is over, or it has got worse since this message: a newer one has a newer link.'],
};

const MEANING =
  'It is not told again, and to nobody else, until it is over or gets worse. Breakwater goes on acting by its rules.';

function lookAt(open: readonly Open[], { ruleId, subject }: Acknowledge): LinkView {
  const [first] = open;
  if (first === undefined) return OVER;
  const left = open.filter(({ acknowledged }) => acknowledged === null);
  const where =
    open.length === 1 ? `account ${first.accountId}` : `${open.length} accounts: ${accountWords(open)}`;
  const what = `${ruleId} for ${subject} of ${where}`;
  const seen = seenTo(open.flatMap(({ acknowledged }) => acknowledged ?? []));
  if (left.length === 0) return { title: 'It is acknowledged', lines: [what, ...seen] };
  return { title: 'Acknowledge?', lines: [what, ...seen, MEANING], button: 'Acknowledge' };
}

const MOST_ACCOUNTS = 20;

function accountWords(open: readonly Open[]): string {
  const shown = open.slice(0, MOST_ACCOUNTS).map(({ accountId }) => accountId);
  const more = open.length - shown.length;
  return more === 0 ? shown.join(', ') : `${shown.join(', ')} and ${more} more`;
}

/** Each person once. */
function seenTo(by: readonly Pick<Acknowledgement, 'author' | 'atMs'>[]): readonly string[] {
  const words = by.map(({ author, atMs }) => `Acknowledged by ${author} at ${timeWords(atMs)}.`);
  return [...new Set(words)].slice(0, MOST_ACCOUNTS);
}

async function acknowledge(
  { controls, clock }: LinkParts,
  open: readonly Open[],
  author: string,
): Promise<LinkResult> {
  if (open.length === 0) return { kind: 'nothing', changed: false, ...OVER };
  const by = { author, reason: 'acknowledged' };
  const done = await acknowledgeAll(controls, open, { by, nowMs: clock.nowMs() });
  const isNews = done.some(({ isOlder }) => !isOlder);
  const others = done.filter(({ isOlder }) => isOlder).map(({ acknowledgement }) => acknowledgement);
  const lines = seenTo(others);
  return isNews
    ? { kind: 'done', changed: true, title: 'Acknowledged', lines: [...lines, MEANING] }
    : { kind: 'done', changed: false, title: 'Somebody has acknowledged it before', lines };
}

type Question = Extract<LinkTarget, { readonly kind: 'answer' }>;

const NOT_WAITED_FOR: LinkView = {
  title: 'It is not waited for any longer',
  lines: [
    'It was answered, it acts already, or something else is asked now: a newer message has newer links.',
  ],
};

const ANSWER_MEANING: Readonly<Record<Question['decision'], string>> = {
  approve: 'The target is approved, not the prices: it is priced anew when it is sent.',
  veto: 'It does not act then. A later stage, or liquidation clearly nearer, asks again; a margin call acts.',
};

/** Links that approve or veto the question of a message, as that message showed it. */
function answerLinks({ controls, views, reason = 'by a link' }: LinkParts) {
  return {
    async look(target: Question): Promise<LinkView> {
      const [view] = await views([target.accountId]);
      const reference = referenceOf({ id: target.questionId }, target.revision);
      const question = view?.questions.find((one) => one.reference === reference);
      if (view === undefined || question?.answerable !== true) return NOT_WAITED_FOR;
      const button = target.decision === 'approve' ? 'Approve' : 'Veto';
      return { title: `${button}?`, lines: questionLines(view, question, target), button };
    },
    async use({ accountId, decision, questionId, revision }: Question, author: string): Promise<LinkResult> {
      const draft = { decision, questionId, revision, author, reason };
      const reply = await controls.answer(accountId, draft);
      const kind = reply.kind === 'notAsked' ? 'nothing' : 'done';
      return { kind, changed: reply.kind === 'taken', ...answerView(reply, decision) };
    },
  };
}

function questionLines(
  { accountId }: AccountView,
  { ruleId, subject, orders, targets, state, untilMs, withoutAnswer }: QuestionLine,
  { decision }: Question,
): readonly string[] {
  const sent = orders.map((order) => `It would send: ${orderWords(order)}.`);
  const aimed = targets.map(
    ({ market, sizeBase, targetBase }) => `${market}: at most ${targetBase} of ${sizeBase} is left.`,
  );
  const then = withoutAnswer === 'act' ? 'it acts' : 'it does not act';
  const waits = state === 'waiting' ? [`Without an answer until ${timeWords(untilMs)} ${then}.`] : [];
  return [
    `Rule ${ruleId} for ${subject} of account ${accountId}.`,
    ...sent,
    ...aimed,
    ...waits,
    ANSWER_MEANING[decision],
  ];
}

function answerView(reply: AnswerReply, decision: Question['decision']): LinkView {
  if (reply.kind === 'taken') {
    const title = decision === 'approve' ? 'Approved' : 'Vetoed';
    return { title, lines: [ANSWER_MEANING[decision]] };
  }
  if (reply.kind !== 'answered') return NOT_WAITED_FOR;
  const did = reply.decision === 'approve' ? 'approved' : 'vetoed';
  return { title: `It was ${did} before`, lines: [`By ${reply.author}.`] };
}
