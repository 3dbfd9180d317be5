import type { AskedQuestion } from '../../core/approvals/ask.ts';
import type { Settled } from '../../core/approvals/judge.ts';
import {
  latestOf,
  noticeIdOf,
  noticeKeyOf,
  partsOf,
  type Question,
  referenceOf,
  stageKeyOf,
} from '../../core/approvals/question.ts';
import { settledWords } from '../../core/approvals/words.ts';
import { isSilenced } from '../../core/controls/controls.ts';
import type { Notice } from '../../core/ports/notifier.ts';
import type { ActionRequest } from '../../core/rules/subject.ts';
import { noticeFacts } from '../../core/view/notice-facts.ts';
import type { AlertScene } from './alerts-due.ts';

export interface ApprovalScene extends Pick<AlertScene, 'account' | 'active' | 'inForce' | 'view' | 'nowMs'> {
  readonly asked: readonly AskedQuestion[];
  readonly settled: readonly Settled[];
  /** Of account and rule. */
  readonly labels: (ruleId: string) => Notice['labels'];
  readonly marketOf: (subject: string) => Pick<Notice, 'market'>;
}

/** What people are asked, and what became of what they had been asked. */
export function approvalNotices(scene: ApprovalScene): readonly Notice[] {
  const asked = scene.asked.map(({ question, revision, orders }): Notice => {
    const { settings } = scene.account.rules;
    return {
      ...about(question, scene),
      id: noticeIdOf(scene.account.id, question, revision),
      words: `${becauseOf(question, scene)}; a person is asked before it acts`,
      approval: {
        reference: referenceOf(question, revision),
        untilMs: question.untilMs,
        withoutAnswer: settings.approval?.withoutAnswer ?? 'act',
        orders,
      },
    };
  });
  const settled = scene.settled
    .filter(({ question }) => question.askedMs !== undefined)
    .map(({ question, by }): Notice => {
      const revision = latestOf(question)?.revision ?? 0;
      const id = JSON.stringify([noticeKeyOf(scene.account.id, question), revision, by]);
      return { ...about(question, scene), id, words: settledWords(question, by) };
    });
  return [...asked, ...settled].filter(({ ruleId, subject }) => !isSilenced(scene.inForce, ruleId, subject));
}

function requestsOf(question: Question, { active }: ApprovalScene): readonly ActionRequest[] {
  return active.filter((request) => stageKeyOf(request) === question.stageKey);
}

function becauseOf(question: Question, scene: ApprovalScene): string {
  const [request] = requestsOf(question, scene);
  return request?.because ?? `rule ${partsOf(question).ruleId} fires`;
}

function about(question: Question, scene: ApprovalScene): Omit<Notice, 'id' | 'words'> {
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
    ...noticeFacts(scene.view(), { subject, ...market }),
  };
}
