import type { MeasuredSet, PositionSetName } from './fitting-set.ts';

/** Made by `npm run generate` from the measurement in docs/rule-sets.md: do not change it here. */
export const MEASURED_SETS: Readonly<Record<PositionSetName, MeasuredSet>> = {
  conservative: {
    prevented: 0,
    doomed: 0,
    kept: null,
    without: null,
    givenUp: 0.011,
    falseActions: 16,
  },
  balanced: {
    prevented: 18,
    doomed: 18,
    kept: 0.647,
    without: 0.192,
    givenUp: 0.014,
    falseActions: 58.8,
  },
  'last-resort': {
    prevented: 18,
    doomed: 18,
    kept: 0.611,
    without: 0.192,
    givenUp: 0.019,
    falseActions: 16,
  },
};
