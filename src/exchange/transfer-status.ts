import type { TransferMethod } from '../core/ports/exchange.ts';

export type TransferStatusName =
  | 'pending'
  | 'successful'
  | 'cancelled'
  | 'unconfirmed'
  | 'partial'
  | 'frozen'
  | 'uncredited'
  | 'travelRule';

/**
 * Meanings of status codes, per method. The specification (3.3) leaves them open; these are the publicly
 * documented ones of the live service.
 */
const NAMES: Readonly<
  Record<TransferMethod, Readonly<Partial<Record<TransferStatusName, readonly number[]>>>>
> = {
  deposit: {
    successful: [3, 7],
    cancelled: [4, 9],
    pending: [15],
    frozen: [21],
    uncredited: [22],
    travelRule: [27, 28],
  },
  withdrawal: {
    pending: [1, 2, 6, 10, 11, 12, 13, 14, 15, 16, 17],
    successful: [3, 7],
    cancelled: [4],
    unconfirmed: [5],
    partial: [18],
    frozen: [21],
  },
};

/** The name of a status code, or `undefined` for a code that is not documented: keep the number then. */
export function transferStatusName(method: TransferMethod, code: number): TransferStatusName | undefined {
  for (const [name, codes] of Object.entries(NAMES[method])) {
    if (codes.includes(code)) return name as TransferStatusName;
  }
  return undefined;
}
