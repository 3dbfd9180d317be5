import type { AskedQuestion } from '../../core/approvals/ask.ts';
import type { Settled } from '../../core/approvals/judge.ts';
import {
  type ApprovalQuestion,
  latestOf,
  noticeIdOf,
  noticeKeyOf,
  partsOf,
  referenceOf,
  type SettledBy,
  stageKeyOf,
} from '../../core/approvals/question.ts';
import { settledWords } from '../../core/approvals/words.ts';
import { isSilenced } from '../../core/controls/controls.ts';
import type { Notice, NoticeDoing } from '../../core/ports/notifier.ts';
import { roughly } from '../../core/quantities/roughly.ts';
import type { ActionRequest } from '../../core/rules/subject.ts';
import { noticeFacts } from '../../core/view/notice-facts.ts';
import { KIND_WORDS } from '../../core/view/state-line.ts';
import type { AlertScene } from './alert-scene.ts';
import { presentWords } from './present-words.ts';

export interface ApprovalScene
  extends Pick<AlertScene, 'account' | 'active' | 'inForce' | 'view' | 'nowMs' | 'asked' | 'settled'> {
  /** Labels of the account and the rule. */
  readonly labels: (ruleId: string) => Notice['labels'];
  readonly marketOf: (subject: string) => Pick<Notice, 'market'>;
}

/** Notices of new questions, and of the outcomes of earlier ones. */
export function approvalNotices(scene: ApprovalScene): readonly Notice[] {
  const { settled, asked } = scene;
  const told = settled.filter(({ question }) => question.askedMs !== undefined);
  const unasked = settled.filter(
    ({ question, by }) => question.askedMs === undefined && by === 'timeTooShort',
  );
  return [
    ...asked.map((one) => askingNotice(one, scene)),
    ...told.map((one) => settledNotice(one, scene)),
    ...unasked.map((one) => unaskedNotice(one, scene)),
  ].filter(({ ruleId, subject }) => !isSilenced(scene.inForce, ruleId, subject));
}

function askingNotice({ question, revision, orders }: AskedQuestion, scene: ApprovalScene): Notice {
  const { id: accountId, rules } = scene.account;
  return {
    ...about(question, scene),
    id: noticeIdOf(accountId, question, revision),
    words: `${becauseOf(question, scene)}; a person is asked before it acts`,
    approval: {
      reference: referenceOf(question, revision),
      untilMs: question.untilMs,
      withoutAnswer: rules.settings.approval?.withoutAnswer ?? 'act',
      orders,
    },
  };
}

function settledNotice({ question, by }: Settled, scene: ApprovalScene): Notice {
  const revision = latestOf(question)?.revision ?? 0;
  const id = JSON.stringify([noticeKeyOf(scene.account.id, question), revision, by]);
  const { doing, ...said } = about(question, scene);
  return {
    ...said,
    id,
    words: settledWords(question, by),
    ...(doing === undefined ? {} : { doing: ACTS.has(by) ? aboutToAct(doing) : doing }),
  };
}

const ACTS: ReadonlySet<SettledBy> = new Set(['approved', 'deadline', 'timeTooShort', 'notDelivered']);

/**
 * What was held back goes out after this notice: the account has left its previous state, but counts as acting only
 * when the exchange has accepted an order.
 */
function aboutToAct(doing: NoticeDoing): NoticeDoing {
  if (doing.state !== 'observing' && doing.state !== 'asking') return doing;
  return {
    ...doing,
    state: 'watching',
    cause: 'ruleFiring',
    words: `${KIND_WORDS.watching}: what was held back goes out now, and no order is accepted yet`,
    next: 'Breakwater places the orders, priced anew',
  };
}

/** For people who expect to be asked. An alarm, since no question is open that a receiver could close. */
function unaskedNotice(settled: Settled, scene: ApprovalScene): Notice {
  const { question } = settled;
  const within = roughly(scene.account.rules.settings.approval?.withinMs ?? 0);
  return {
    ...settledNotice(settled, scene),
    kind: 'alarm',
    words: `${becauseOf(question, scene)}; it acts at once and nobody is asked: liquidation may come before an answer would (people have ${within} for one)`,
  };
}

function requestsOf(question: ApprovalQuestion, { active }: ApprovalScene): readonly ActionRequest[] {
  return active.filter((request) => stageKeyOf(request) === question.stageKey);
}

function becauseOf(question: ApprovalQuestion, scene: ApprovalScene): string {
  const [request] = requestsOf(question, scene);
  return request === undefined ? `rule ${partsOf(question).ruleId} fires` : presentWords(request, scene);
}

function about(question: ApprovalQuestion, scene: ApprovalScene): Omit<Notice, 'id' | 'words'> {
  const { account, nowMs } = scene;
  const { ruleId, subject, episode, stage } = partsOf(question);
  const rule = account.rules.byId.get(ruleId);
  const market = scene.marketOf(subject);
  const channels = requestsOf(question, scene).flatMap(({ action }) =>
    action.kind === 'notify' ? action.channels : [],
  );
  return {
    version: 1,
    key: noticeKeyOf(account.id, question),
    kind: 'approval',
    accountId: account.id,
    ruleId,
    subject,
    ...market,
    episode,
    stage,
    severity: rule?.spec.severity ?? 'critical',
    mode: 'approve',
    labels: scene.labels(ruleId),
    sinceMs: question.openedMs,
    atMs: nowMs,
    channels: [...new Set(channels)],
    cures: [],
    ...noticeFacts(scene.view(), { subject, ...market, kind: 'approval' }),
  };
}
