import type { RecordList, TransferRecord } from '../ports/exchange.ts';

/** A transfer without personal data: addresses and remarks are reduced to one verdict and not kept. */
export interface KnownTransfer
  extends Pick<
    TransferRecord,
    'transactionId' | 'createdAt' | 'ticker' | 'method' | 'amount' | 'fee' | 'status' | 'network'
  > {
  /** For a withdrawal: whether its address was on the allow-list when it was read. */
  readonly expected?: boolean;
}

/** Adds the verdict and removes personal data, before anything is judged, stored or recorded. */
export function knownTransfers(
  list: RecordList<TransferRecord>,
  allowList: readonly string[],
): RecordList<KnownTransfer> {
  return { ...list, records: list.records.map((record) => knownTransfer(record, allowList)) };
}

function knownTransfer(record: TransferRecord, allowList: readonly string[]): KnownTransfer {
  const { transactionId, createdAt, ticker, method, amount, fee, status, network, address } = record;
  return {
    ...(transactionId === undefined ? {} : { transactionId }),
    createdAt,
    ticker,
    method,
    amount,
    ...(fee === undefined ? {} : { fee }),
    status,
    ...(network === undefined ? {} : { network }),
    ...(isWithdrawal(record)
      ? { expected: address !== undefined && allowList.some((allowed) => sameAddress(allowed, address)) }
      : {}),
  };
}

/** Hexadecimal addresses are compared case-insensitively. */
function sameAddress(a: string, b: string): boolean {
  return a === b || (a.startsWith('0x') && a.toLowerCase() === b.toLowerCase());
}

export function isWithdrawal({ method }: Pick<TransferRecord, 'method'>): boolean {
  return method.known && method.value === 'withdrawal';
}

/** A withdrawal that is not known to go to an expected address. */
export function isUnexpectedWithdrawal(transfer: KnownTransfer): boolean {
  return isWithdrawal(transfer) && transfer.expected !== true;
}

/** Success codes: specification 3.3 shows these two in a filter only; the live service documents both as successful. */
const DEPOSIT_SUCCESS: ReadonlySet<number> = new Set([3, 7]);

export function isSuccessfulDeposit({ method, status }: KnownTransfer): boolean {
  return method.known && method.value === 'deposit' && DEPOSIT_SUCCESS.has(status);
}
