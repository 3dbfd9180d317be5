import { z } from 'zod';
import type { OutputOf } from '../schema/parts.ts';
import { slippageFault } from './controls.ts';

/**
 * Facts that a running daemon publishes in Redis, for commands that send it operator orders. Validated when read: others
 * may have written them.
 */
export const daemonSign = z.object({
  /** It has the role `poll`. */
  takesOrders: z.boolean(),
  /** Sends requests: it has the role `act`, or `poll`, which may start lanes; absent in older versions. */
  acts: z.boolean().optional(),
  /** Identifies its `operators.key` without revealing it; null: it has none. */
  keyMark: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .nullable(),
  /** Its Redis requires a password, as far as the daemon knows. */
  isGuarded: z.boolean(),
  /** `operators.maxSlippage`. */
  maxSlippage: z.number().min(0).max(1),
  /** Fingerprints of some API keys; absent in older versions, as is `config`. */
  apiKeys: z.array(z.string().max(16)).max(8).optional(),
  /** SHA-256 of its config file. */
  config: z.string().max(64).optional(),
  host: z.string().max(255).optional(),
  /** Identifies the pauses, silences and acknowledgements that it obeys; absent: it could not read them. */
  obeys: z.string().max(64).optional(),
});
export type DaemonSign = OutputOf<typeof daemonSign>;

export const FOREIGN =
  'another installation, with other API keys, runs on this Redis and prefix: give each its own redis.prefix. If all keys of one were changed at once, end its processes with the old keys, or give all of them the same operators.key';

/** What is wrong between daemons on the same Redis and prefix, in words. Of one installation: a key in common, or no key. */
export function companyFault(own: DaemonSign, others: readonly DaemonSign[]): string | undefined {
  const { apiKeys: ownKeys = [] } = own;
  const isForeign = ({ keyMark, apiKeys = [] }: DaemonSign): boolean =>
    (keyMark === null || keyMark !== own.keyMark) &&
    Math.min(apiKeys.length, ownKeys.length) > 0 &&
    !apiKeys.some((apiKey) => ownKeys.includes(apiKey));
  if (others.some(isForeign)) return FOREIGN;
  const other = others.find(({ config = own.config }) => config !== own.config)?.config;
  return other === undefined
    ? undefined
    : `processes on this Redis and prefix have different configs (SHA-256 ${own.config?.slice(0, 12)} here, ${other.slice(0, 12)} elsewhere): what a rule does depends on who polls. Give them the same file`;
}

export type Expectation =
  | { readonly kind: 'taken' }
  /** No daemon is running. */
  | { readonly kind: 'nobody' }
  /** Refused by every running daemon. */
  | { readonly kind: 'refused'; readonly why: string }
  /** Refused by some of several daemons. */
  | { readonly kind: 'unsure'; readonly why: string };

/** Predicts what the daemons that run will do with an operator order made and sealed by `own`. */
export function expectationOf(
  own: DaemonSign,
  others: readonly DaemonSign[],
  slippageSteps: readonly number[],
): Expectation {
  const takers = [own, ...others].filter(({ takesOrders }) => takesOrders);
  // Where none runs, one is started with the config of this process.
  const judges = takers.length === 0 ? [own] : takers;
  const faults = judges.flatMap((sign) => faultOf(sign, own, slippageSteps) ?? []);
  const [why] = faults;
  if (why === undefined) return { kind: takers.length === 0 ? 'nobody' : 'taken' };
  return { kind: faults.length === judges.length ? 'refused' : 'unsure', why };
}

function faultOf(
  { keyMark, isGuarded, maxSlippage }: DaemonSign,
  own: DaemonSign,
  slippageSteps: readonly number[],
): string | undefined {
  if (keyMark !== null && keyMark !== own.keyMark)
    return 'another daemon has another operators.key than the one that is asked, or only it has one';
  if (keyMark === null && !isGuarded) return 'Redis asks for no password, and a daemon has no operators.key';
  return slippageFault(slippageSteps, maxSlippage);
}
