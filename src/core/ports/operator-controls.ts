import type { Authored, Control, OperatorOrder } from '../controls/controls.ts';
import type { SubjectKey } from '../rules/subject.ts';

type Draft<T> = T extends unknown ? Omit<T, 'id' | 'atMs'> : never;
export type ControlDraft = Draft<Control>;
export type OperatorOrderDraft = Draft<OperatorOrder>;

/** What is lifted: a pause of exactly this scope, another control of exactly this rule and subject, or one by its id. */
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

/** To what people were asked: which question, and the revision of it that was seen. */
export interface AnswerDraft extends Omit<Authored, 'atMs' | 'seal'> {
  readonly decision: 'approve' | 'veto';
  readonly questionId: string;
  readonly revision: number;
}

export type AnswerReply =
  /** Given, once; it counts from the next poll on, which is due at once. */
  | { readonly kind: 'taken'; readonly order: OperatorOrder }
  /** Somebody was first. */
  | {
      readonly kind: 'answered';
      readonly decision: 'approve' | 'veto';
      readonly author: string;
      readonly atMs: number;
    }
  /** It is not waited for any longer. */
  | { readonly kind: 'over' }
  /** There is no such question, or that revision of it was never asked. */
  | { readonly kind: 'notAsked' };

/**
 * A rejection other than a ControlError means that the store is lost; repeating is harmless. Every change is in the
 * audit of its account, else of `OPERATOR_CHAIN`.
 */
export interface OperatorControls {
  /**
   * In force, in every bucket that it concerns, when this resolves. Replaces one of the same scope; where somebody has
   * acknowledged the same before, that stays and is what comes back.
   */
  put(draft: ControlDraft): Promise<Control>;
  /** Ends controls; resolves to those that were in force. */
  lift(selector: ControlSelector, by: Omit<Authored, 'atMs'>): Promise<readonly Control[]>;
  /** Everything in force now, each once. `onRefused` is told of each that does not hold, with why. */
  list(onRefused?: (words: string) => void): Promise<readonly Control[]>;
  /**
   * Puts an order in the inbox and makes the account due. With a key it does so once: said again it resolves to the
   * order that is there. A key of another order is a ControlError (KEY_REUSED).
   */
  submit(accountId: string, draft: OperatorOrderDraft, key?: string): Promise<OperatorOrder>;
  /** Answers what people were asked. The first answer counts; of two at the same time one is told of the other. */
  answer(accountId: string, draft: AnswerDraft): Promise<AnswerReply>;
}
