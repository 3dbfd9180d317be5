import type { Authored, OperatorOrder } from '../controls/controls.ts';

/** Tells what operators asked for from what somebody else wrote to the store. */
export interface OperatorTrust {
  /** With a seal, where there is a key to make one. `accountId` null: for all accounts. */
  sealed<T extends Authored>(accountId: string | null, said: T): T;
  /** Why an order must not be carried out, in words; undefined: it may. */
  orderFault(accountId: string, order: OperatorOrder): string | undefined;
  /** Why a pause or silence does not hold. */
  controlFault(accountId: string | null, control: Authored): string | undefined;
  /** The seal of a notice, which goes through a queue; undefined: there is no key. */
  noticeSeal(notice: unknown): string | undefined;
  /** Why a notice that came through the queue may be somebody else's, in words; undefined: there is no reason to think so. */
  noticeFault(notice: unknown, seal: string | undefined): string | undefined;
  /** The seal of an audit record, by its canonical text without one; undefined: there is no key. */
  recordSeal(text: string): string | undefined;
  /** What the seal of a stored record proves; `unchecked`: there is no key. */
  recordProof(record: { readonly seal?: string }): 'sealed' | 'unsealed' | 'forged' | 'unchecked';
}

/** Where nobody else can write: the memory of a process. */
export const TRUSTING: OperatorTrust = {
  sealed: (_accountId, said) => said,
  orderFault: () => undefined,
  controlFault: () => undefined,
  noticeSeal: () => undefined,
  noticeFault: () => undefined,
  recordSeal: () => undefined,
  recordProof: () => 'unchecked',
};
