import type { Authored, OperatorOrder } from '../controls/controls.ts';

/** Distinguishes what operators ordered from what others wrote to the store. */
export interface OperatorTrust {
  /** Adds a seal, if there is a key. `accountId` null: for all accounts. */
  sealed<T extends Authored>(accountId: string | null, said: T): T;
  /** Returns why an order must not be carried out; undefined if it may. */
  orderFault(accountId: string, order: OperatorOrder): string | undefined;
  /** Returns why a control is not trusted; undefined if it is. */
  controlFault(accountId: string | null, control: Authored): string | undefined;
  /** Seal of a notice for its way through a queue; undefined: there is no key. */
  noticeSeal(notice: unknown): string | undefined;
  /** Returns why a queued notice may be forged; undefined if nothing suggests that. */
  noticeFault(notice: unknown, seal: string | undefined): string | undefined;
  /** Seal of an audit record, from its canonical text without a seal; undefined: there is no key. */
  recordSeal(text: string): string | undefined;
  /** What the seal of a stored record proves; `unchecked`: there is no key. */
  recordProof(record: { readonly seal?: string }): 'sealed' | 'unsealed' | 'forged' | 'unchecked';
}

/** For a store that nobody else can write to: the memory of a process. */
export const TRUSTING: OperatorTrust = {
  sealed: (_accountId, said) => said,
  orderFault: () => undefined,
  controlFault: () => undefined,
  noticeSeal: () => undefined,
  noticeFault: () => undefined,
  recordSeal: () => undefined,
  recordProof: () => 'unchecked',
};
