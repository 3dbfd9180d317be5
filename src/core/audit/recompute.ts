import { z } from 'zod';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import { type CompiledRules, compileRules } from '../rules/compiled-rules.ts';
import { evaluate } from '../rules/evaluate.ts';
import { marketLookup } from '../rules/filter.ts';
import type { RuleSpec } from '../rules/rule.ts';
import type { OutputOf } from '../schema/parts.ts';
import { canonicalJson, orderedJson } from '../text/canonical-json.ts';
import type { DecisionInputs, StoredDecision } from './audit-record.ts';

/** Source of the rules of a decision, stored with the decision. */
export interface RulesSource {
  readonly rules: readonly RuleSpec[];
  /** `withdrawalAllowList` is omitted: addresses are personal, and the snapshot holds what they decide. */
  readonly settings: Omit<AccountSettings, 'marketSettings' | 'withdrawalAllowList'>;
  /** By market or glob, in the order of the config. */
  readonly markets: Readonly<Record<string, MarketSettings>>;
}

export const differenceSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('different'),
    part: z.enum(['transitions', 'decisions', 'active']),
    recorded: z.string().describe('Canonical JSON of that part.'),
    computed: z.string().describe('The same, as its inputs give it.'),
  }),
  /** This program cannot evaluate the inputs. */
  z.strictObject({ kind: z.literal('impossible'), why: z.string() }),
]);

/** Compares an evaluation of the recorded inputs with the recorded result. */
export type Recomputed = { readonly kind: 'same' } | OutputOf<typeof differenceSchema>;

const PARTS = ['transitions', 'decisions', 'active'] as const;

/** Evaluates a decision's inputs again. `compiled` caches rules by source, since most decisions share them. */
export function recompute(
  recorded: StoredDecision,
  inputs: DecisionInputs,
  compiled: Map<string, CompiledRules> = new Map(),
): Recomputed {
  try {
    const evaluation = evaluate(inputs, rulesOf(inputs.rules, compiled));
    for (const part of PARTS) {
      const [was, is] = [canonicalJson(recorded[part]), canonicalJson(evaluation[part])];
      if (was !== is) return { kind: 'different', part, recorded: was, computed: is };
    }
    return { kind: 'same' };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { kind: 'impossible', why: error.message };
  }
}

function rulesOf(source: unknown, compiled: Map<string, CompiledRules>): CompiledRules {
  const text = orderedJson(source);
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const { rules, settings, markets } = source as RulesSource;
  const made = compileRules(rules, { ...settings, marketSettings: marketLookup(markets) });
  compiled.set(text, made);
  return made;
}
