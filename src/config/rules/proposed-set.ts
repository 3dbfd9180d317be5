import type { ConfigSurroundings } from '../surroundings.ts';
import { MADE_FOR_LEVERAGE, type MeasuredSet, type PositionSetName } from './fitting-set.ts';
import { MEASURED_SETS } from './measured-sets.ts';
import { readRuleSet } from './rule-sets.ts';

/** A shipped rule set with its maximum leverage and measured results. */
export interface ProposedSet {
  readonly name: PositionSetName;
  /** One sentence for people. */
  readonly summary: string;
  readonly mostLeverage: number;
  readonly measured: MeasuredSet;
}

export function proposedSet(name: PositionSetName, surroundings: ConfigSurroundings): ProposedSet {
  const { summary } = readRuleSet(name, surroundings, () => undefined);
  return { name, summary, mostLeverage: MADE_FOR_LEVERAGE[name], measured: MEASURED_SETS[name] };
}
