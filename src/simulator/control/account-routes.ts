import { z } from 'zod';
import { ALL_PERMISSIONS } from '../accounts.ts';
import { LEVERAGE, OWN_POSITION, SEED_ACCOUNT } from '../model/types.ts';
import type { PositionSheet } from '../model/views.ts';
import { positiveDecimal } from '../schemas.ts';
import { type SimulatedExchange, SimulatorError } from '../simulated-exchange.ts';
import { type ControlRoute, marketOf, route } from './route.ts';

const PERMISSION = z.boolean().exactOptional();
const PERMISSIONS = z
  .strictObject({ creditLine: PERMISSION, fiatDeposit: PERMISSION, trading: PERMISSION })
  .exactOptional();

const CLOSE = OWN_POSITION.extend({
  direction: OWN_POSITION.shape.direction.exactOptional(),
  amount: positiveDecimal.exactOptional(),
});

const CHANGES = z.strictObject({
  permissions: PERMISSIONS,
  nonceRule: z.enum(['unique', 'increasing']).nullable().exactOptional(),
  leverage: LEVERAGE.exactOptional(),
});

/** The accounts of the exchange, their keys, and their positions as their owners trade them. */
export const ACCOUNT_ROUTES: readonly ControlRoute[] = [
  route({
    endpoint: 'GET /accounts',
    doc: 'Every account with its key pair, permissions and nonce rule.',
    run: ({ exchange }) => exchange.accounts.list(),
  }),
  route({
    endpoint: 'POST /accounts',
    doc: 'A new account with balances and open positions; answers its key pair.',
    input: SEED_ACCOUNT.extend({ permissions: PERMISSIONS }),
    example: {
      id: 'desk-9',
      collateral: { USDT: '10000' },
      positions: [{ market: 'BTC_PERP', direction: 'long', amount: '0.5' }],
    },
    run: ({ exchange, input: { permissions, ...seed } }) => {
      for (const position of seed.positions ?? []) marketOf(exchange, position.market);
      return exchange.createAccount(seed, { ...ALL_PERMISSIONS, ...permissions });
    },
  }),
  route({
    endpoint: 'GET /accounts/:account',
    doc: 'One account: balances, equity, margin, positions, open orders, loans.',
    run: ({ exchange, account }) => {
      exchange.catchUp();
      return {
        ...exchange.model.account(account),
        access: exchange.accounts.access(account),
        positions: exchange.model.openPositions(account),
        openOrders: exchange.model.openOrders(account),
        creditLines: exchange.model.creditLines(account),
      };
    },
  }),
  route({
    endpoint: 'PATCH /accounts/:account',
    doc: 'Permissions, nonce rule (null: as the reading says) and leverage.',
    input: CHANGES,
    example: { permissions: { trading: false }, nonceRule: 'increasing', leverage: 5 },
    run: ({ exchange, account, input: { leverage, ...access } }) => {
      if (leverage !== undefined) exchange.change((model) => model.setLeverage(account, leverage));
      return exchange.accounts.change(account, access);
    },
  }),
  route({
    endpoint: 'POST /accounts/:account/rotate-key',
    doc: 'A new key pair; the old one is refused from now on.',
    run: ({ exchange, account }) => exchange.rotateKey(account),
  }),
  route({
    endpoint: 'POST /accounts/:account/positions',
    doc: 'The owner opens or grows a position at market, as far as the depth goes.',
    input: OWN_POSITION,
    example: { market: 'BTC_PERP', direction: 'short', amount: '0.2' },
    run: ({ exchange, account, input: { market, direction, amount }, change }) => {
      marketOf(exchange, market);
      const { hedgeMode } = exchange.model.account(account);
      return change((model) =>
        model.placeCollateralOrder(account, {
          market,
          amount,
          side: direction === 'long' ? 'buy' : 'sell',
          ...(hedgeMode ? { positionSide: direction === 'long' ? 'LONG' : 'SHORT' } : {}),
        }),
      );
    },
  }),
  route({
    endpoint: 'POST /accounts/:account/positions/close',
    doc: 'The owner closes a position at market, all of it or an amount.',
    input: CLOSE,
    example: { market: 'BTC_PERP', amount: '0.1' },
    run: ({ exchange, account, input, change }) => {
      exchange.catchUp();
      const position = positionToClose(exchange, account, input);
      return change((model) =>
        model.placeCollateralOrder(account, {
          market: position.market,
          side: position.direction === 'long' ? 'sell' : 'buy',
          amount: input.amount ?? position.amount,
          positionSide: position.positionSide,
          reduceOnly: true,
        }),
      );
    },
  }),
];

function positionToClose(
  exchange: SimulatedExchange,
  accountId: string,
  { market, direction }: z.infer<typeof CLOSE>,
): PositionSheet {
  const open = exchange.model
    .openPositions(accountId, marketOf(exchange, market))
    .filter((position) => direction === undefined || position.direction === direction);
  const [only, another] = open;
  if (only === undefined) throw new SimulatorError('not-found', `no such position in ${market}`);
  if (another !== undefined) {
    throw new SimulatorError('invalid-input', `two positions in ${market}: add "direction"`);
  }
  return only;
}
