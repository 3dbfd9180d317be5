import { z } from 'zod';
import { ALL_PERMISSIONS } from '../accounts.ts';
import { LEVERAGE, OWN_POSITION, SEED_ACCOUNT } from '../model/types.ts';
import { optional } from '../schemas.ts';
import type { SimulatedExchange } from '../simulated-exchange.ts';
import { invalid, marketOf, missing, routes } from './route.ts';

const MAY = z.boolean();
const PERMISSIONS = z.strictObject(optional({ creditLine: MAY, fiatDeposit: MAY, trading: MAY }));
const CHANGES = z.strictObject(
  optional({
    permissions: PERMISSIONS,
    nonceRule: z.enum(['unique', 'increasing']).nullable(),
    leverage: LEVERAGE,
  }),
);
const { market, ...WHICH } = OWN_POSITION.shape;
const CLOSE = z.strictObject({ market, ...optional(WHICH) });

export const ACCOUNT_ROUTES = routes({
  'GET /accounts': {
    doc: 'Every account with its key pair, permissions and nonce rule.',
    run: ({ exchange }) => exchange.accounts.list(),
  },
  'POST /accounts': {
    doc: 'A new account with balances and open positions; answers its key pair.',
    input: SEED_ACCOUNT.extend(optional({ permissions: PERMISSIONS })),
    example: {
      id: 'desk-9',
      collateral: { USDT: '10000' },
      positions: [{ market: 'BTC_PERP', direction: 'long', amount: '0.5' }],
    },
    run: ({ exchange, input: { permissions, ...seed } }) => {
      for (const position of seed.positions ?? []) marketOf(exchange, position.market);
      return exchange.createAccount(seed, { ...ALL_PERMISSIONS, ...permissions });
    },
  },
  'GET /accounts/:account': {
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
  },
  'PATCH /accounts/:account': {
    doc: 'Permissions, nonce rule (null: as the reading says) and leverage.',
    input: CHANGES,
    example: { permissions: { trading: false }, nonceRule: 'increasing', leverage: 5 },
    run: ({ exchange, account, input: { leverage, ...access } }) => {
      if (leverage !== undefined) exchange.change((model) => model.setLeverage(account, leverage));
      return exchange.accounts.change(account, access);
    },
  },
  'POST /accounts/:account/rotate-key': {
    doc: 'A new key pair; the old one is refused from now on.',
    run: ({ exchange, account }) => exchange.rotateKey(account),
  },
  'POST /accounts/:account/positions': {
    doc: 'The owner opens or grows a position at market, as far as the depth goes.',
    input: OWN_POSITION,
    example: { market: 'BTC_PERP', direction: 'short', amount: '0.2' },
    act: (model, { exchange, account, input: { market, direction, amount } }) => {
      const { hedgeMode } = model.account(account);
      return model.placeCollateralOrder(account, {
        market: marketOf(exchange, market),
        amount,
        side: direction === 'long' ? 'buy' : 'sell',
        ...(hedgeMode ? { positionSide: direction === 'long' ? 'LONG' : 'SHORT' } : {}),
      });
    },
  },
  'POST /accounts/:account/positions/close': {
    doc: 'The owner closes a position at market, all of it or an amount.',
    input: CLOSE,
    example: { market: 'BTC_PERP', amount: '0.1' },
    act: (model, { exchange, account, input }) => {
      const { market, direction, amount, positionSide } = positionToClose(exchange, account, input);
      return model.placeCollateralOrder(account, {
        market,
        side: direction === 'long' ? 'sell' : 'buy',
        amount: input.amount ?? amount,
        positionSide,
        reduceOnly: true,
      });
    },
  },
});

function positionToClose(exchange: SimulatedExchange, accountId: string, wanted: z.infer<typeof CLOSE>) {
  const { market, direction } = wanted;
  const open = exchange.model
    .openPositions(accountId, marketOf(exchange, market))
    .filter((position) => direction === undefined || position.direction === direction);
  const [only, another] = open;
  if (only === undefined) throw missing(`no such position in ${market}`);
  if (another !== undefined) {
    throw invalid(`two positions in ${market}: add "direction"`);
  }
  return only;
}
