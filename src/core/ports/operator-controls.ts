import type { Authored, Control, OperatorOrder } from '../controls/controls.ts';
import type { SubjectKey } from '../rules/subject.ts';
import type { Kinds } from '../schema/parts.ts';

type Draft<T> = T extends unknown ? Omit<T, 'id' | 'atMs'> : never;
export type ControlDraft = Draft<Control>;
export type OperatorOrderDraft = Draft<OperatorOrder>;

/** Selects a pause of exactly this scope, another control of exactly this rule and subject, or a control by id. */
export type ControlSelector =
  | { readonly kind: 'pause'; readonly accountId: string | null }
  | {
      readonly kind: 'silence' | 'acknowledgement';
      readonly accountId: string | null;
      readonly ruleId: string;
      readonly subject: SubjectKey | null;
    }
  | { readonly kind: 'id'; readonly id: string };

export class ControlError extends Error {
  readonly code:
    | 'CONTROLS_FULL'
    | 'INBOX_FULL'
    | 'CONTROL_INVALID'
    | 'CONTENDED'
    | 'ACCOUNT_REFUSED'
    | 'KEY_REUSED';

  constructor(code: ControlError['code'], message: string) {
    super(message);
    this.name = 'ControlError';
    this.code = code;
  }
}

/** An answer to the given revision of a question. */
export interface AnswerDraft extends Omit<Authored, 'atMs' | 'seal'> {
  readonly decision: 'approve' | 'veto';
  readonly questionId: string;
  readonly revision: number;
}

export type AnswerReply = Kinds<{
  /** Accepted as the first answer; takes effect at the next poll, which is due at once. */
  taken: { order: OperatorOrder };
  /** Somebody answered before. */
  answered: { decision: 'approve' | 'veto'; author: string; atMs: number };
  /** The question no longer waits. */
  over: object;
  /** There is no such question, or this revision was never asked. */
  notAsked: object;
}>;

/**
 * A rejection other than a ControlError means that the store is lost. Idempotent. Every change is audited by its
 * account, else by `OPERATOR_CHAIN`.
 */
export interface OperatorControls {
  /**
   * In force, in every bucket concerned, when it resolves. Replaces a control of the same scope, except that an earlier
   * acknowledgement, or any with `keepsEarlier`, stays and is returned.
   */
  put(draft: ControlDraft, how?: { readonly keepsEarlier?: boolean }): Promise<Control>;
  /** Ends controls; resolves to those that were in force. */
  lift(selector: ControlSelector, by: Omit<Authored, 'atMs'>): Promise<readonly Control[]>;
  /** Every control in force, each once. `onRefused` gets the reason for each stored control that is not trusted. */
  list(onRefused?: (words: string) => void): Promise<readonly Control[]>;
  /**
   * Puts an order in the inbox and makes the account due. With a key, repeating it resolves to the existing order.
   * @throws ControlError (KEY_REUSED) if the key belongs to another order
   */
  submit(accountId: string, draft: OperatorOrderDraft, key?: string): Promise<OperatorOrder>;
  /** Answers a question. The first answer counts; a concurrent second one resolves to it. */
  answer(accountId: string, draft: AnswerDraft): Promise<AnswerReply>;
}
