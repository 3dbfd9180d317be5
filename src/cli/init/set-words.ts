import { type ProposedSet, percentInWords } from '../../app.ts';

/** Measured results of a rule set, in sentences. */
export function measuredWords({ mostLeverage, measured }: ProposedSet): string {
  const { prevented, doomed, kept, without, givenUp, falseActions } = measured;
  const saved =
    doomed === 0
      ? 'none was liquidated without rules'
      : `it kept ${prevented} of ${doomed} from being liquidated${keptWords(kept, without)}`;
  const price = [
    ...(givenUp === null
      ? []
      : [`it took ${percentInWords(givenUp)} from those that come through by themselves`]),
    ...(falseActions === null
      ? []
      : [`it acted without need ${falseActions} times in 1,000 days of a position`]),
  ];
  return `Measured on accounts of up to ${mostLeverage}x in real crashes and quiet markets (docs/rule-sets.md): ${[saved, ...price].join('; ')}.`;
}

function keptWords(kept: number | null, without: number | null): string {
  if (kept === null || without === null) return '';
  return `, which left them ${percentInWords(kept)} of their money instead of ${percentInWords(without)}`;
}
