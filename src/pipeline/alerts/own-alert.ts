import { isEveryPoll } from '../../core/fields/field-catalogue.ts';
import { AccountQuantities } from '../../core/quantities/account.ts';
import type { CompiledRules } from '../../core/rules/compiled-rules.ts';
import { OWN_RULES } from '../../core/rules/own-rules.ts';
import { actionsOf, comparisonsOf } from '../../core/rules/rule-parts.ts';
import type { ActionRequest } from '../../core/rules/subject.ts';
import { causeOfFailure, failureWords, isInPart } from '../../core/view/blindness.ts';
import { causeWords } from '../../core/view/state-line.ts';
import type { ReadFailure } from '../../core/view/stored-figures.ts';
import type { AlertScene } from './alert-scene.ts';

/** People are told that an account cannot be judged when its data are this old. */
const TOLD_AFTER_MS = 30_000;

type OwnScene = Pick<AlertScene, 'account' | 'snapshot' | 'failures' | 'nowMs'>;

/** An episode that was already reported. */
interface ToldBefore {
  readonly key: string;
  readonly sinceMs: number;
}

/**
 * The built-in alert that rules cannot be judged: nobody may rely on protection that does not see. A rule of the
 * account that reports old data (`dataAge`) replaces that of data that are too old.
 */
export function ownAlert(
  { account, snapshot, failures: all, nowMs }: OwnScene,
  told: ToldBefore | undefined,
): readonly [key: string, ActionRequest] | undefined {
  const failures = tellsOfOldData(account.rules) ? all.filter(isInPart) : all;
  if (failures.length === 0) return undefined;
  const { settings } = account.rules;
  const quantities = new AccountQuantities(snapshot, settings, snapshot.at);
  const ageMs = (one: ReadFailure): number => {
    if (isInPart(one)) return nowMs - one.sinceMs;
    const age = quantities.dataAge(one.source);
    return age.kind === 'value' ? age.value * 1000 : 0;
  };
  // Sources that are read seldom are always old.
  const lastedMs = (one: ReadFailure): number =>
    isEveryPoll(one.source) ? ageMs(one) : Math.min(ageMs(one), nowMs - one.sinceMs);
  const [failure] = failures.toSorted((a, b) => lastedMs(b) - lastedMs(a));
  if (failure === undefined) return undefined;
  // One outage is one episode, even if the exchange's error changes.
  if (told === undefined && lastedMs(failure) < TOLD_AFTER_MS) return undefined;
  const atMs = told?.sinceMs ?? nowMs;
  const seconds = Math.round(ageMs(failure) / 1000);
  const parts = failures.filter(isInPart).map(({ words }) => words);
  const because = isInPart(failure)
    ? `not every rule can be judged: ${parts.join('; ')}`
    : `no rule can be judged: nothing could be read for ${seconds} s, ${causeWords(causeOfFailure(failure))} (${failureWords(failure)})`;
  return [
    told?.key ?? `${OWN_RULES.blind}@${nowMs}`,
    {
      accountId: account.id,
      ruleId: OWN_RULES.blind,
      ruleChecksum: '',
      subjectKind: 'account',
      subject: 'account',
      episode: 0,
      stage: 0,
      actionIndex: 0,
      action: { kind: 'notify', channels: [], cure: [] },
      mode: settings.mode,
      severity: 'critical',
      atMs,
      because,
      exemptFromLimits: false,
    },
  ];
}

function tellsOfOldData({ account }: CompiledRules): boolean {
  return account.rules.some(
    ({ spec }) =>
      actionsOf(spec).some(({ kind }) => kind === 'notify') &&
      [...comparisonsOf(spec.when)].some(({ field }) => field === 'dataAge'),
  );
}
