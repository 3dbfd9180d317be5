import { referenceOf } from '../../core/approvals/question.ts';
import type { LinkTarget } from '../../core/controls/signed-link.ts';
import type { AnswerReply, OperatorControls } from '../../core/ports/operator-controls.ts';
import { timeWords } from '../../core/text/time-words.ts';
import type { AccountView, QuestionLine } from '../../core/view/account-view.ts';
import { orderWords } from '../../core/view/state-of.ts';
import type { LinkView } from '../../web/links.ts';

type Target = Extract<LinkTarget, { readonly kind: 'answer' }>;

/** `nothing`: the link can be used again. */
export interface LinkResult extends LinkView {
  readonly kind: 'done' | 'nothing';
  /** Whether it had an effect: nobody was first, and it was not too late. */
  readonly changed: boolean;
}

interface AnswerParts {
  /** For the audit. */
  readonly reason?: string;
  readonly controls: Pick<OperatorControls, 'answer'>;
  readonly views: (ids?: readonly string[]) => Promise<readonly AccountView[]>;
}

const OVER: LinkView = {
  title: 'It is not waited for any longer',
  lines: [
    'It was answered, it acts already, or something else is asked now: a newer message has newer links.',
  ],
};

const MEANING: Readonly<Record<Target['decision'], string>> = {
  approve: 'The target is approved, not the prices: it is priced anew when it is sent.',
  veto: 'It does not act then. A later stage, or liquidation clearly nearer, asks again; a margin call acts.',
};

/** Links that approve or veto the question of a message, as that message showed it. */
export function answerLinks({ controls, views, reason = 'by a link' }: AnswerParts) {
  return {
    async look(target: Target): Promise<LinkView> {
      const [view] = await views([target.accountId]);
      const reference = referenceOf({ id: target.questionId }, target.revision);
      const question = view?.questions.find((one) => one.reference === reference);
      if (view === undefined || question?.answerable !== true) return OVER;
      const button = target.decision === 'approve' ? 'Approve' : 'Veto';
      return { title: `${button}?`, lines: linesOf(view, question, target), button };
    },
    async use({ accountId, decision, questionId, revision }: Target, author: string): Promise<LinkResult> {
      const draft = { decision, questionId, revision, author, reason };
      const reply = await controls.answer(accountId, draft);
      const kind = reply.kind === 'notAsked' ? 'nothing' : 'done';
      return { kind, changed: reply.kind === 'taken', ...outcomeOf(reply, decision) };
    },
  };
}

function linesOf(
  { accountId }: AccountView,
  { ruleId, subject, orders, targets, state, untilMs, withoutAnswer }: QuestionLine,
  { decision }: Target,
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
    MEANING[decision],
  ];
}

function outcomeOf(reply: AnswerReply, decision: Target['decision']): LinkView {
  if (reply.kind === 'taken') {
    const title = decision === 'approve' ? 'Approved' : 'Vetoed';
    return { title, lines: [MEANING[decision]] };
  }
  if (reply.kind !== 'answered') return OVER;
  const did = reply.decision === 'approve' ? 'approved' : 'vetoed';
  return { title: `It was ${did} before`, lines: [`By ${reply.author}.`] };
}
