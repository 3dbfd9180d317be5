import { type Decimal, ZERO } from '../../core/quantities/decimal.ts';
import { BOOKS, type Leg, transfer } from './ledger.ts';
import { assetRate, freeMargin, marginSums, weight } from './margin.ts';
import { availableSpot } from './placement.ts';
import { CODES, invalid, reject } from './rejection.ts';
import { type Account, type ExchangeState, record, type Transfer } from './state.ts';
import type {
  AssetSpec,
  DepositLinkRequest,
  IssuedDepositLink,
  Outcome,
  TransferRequest,
  TransferView,
  WalletMove,
} from './types.ts';

/** Status codes of the live notes that the model sets by itself. */
const STATUS = { success: 3, depositPending: 15, withdrawalPending: 1, withdrawalPartial: 18 } as const;
const CREDITED: ReadonlySet<number> = new Set([3, 7]);
const GIVEN_BACK: ReadonlySet<number> = new Set([4, 9]);

type Moved = Outcome<{ readonly transfer: TransferView }>;

export function transferView(world: ExchangeState, item: Transfer): TransferView {
  const { requiredConfirmations: required, settleMs, ...rest } = item;
  const span = settleMs - item.createdMs;
  const elapsed = Math.min(span, world.nowMs - item.createdMs);
  const actual = span === 0 ? required : Math.floor((required * elapsed) / span);
  return { ...rest, confirmations: { actual, required } };
}

function assetOf(
  world: ExchangeState,
  { ticker, amount }: { readonly ticker: string; readonly amount: Decimal },
): Outcome<AssetSpec> {
  const asset = world.assets.get(ticker);
  if (asset === undefined) return invalid('ticker', 'The selected ticker is invalid');
  if (amount.lte(ZERO)) return invalid('amount', 'amount must be greater than 0');
  return { ok: true, ...asset };
}

function createTransfer(
  world: ExchangeState,
  asset: AssetSpec,
  request: TransferRequest & Pick<Transfer, 'accountId' | 'method'>,
): Transfer {
  const { accountId, method } = request;
  const { random } = world;
  const isCoin = !asset.fiat;
  return {
    transactionId: [8, 4, 4, 4, 12].map((length) => random.hex(length)).join('-'),
    accountId,
    method,
    address: request.address ?? (isCoin ? `0x${random.hex(40)}` : ''),
    uniqueId: request.uniqueId ?? null,
    createdMs: world.nowMs,
    currency: asset.name,
    ticker: asset.ticker,
    amount: request.amount,
    description: request.description ?? '',
    memo: request.memo ?? '',
    fee: method === 'deposit' ? asset.depositFee : asset.withdrawalFee,
    status: method === 'deposit' ? STATUS.depositPending : STATUS.withdrawalPending,
    network: request.network ?? asset.networks[0] ?? null,
    transactionHash: isCoin ? `0x${random.hex(64)}` : '',
    partial: null,
    requiredConfirmations: isCoin ? asset.confirmationsRequired : 0,
    settleMs: world.nowMs + (request.settleAfterMs ?? 0),
  };
}

function settleLater(world: ExchangeState, item: Transfer, run: () => void): void {
  if (item.settleMs === world.nowMs) run();
  else world.agenda.schedule(item.settleMs, run);
}

function write(world: ExchangeState, item: Transfer, legs: readonly Leg[]): void {
  const { accountId, method, amount, fee, transactionId, ticker, status } = item;
  record(world, method, { accountId, amount, fee, details: { transactionId, ticker, status } }, legs);
}

export function makeDeposit(world: ExchangeState, account: Account, request: TransferRequest): Moved {
  const asset = assetOf(world, request);
  if (!asset.ok) return asset;
  const item = createTransfer(world, asset, { ...request, accountId: account.id, method: 'deposit' });
  if (item.fee.gt(item.amount)) item.fee = item.amount;
  account.transfers.push(item);
  write(world, item, []);
  settleLater(world, item, () => {
    item.status = request.finalStatus ?? STATUS.success;
    const main = `main:${account.id}`;
    const legs = [
      ...transfer(BOOKS.outside, main, item.ticker, item.amount),
      ...transfer(main, BOOKS.fees, item.ticker, item.fee),
    ];
    write(world, item, CREDITED.has(item.status) ? legs : []);
  });
  return { ok: true, transfer: transferView(world, item) };
}

export function makeWithdrawal(world: ExchangeState, account: Account, request: TransferRequest): Moved {
  const asset = assetOf(world, request);
  if (!asset.ok) return asset;
  const processed = request.processedAmount ?? request.amount;
  if (processed.lt(ZERO) || processed.gt(request.amount))
    return invalid('processedAmount', 'must be between 0 and amount');
  const main = `main:${account.id}`;
  const held = request.amount.plus(asset.withdrawalFee);
  if (held.gt(world.ledger.balance(main, asset.ticker)))
    return reject(CODES.noBalance, 'amount', 'Not enough balance');
  const item = createTransfer(world, asset, { ...request, accountId: account.id, method: 'withdrawal' });
  const transit = `transit:${item.transactionId}`;
  account.transfers.push(item);
  write(world, item, transfer(main, transit, item.ticker, held));
  settleLater(world, item, () => finishWithdrawal(world, item, request, processed));
  return { ok: true, transfer: transferView(world, item) };
}

function finishWithdrawal(
  world: ExchangeState,
  item: Transfer,
  request: TransferRequest,
  processed: Decimal,
): void {
  const partly = processed.lt(item.amount);
  item.status = request.finalStatus ?? (partly ? STATUS.withdrawalPartial : STATUS.success);
  const main = `main:${item.accountId}`;
  const transit = `transit:${item.transactionId}`;
  const sent = CREDITED.has(item.status) || item.status === STATUS.withdrawalPartial;
  if (sent && partly) {
    item.partial = {
      requestAmount: item.amount,
      processedAmount: processed,
      processedFee: item.fee,
      normalizeTransaction: item.transactionHash,
    };
  }
  const sentLegs = [
    ...transfer(transit, BOOKS.outside, item.ticker, processed),
    ...transfer(transit, BOOKS.fees, item.ticker, item.fee),
    ...transfer(transit, main, item.ticker, item.amount.minus(processed)),
  ];
  const backLegs = transfer(transit, main, item.ticker, item.amount.plus(item.fee));
  write(world, item, sent ? sentLegs : GIVEN_BACK.has(item.status) ? backLegs : []);
}

/** Whether the wallet has the amount to spare: open orders and positions must keep what they need. */
function canGive(world: ExchangeState, account: Account, { from, ticker, amount }: WalletMove): boolean {
  if (amount.gt(world.ledger.balance(`${from}:${account.id}`, ticker))) return false;
  if (from === 'main') return true;
  if (from === 'spot') return amount.lte(availableSpot(world, account, ticker));
  const { equity } = marginSums(world, account.unit);
  const value = amount.times(weight(world, ticker, amount)).times(assetRate(world, ticker));
  return value.lte(freeMargin(world, account, equity));
}

export function moveBetweenWallets(
  world: ExchangeState,
  account: Account,
  move: WalletMove,
): Outcome<{ readonly balance: Decimal }> {
  const { from, to, ticker, amount } = move;
  const asset = assetOf(world, move);
  if (!asset.ok) return asset;
  if (!canGive(world, account, move)) return reject(CODES.noBalance, 'amount', 'Not enough balance');
  record(
    world,
    'internal_transfer',
    { accountId: account.id, amount, details: { from, to, ticker } },
    transfer(`${from}:${account.id}`, `${to}:${account.id}`, ticker, amount),
  );
  world.dirtyUnits.add(account.unit);
  return { ok: true, balance: world.ledger.balance(`${to}:${account.id}`, ticker) };
}

/** Specification 4.1, the checks that need state. A unique id is taken for good, across all accounts. */
export function makeFiatDeposit(
  world: ExchangeState,
  account: Account,
  request: DepositLinkRequest,
): Outcome<{ readonly link: IssuedDepositLink }> {
  const asset = world.assets.get(request.ticker);
  if (asset === undefined || !asset.fiat || !asset.canDeposit)
    return invalid('ticker', 'The selected ticker is invalid');
  if (!asset.providers.includes(request.provider)) {
    const known = [...world.assets.values()].some(({ providers }) => providers.includes(request.provider));
    const text = known ? 'There is no such currency for the provider' : 'The selected provider is invalid';
    return invalid('provider', text);
  }
  if (request.amount.lt(asset.minDeposit) || request.amount.lte(ZERO))
    return invalid('amount', 'Amount is too little for deposit');
  if ([...world.fiatDeposits.values()].some(({ uniqueId }) => uniqueId === request.uniqueId))
    return invalid('uniqueId', 'The unique id has already been taken');
  const link: IssuedDepositLink = {
    ...request,
    token: world.random.hex(32),
    accountId: account.id,
    createdMs: world.nowMs,
    paid: false,
  };
  world.fiatDeposits.set(link.token, link);
  record(world, 'fiat_link', {
    accountId: account.id,
    amount: request.amount,
    details: { ticker: request.ticker, provider: request.provider, uniqueId: request.uniqueId },
  });
  return { ok: true, link };
}

export function payFiat(world: ExchangeState, token: string): Moved {
  const link = world.fiatDeposits.get(token);
  const account = link === undefined ? undefined : world.accounts.get(link.accountId);
  if (link === undefined || account === undefined) return invalid('token', 'There is no such deposit link');
  if (link.paid) return invalid('token', 'The deposit link has already been paid');
  world.fiatDeposits.set(token, { ...link, paid: true });
  const { ticker, amount, uniqueId, provider } = link;
  return makeDeposit(world, account, { ticker, amount, uniqueId, description: provider });
}
