import { slippageFault } from './controls.ts';

/** Facts that a running daemon publishes in Redis, for commands that send it operator orders. */
export interface DaemonSign {
  /** Takes operator orders: it has the role `poll`. */
  readonly takesOrders: boolean;
  /** Identifies its `operators.key` without revealing it; null: it has none. */
  readonly keyMark: string | null;
  /** Its Redis requires a password, as far as the daemon knows. */
  readonly isGuarded: boolean;
  /** `operators.maxSlippage`. */
  readonly maxSlippage: number;
  /** Fingerprints of some API keys; absent in older versions, as is `config`. */
  readonly apiKeys?: readonly string[] | undefined;
  /** SHA-256 of its config file. */
  readonly config?: string | undefined;
}

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

/** The parts of an operator order that decide whether a daemon accepts it. */
export interface OrderClaim {
  /** Mark of the key that sealed it; null: not sealed. */
  readonly keyMark: string | null;
  readonly slippageSteps: readonly number[];
  /** It only holds back: accepted without a key even from a Redis without a password. */
  readonly holdsBack?: boolean;
}

export type Expectation =
  | { readonly kind: 'taken' }
  /** No daemon is running. */
  | { readonly kind: 'nobody' }
  /** Refused by every running daemon. */
  | { readonly kind: 'refused'; readonly why: string }
  /** Refused by some of several daemons. */
  | { readonly kind: 'unsure'; readonly why: string };

/** Predicts what the running daemons will do with an operator order. */
export function expectationOf(signs: readonly DaemonSign[], claim: OrderClaim): Expectation {
  return expectationOfAll(
    signs.filter(({ takesOrders }) => takesOrders),
    (sign) => faultOf(sign, claim),
  );
}

/** Predicts what the running daemons will do with a pause, a silence or an acknowledgement. */
export function obedienceOf(signs: readonly DaemonSign[], keyMark: string | null): Expectation {
  return expectationOfAll(signs, (sign) => keyFault(sign, keyMark));
}

function expectationOfAll(
  takers: readonly DaemonSign[],
  faultIn: (sign: DaemonSign) => string | undefined,
): Expectation {
  const faults = takers.flatMap((sign) => faultIn(sign) ?? []);
  const [why] = faults;
  if (takers.length === 0) return { kind: 'nobody' };
  if (why === undefined) return { kind: 'taken' };
  return { kind: faults.length === takers.length ? 'refused' : 'unsure', why };
}

function keyFault({ keyMark }: DaemonSign, own: string | null): string | undefined {
  if (keyMark === null || keyMark === own) return undefined;
  return own === null
    ? 'the daemon takes only what is sealed with its operators.key, and this command has no key'
    : 'the daemon has another operators.key than this command: it was started with another config';
}

function faultOf(sign: DaemonSign, claim: OrderClaim): string | undefined {
  const { keyMark, isGuarded, maxSlippage } = sign;
  const fault = keyFault(sign, claim.keyMark);
  if (fault !== undefined) return fault;
  if (keyMark === null && !isGuarded && claim.holdsBack !== true) {
    return claim.keyMark === null
      ? 'Redis asks for no password, and the config has no operators.key'
      : 'the daemon was started before operators.key was in its config, and Redis asks for no password';
  }
  return slippageFault(claim.slippageSteps, maxSlippage);
}
