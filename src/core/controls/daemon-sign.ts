import { slippageFault } from './controls.ts';

/** What a running daemon says of itself in Redis, for commands that ask something of it. */
export interface DaemonSign {
  /** It takes orders by hand: it has the role `poll`. */
  readonly takesOrders: boolean;
  /** Tells which `operators.key` it has, and nothing of the key; null: it has none. */
  readonly keyMark: string | null;
  /** Its Redis asks for a password, as far as it knows. */
  readonly isGuarded: boolean;
  /** `operators.maxSlippage`. */
  readonly maxSlippage: number;
}

/** What a daemon looks at before it carries an order by hand out. */
export interface OrderClaim {
  /** Of the key that sealed it; null: it has no seal. */
  readonly keyMark: string | null;
  readonly slippageSteps: readonly number[];
  /** It only holds back: believed without a key, whoever can write to Redis. */
  readonly holdsBack?: boolean;
}

export type Expectation =
  | { readonly kind: 'taken' }
  /** No daemon says that it runs. */
  | { readonly kind: 'nobody' }
  /** By every daemon that runs. */
  | { readonly kind: 'refused'; readonly why: string }
  /** By one of several. */
  | { readonly kind: 'unsure'; readonly why: string };

/** What the daemons that run now will do with an order by hand. */
export function expectationOf(signs: readonly DaemonSign[], claim: OrderClaim): Expectation {
  return expectationOfAll(
    signs.filter(({ takesOrders }) => takesOrders),
    (sign) => faultOf(sign, claim),
  );
}

/** What they will do with a pause, a silence or an acknowledgement. */
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
