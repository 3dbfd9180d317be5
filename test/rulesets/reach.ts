import { known } from '../../src/core/quantities/quantity.ts';
import { compileRules } from '../../src/core/rules/compiled-rules.ts';
import type { RuleSpec } from '../../src/core/rules/rule.ts';
import { actionsOf } from '../../src/core/rules/rule-parts.ts';
import { marksOf } from '../../src/core/view/marks.ts';
import type { ConfigText } from '../../src/replay/run/plan.ts';
import { loadWorldConfig } from '../../src/world/config.ts';
import { candidateConfig } from './candidate-config.ts';
import type { Candidate } from './tune-case.ts';

type Action = RuleSpec['actions'][number];

/** The exchange calls for margin at 1.5 times maintenance, nearer than this: with 3 %, at 1.5 % of the price. */
const MARGIN_CALL_DISTANCE = 0.02;

/**
 * Where the rules of a config begin to close something, for an account with a single position; undefined: they may
 * act by something other than its distance or its liquidation state.
 * @throws WorldConfigError
 */
export function reachOf(base: ConfigText, candidate: Candidate): Candidate['reach'] {
  const { file, text } = base;
  const { accounts } = loadWorldConfig(candidateConfig(text, candidate), { file, accessOf: () => undefined });
  let [way, distance] = [1, 0];
  for (const { rules, settings } of accounts) {
    for (const spec of rules) {
      const actions = actionsOf(spec);
      const closing = actions.filter(({ kind }) => kind === 'reduce' || kind === 'cancelAll');
      for (const action of actions) way = Math.min(way, firstStop(action));
      if (closing.length === 0 || isForSeveral(spec)) continue;
      const only = compileRules([spec], settings).position;
      const marks = (['long', 'short'] as const).flatMap((side) =>
        marksOf(only, { market: '', direction: known(side) }),
      );
      const isByState = JSON.stringify(spec.when).includes('liquidationState');
      if (spec.on !== 'position' || (marks.length === 0 && !isByState)) return undefined;
      const distances = marks.filter(({ field, op }) => field === 'liquidationDistance' && op === 'below');
      // A condition that also requires a distance does not hold before that distance.
      const isBounded = distances.length === marks.length || (distances.length > 0 && isConjunction(spec));
      if (!isBounded) return undefined;
      distance = Math.max(
        distance,
        isByState ? MARGIN_CALL_DISTANCE : 0,
        ...distances.map(({ threshold }) => threshold),
      );
    }
  }
  return { way, distance };
}

function firstStop(action: Action): number {
  if (action.kind !== 'protect') return 1;
  return Math.min(action.at, ...(action.ladder ?? []).map(({ at }) => at));
}

function isConjunction({ when }: RuleSpec): boolean {
  return !/"(?:any|not)"/.test(JSON.stringify(when));
}

/** A rule for accounts with several positions never applies to an account with a single one. */
function isForSeveral({ on, when }: RuleSpec): boolean {
  return on === 'account' && JSON.stringify(when).includes('positionCount');
}
