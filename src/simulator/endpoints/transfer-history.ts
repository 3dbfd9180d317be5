import { formatDecimal } from '../../core/quantities/decimal.ts';
import type { ServedEndpoint } from '../http/dispatch.ts';
import { type Reply, success } from '../http/reply.ts';
import type { TransferView } from '../model/types.ts';
import { isInteger, isString, type ParamReader } from './params.ts';
import { type EndpointParts, invalidParams } from './parts.ts';

const METHOD_CODE = { deposit: 1, withdrawal: 2 } as const;

/** Valid status codes by method (live notes); the filter refuses all others. */
const STATUS_CODES: Readonly<Record<1 | 2, readonly number[]>> = {
  1: [3, 4, 7, 9, 15, 21, 22, 27, 28],
  2: [1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 18, 21],
};

/** Specification 4.2; newest first. */
export function transferHistoryEndpoint(parts: EndpointParts): ServedEndpoint {
  return {
    name: 'transferHistory',
    path: '/api/v4/main-account/history',
    handle: ({ accountId, reader, staleMs }): Reply => {
      const limit = reader.integer('limit', 1, 500, 50);
      const offset = reader.integer('offset', 0, 100_000, 0);
      const isWanted = readFilter(reader);
      if (reader.hasProblems) return invalidParams(parts.model, reader.problems);
      const found = parts.reads(accountId, staleMs).transfers().filter(isWanted);
      const records = found.slice(offset, offset + limit).map(transferRecord);
      return success({ limit, offset, records, total: found.length });
    },
  };
}

function readFilter(reader: ParamReader): (transfer: TransferView) => boolean {
  const method = readMethod(reader);
  const status = readStatus(reader, method);
  const ticker = reader.optionalString('ticker');
  const address = reader.optionalString('address');
  const addresses = reader.optionalList('addresses', 20, isString);
  const uniqueId = reader.optionalString('unique_id');
  return (transfer) =>
    (method === undefined || METHOD_CODE[transfer.method] === method) &&
    (status === undefined || status.includes(transfer.status)) &&
    (ticker === undefined || transfer.ticker === ticker) &&
    (address === undefined || transfer.address === address) &&
    (addresses === undefined || addresses.includes(transfer.address)) &&
    (uniqueId === undefined || transfer.uniqueId === uniqueId);
}

function readMethod(reader: ParamReader): 1 | 2 | undefined {
  const value = reader.raw('transactionMethod');
  if (value === undefined || value === null) return undefined;
  if (value === 1 || value === 2) return value;
  return reader.problem(
    'transactionMethod',
    'The transactionMethod must be 1 (deposits) or 2 (withdrawals).',
  );
}

function readStatus(reader: ParamReader, method: 1 | 2 | undefined): number[] | undefined {
  const status = reader.optionalList('status', 50, isInteger);
  if (status === undefined) return undefined;
  if (method === undefined) {
    return reader.problem('status', 'The status filter needs a transactionMethod.');
  }
  const unknown = status.filter((code) => !STATUS_CODES[method].includes(code));
  if (unknown.length === 0) return status;
  return reader.problem('status', `Not valid for this transactionMethod: ${unknown.join(', ')}.`);
}

/** Specification 2.3. */
function transferRecord(transfer: TransferView): object {
  return {
    address: transfer.address,
    unique_id: transfer.uniqueId,
    createdAt: Math.floor(transfer.createdMs / 1_000),
    currency: transfer.currency,
    ticker: transfer.ticker,
    method: METHOD_CODE[transfer.method],
    amount: formatDecimal(transfer.amount),
    description: transfer.description,
    memo: transfer.memo,
    fee: formatDecimal(transfer.fee),
    status: transfer.status,
    network: transfer.network,
    transactionHash: transfer.transactionHash,
    transaction_id: transfer.transactionId,
    details: { partial: partialRecord(transfer) },
    confirmations: transfer.confirmations,
  };
}

/** For a transfer that was not split, the part is the whole. */
function partialRecord({ partial, amount, fee }: TransferView): object {
  return {
    requestAmount: formatDecimal(partial?.requestAmount ?? amount),
    processedAmount: formatDecimal(partial?.processedAmount ?? amount),
    processedFee: formatDecimal(partial?.processedFee ?? fee),
    normalizeTransaction: partial?.normalizeTransaction ?? '',
  };
}
