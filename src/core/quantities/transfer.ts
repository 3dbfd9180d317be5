import type { RecordList, TransferRecord } from '../ports/exchange.ts';

/** A transfer without what is personal: addresses and remarks give one verdict, and are not kept. */
export interface KnownTransfer
  extends Pick<
    TransferRecord,
    'transactionId' | 'createdAt' | 'ticker' | 'method' | 'amount' | 'fee' | 'status' | 'network'
  > {
  /** Of a withdrawal: whether it went to an address of the allow-list as it was when it was read. */
  readonly expected?: boolean;
}

/** Takes the verdict, and leaves out what is personal, before anything is judged, stored or recorded. */
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
    network,
    ...(isWithdrawal(record)
      ? { expected: address !== undefined && allowList.some((allowed) => sameAddress(allowed, address)) }
      : {}),
  };
}

/** Hexadecimal addresses are compared without regard to case. */
function sameAddress(a: string, b: string): boolean {
  return a === b || (a.startsWith('0x') && a.toLowerCase() === b.toLowerCase());
}

export function isWithdrawal({ method }: Pick<TransferRecord, 'method'>): boolean {
  return method.known && method.value === 'withdrawal';
}

/** A withdrawal not known to go where it should. */
export function isUnexpectedWithdrawal(transfer: KnownTransfer): boolean {
  return isWithdrawal(transfer) && transfer.expected !== true;
}

/** Statuses that mean success (specification 3.3 shows only these two codes in a filter; the live service documents both as successful). */
const DEPOSIT_SUCCESS: ReadonlySet<number> = new Set([3, 7]);

export function isSuccessfulDeposit({ method, status }: KnownTransfer): boolean {
  return method.known && method.value === 'deposit' && DEPOSIT_SUCCESS.has(status);
}
