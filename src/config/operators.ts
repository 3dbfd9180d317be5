import type { z } from 'zod';
import { slippage } from './acting.ts';
import { type Resolved, resolved, type SecretContext } from './secrets.ts';
import { complain } from './shape/read.ts';
import { secretRef } from './shape/references.ts';
import { section } from './shape/shape.ts';

export const operatorsSchema = section(
  {
    key: secretRef()
      .exactOptional()
      .describe(
        'A secret of at least 32 characters, the same for every daemon and command: orders, pauses and silences bear a seal made with it, and audit records are chained with it. What lacks the seal is not obeyed. Without it orders by hand are taken only from a Redis with a password.',
      ),
    maxSlippage: slippage().describe(
      'Orders by hand (`reduce`, `flatten`) with a larger slippage are refused, sealed or not.',
    ),
  },
  { maxSlippage: '5%' },
);

/** Without `key`, nothing is sealed. */
export type OperatorSettings = Resolved<z.output<typeof operatorsSchema>>;

const MIN_KEY_LENGTH = 32;

export function compileOperators(
  written: z.output<typeof operatorsSchema>,
  context: SecretContext,
): OperatorSettings {
  const operators = resolved(written, ['operators'], context);
  if (operators.key !== undefined && operators.key.reveal().length < MIN_KEY_LENGTH) {
    const message = `expected a key of at least ${MIN_KEY_LENGTH} characters, got a shorter one`;
    complain(context, ['operators', 'key'], 'wrong-value', message);
  }
  return operators;
}
