import type { Authored } from '../controls/controls.ts';

/** Tells what operators asked for from what somebody else wrote to the store. */
export interface OperatorTrust {
  /** With a seal, where there is a key to make one. `accountId` null: for all accounts. */
  sealed<T extends Authored>(accountId: string | null, said: T): T;
  /** Why an order must not be carried out, in words; undefined: it may. */
  orderFault(accountId: string, order: Authored): string | undefined;
  /** Why a pause or silence does not hold. */
  controlFault(accountId: string | null, control: Authored): string | undefined;
}

/** Where nobody else can write: the memory of a process. */
export const TRUSTING: OperatorTrust = {
  sealed: (_accountId, said) => said,
  orderFault: () => undefined,
  controlFault: () => undefined,
};
