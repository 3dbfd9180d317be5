import { duration, oneOf } from './shape/scalars.ts';
import { overrides, renamed, section } from './shape/shape.ts';

const APPROVAL = {
  within: duration({ minMs: 5_000, maxMs: 3_600_000, bounds: 'from 5s to 1h' }).describe(
    'How long a rule in approve mode waits for an answer. It does not wait when liquidation may come sooner, or when no notice has reached anybody.',
  ),
  withoutAnswer: oneOf('act', 'hold').describe(
    'When nobody has answered in time: `act`, as if it had been approved; `hold`, do nothing until somebody approves, the position gets clearly worse (then people are asked again), or the exchange calls for margin (then it acts).',
  ),
} as const;

const NAMES = { within: 'withinMs' } as const;

export const approvalSchema = renamed(section(APPROVAL, { within: '1m', withoutAnswer: 'act' }), NAMES);
export const approvalOverrides = renamed(overrides(APPROVAL), NAMES);
