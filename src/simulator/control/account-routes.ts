import { z } from 'zod';
import type { KeyPermissions } from '../http/dispatch.ts';
import type { PositionSheet, SeedAccount } from '../model/types.ts';
import { type SimulatedExchange, SimulatorError } from '../simulated-exchange.ts';
import { accepted, accountIdOf, type ControlRoute, marketOf, parseWith, positiveDecimal } from './route.ts';

const AMOUNTS = z.record(z.string(), positiveDecimal);
const PERMISSIONS = z.strictObject({
  creditLine: z.boolean().optional(),
  fiatDeposit: z.boolean().optional(),
  trading: z.boolean().optional(),
});
const LEVERAGE = z.number().int().min(1).max(100);

const NEW_ACCOUNT = z.strictObject({
  id: z.string(),
  hedgeMode: z.boolean().default(false),
  leverage: LEVERAGE.default(10),
  collateral: AMOUNTS,
  main: AMOUNTS.optional(),
  spot: AMOUNTS.optional(),
  positions: z
    .array(
      z.strictObject({
        market: z.string(),
        direction: z.enum(['long', 'short']),
        amount: positiveDecimal,
        basePrice: positiveDecimal.optional(),
      }),
    )
    .optional(),
  permissions: PERMISSIONS.optional(),
});

const CHANGES = z.strictObject({
  permissions: PERMISSIONS.optional(),
  nonceRule: z.enum(['unique', 'increasing']).nullable().optional(),
  leverage: LEVERAGE.optional(),
});

const OPEN = z.strictObject({
  market: z.string(),
  direction: z.enum(['long', 'short']),
  amount: positiveDecimal,
});
const CLOSE = z.strictObject({
  market: z.string(),
  direction: z.enum(['long', 'short']).optional(),
  amount: positiveDecimal.optional(),
});

/** The accounts of the exchange, their keys, and their positions as their owners trade them. */
export function accountRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [...keyRoutes(exchange), ...positionRoutes(exchange)];
}

function keyRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [
    {
      method: 'GET',
      path: '/accounts',
      doc: 'Every account with its key pair, permissions and nonce rule.',
      run: () => exchange.accounts.list(),
    },
    {
      method: 'POST',
      path: '/accounts',
      doc: 'A new account with balances and open positions; answers its key pair.',
      example: {
        id: 'desk-9',
        collateral: { USDT: '10000' },
        positions: [{ market: 'BTC_PERP', direction: 'long', amount: '0.5' }],
      },
      run: ({ body }) => {
        const { permissions, ...seed } = parseWith(NEW_ACCOUNT, body, 'body');
        for (const position of seed.positions ?? []) marketOf(exchange, position.market);
        return exchange.createAccount(seed as SeedAccount, withDefaults(permissions));
      },
    },
    {
      method: 'GET',
      path: '/accounts/:account',
      doc: 'One account: balances, equity, margin, positions, open orders, loans.',
      run: (request) => {
        const id = accountIdOf(exchange, request);
        exchange.catchUp();
        return {
          ...exchange.model.account(id),
          access: exchange.accounts.access(id),
          positions: exchange.model.openPositions(id),
          openOrders: exchange.model.openOrders(id),
          creditLines: exchange.model.creditLines(id),
        };
      },
    },
    {
      method: 'PATCH',
      path: '/accounts/:account',
      doc: 'Permissions, nonce rule (null: as the reading says) and leverage.',
      example: { permissions: { trading: false }, nonceRule: 'increasing', leverage: 5 },
      run: (request) => {
        const id = accountIdOf(exchange, request);
        const { leverage, ...access } = parseWith(CHANGES, request.body, 'body');
        if (leverage !== undefined) exchange.change((model) => model.setLeverage(id, leverage));
        return exchange.accounts.change(id, access);
      },
    },
    {
      method: 'POST',
      path: '/accounts/:account/rotate-key',
      doc: 'A new key pair; the old one is refused from now on.',
      run: (request) => exchange.rotateKey(accountIdOf(exchange, request)),
    },
  ];
}

function withDefaults(permissions: z.infer<typeof PERMISSIONS> | undefined): KeyPermissions {
  const { creditLine = true, fiatDeposit = true, trading = true } = permissions ?? {};
  return { creditLine, fiatDeposit, trading };
}

function positionRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [
    {
      method: 'POST',
      path: '/accounts/:account/positions',
      doc: 'The owner opens or grows a position at market, as far as the depth goes.',
      example: { market: 'BTC_PERP', direction: 'short', amount: '0.2' },
      run: (request) => {
        const id = accountIdOf(exchange, request);
        const { market, direction, amount } = parseWith(OPEN, request.body, 'body');
        marketOf(exchange, market);
        const { hedgeMode } = exchange.model.account(id);
        return exchange.change((model) =>
          accepted(
            model.placeCollateralLimit(id, {
              market,
              amount,
              side: direction === 'long' ? 'buy' : 'sell',
              ...(hedgeMode ? { positionSide: direction === 'long' ? 'LONG' : 'SHORT' } : {}),
            }),
          ),
        );
      },
    },
    {
      method: 'POST',
      path: '/accounts/:account/positions/close',
      doc: 'The owner closes a position at market, all of it or an amount.',
      example: { market: 'BTC_PERP', amount: '0.1' },
      run: (request) => {
        const id = accountIdOf(exchange, request);
        const close = parseWith(CLOSE, request.body, 'body');
        exchange.catchUp();
        const position = positionToClose(exchange, id, close);
        return exchange.change((model) =>
          accepted(
            model.placeCollateralLimit(id, {
              market: position.market,
              side: position.direction === 'long' ? 'sell' : 'buy',
              amount: close.amount ?? position.amount,
              positionSide: position.positionSide,
              reduceOnly: true,
            }),
          ),
        );
      },
    },
  ];
}

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
