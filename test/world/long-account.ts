import type { AccountSpec } from '../../src/world/spec.ts';

/** An account with a long position of 0.5 BTC; the less money it has, the nearer its liquidation. */
export function longAccount(usdt: string, changes: Partial<AccountSpec> = {}): AccountSpec {
  return {
    id: 'desk-1',
    collateral: { USDT: usdt },
    positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.500' }],
    ...changes,
  };
}
