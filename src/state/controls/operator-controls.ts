import { askedNow, isAnswerable } from '../../core/approvals/question.ts';
import { type AuditDraft, OPERATOR_CHAIN } from '../../core/audit/audit-record.ts';
import { sha256Hex } from '../../core/audit/sha256.ts';
import {
  type Authored,
  acknowledgementOf,
  type Control,
  type Controls,
  hasExpired,
  MAX_ACKNOWLEDGEMENTS,
  MAX_CONTROLS,
  MAX_INBOX_ORDERS,
  type OperatorOrder,
} from '../../core/controls/controls.ts';
import { controlSchema, operatorOrderSchema } from '../../core/controls/operator-schemas.ts';
import type { Clock } from '../../core/ports/clock.ts';
import {
  type AnswerDraft,
  type AnswerReply,
  type ControlDraft,
  ControlError,
  type ControlSelector,
  type OperatorControls,
  type OperatorOrderDraft,
} from '../../core/ports/operator-controls.ts';
import { BUCKETS, bucketOf, type CommitResult, type StoredAccount } from '../../core/ports/state-store.ts';
import type { Conceal } from '../../core/redaction/conceal.ts';
import { canonicalJson } from '../../core/text/canonical-json.ts';
import { type Backend, STAMP_LENGTH } from '../account/account-backend.ts';
import type { AccountStore } from '../account/account-store.ts';
import { readRecord } from '../audit/audit-chain.ts';
import { recordsBetween } from '../audit/audit-prune.ts';
import { type ControlsReader, readControls, writeControls } from './controls-text.ts';

export interface OperatorControlsOptions {
  readonly store: AccountStore;
  readonly backend: Backend;
  readonly clock: Clock;
  readonly randomText: (length: number) => string;
  /** Conceals secrets of the config in what people type, which is stored and shown. */
  readonly redact: Conceal;
  readonly reader: ControlsReader;
}

/** Workers commit once per poll; more conflicts in a row than this are no accident. */
const ATTEMPTS = 100;
const ID_LENGTH = 10;
const ID_LENGTH_OF_KEY = 20;
/** The next poll takes in an answer; one that waits longer than this is of no use. */
const ANSWER_LIFE_MS = 86_400_000;

/** Returns the changed entries; undefined: nothing is to be changed. */
type Edit = (entries: readonly Control[]) => readonly Control[] | undefined;
type Words = Omit<Authored, 'atMs'>;

/**
 * Controls are stored in each bucket that they concern. The bucket of the account (or of the operators' chain)
 * changes together with the audit record; for a control of all accounts the other buckets follow.
 */
export class StoredControls implements OperatorControls {
  readonly #options: OperatorControlsOptions;

  constructor(options: OperatorControlsOptions) {
    this.#options = options;
  }

  async put(draft: ControlDraft, { keepsEarlier = false } = {}): Promise<Control> {
    const { clock, randomText, reader } = this.#options;
    const typed = this.#typed(draft);
    const atMs = clock.nowMs();
    const said: Control = { ...draft, ...typed, id: randomText(ID_LENGTH), atMs };
    requireShape(controlSchema, said);
    const control = reader.trust.sealed(said.accountId, said);
    if (hasExpired(control, atMs)) throw new ControlError('CONTROL_INVALID', 'it would have expired already');
    const record = { kind: 'control', change: 'put', control, by: { ...typed, atMs } } as const;
    let before: Control | undefined;
    await this.#change(control.accountId, [record], (entries) => {
      before = entries.find(
        (other) => isAcknowledgedBy(other, control) || (keepsEarlier && isSameScope(other, control)),
      );
      return before === undefined ? withControl(entries, control) : undefined;
    });
    return before ?? control;
  }

  async lift(selector: ControlSelector, by: Words): Promise<readonly Control[]> {
    requireAuthor(by);
    const atMs = this.#options.clock.nowMs();
    const lifted = (await this.list()).filter((control) => isSelected(control, selector));
    for (const control of lifted) {
      const record = { kind: 'control', change: 'lifted', control, by: { ...by, atMs } } as const;
      await this.#change(control.accountId, [record], (entries) =>
        entries.filter(({ id }) => id !== control.id),
      );
    }
    return lifted;
  }

  async list(onRefused?: (words: string) => void): Promise<readonly Control[]> {
    const now = this.#options.clock.nowMs();
    const texts = await this.#options.backend.allControls();
    const { reader } = this.#options;
    const refused = new Set<string>();
    const told: ControlsReader = {
      trust: reader.trust,
      onRefused(words, control) {
        reader.onRefused(words, control);
        if (control === undefined || !hasExpired(control, now)) refused.add(words);
      },
    };
    const inForce = texts.flatMap((text) =>
      readControls(text, told).entries.filter((one) => !hasExpired(one, now)),
    );
    for (const words of refused) onRefused?.(words);
    const byId = new Map(inForce.map((control) => [control.id, control]));
    return [...byId.values()].sort((a, b) => a.atMs - b.atMs);
  }

  async submit(accountId: string, draft: OperatorOrderDraft, key?: string): Promise<OperatorOrder> {
    const { backend, clock, randomText, reader } = this.#options;
    const typed = this.#typed(draft);
    const id = key === undefined ? randomText(ID_LENGTH) : idOfKey(accountId, key);
    const said: OperatorOrder = { ...draft, ...typed, id, atMs: clock.nowMs() };
    requireShape(operatorOrderSchema, said);
    const order = reader.trust.sealed(accountId, said);
    return persist(accountId, async () => {
      const { account } = await this.#load(accountId);
      // After the account was read: if the same order is submitted in between, the commit below is a conflict.
      const earlier = key === undefined ? undefined : await findSubmitted(backend, accountId, id);
      if (earlier !== undefined) return requireSame(earlier, order);
      return (await this.#put(account, order)) ? order : undefined;
    });
  }

  async answer(accountId: string, draft: AnswerDraft): Promise<AnswerReply> {
    const { clock, randomText, reader } = this.#options;
    const { decision, questionId, revision } = draft;
    const nowMs = clock.nowMs();
    const said: OperatorOrder = {
      kind: 'answer',
      decision,
      questionId,
      revision,
      ...this.#typed(draft),
      id: randomText(ID_LENGTH),
      atMs: nowMs,
      expiresAtMs: nowMs + ANSWER_LIFE_MS,
    };
    requireShape(operatorOrderSchema, said);
    const order = reader.trust.sealed(accountId, said);
    const fault = reader.trust.orderFault(accountId, order);
    if (fault !== undefined) throw new ControlError('CONTROL_INVALID', `it would not be believed: ${fault}`);
    return persist(accountId, async (): Promise<AnswerReply | undefined> => {
      const { account } = await this.#load(accountId);
      const refused = whyNot(account, draft);
      if (refused !== undefined) return refused;
      return (await this.#put(account, order)) ? { kind: 'taken', order } : undefined;
    });
  }

  /** Adds an order to the inbox, with its audit record; false: others have changed the account meanwhile. */
  async #put(account: StoredAccount, order: OperatorOrder): Promise<boolean> {
    const waiting = account.documents.inbox?.orders ?? [];
    if (waiting.length >= MAX_INBOX_ORDERS) {
      const words = `${MAX_INBOX_ORDERS} orders wait for account ${account.accountId} already`;
      throw new ControlError('INBOX_FULL', words);
    }
    const [result] = await this.#options.store.commit([
      {
        base: account,
        documents: { inbox: { version: 1, orders: [...waiting, order] } },
        audit: [{ kind: 'operatorOrder', order }],
        due: { inMs: 0, danger: account.danger },
      },
    ]);
    return isCommitted(result);
  }

  #typed(words: Words): Words {
    requireAuthor(words);
    const { redact } = this.#options;
    return { author: redact(words.author), reason: redact(words.reason) };
  }

  async #change(accountId: string | null, audit: readonly AuditDraft[], edit: Edit): Promise<void> {
    const chain = accountId ?? OPERATOR_CHAIN;
    const isChanged = await persist(chain, async () => {
      const { account, controls } = await this.#load(chain);
      const next = this.#edited(controls, edit);
      if (next === undefined) return false;
      const replaced = { expected: controls.stamp, next };
      const [result] = await this.#options.store.commit([{ base: account, audit }], replaced);
      return isCommitted(result) || undefined;
    });
    if (accountId !== null || !isChanged) return;
    const others = [...Array(BUCKETS).keys()].filter((bucket) => bucket !== bucketOf(chain));
    await Promise.all(others.map((bucket) => this.#changeBucket(bucket, edit)));
  }

  async #changeBucket(bucket: number, edit: Edit): Promise<void> {
    const { store, backend, reader } = this.#options;
    let { controls } = await store.readBucket(bucket, []);
    await persist(`bucket ${bucket}`, async () => {
      const next = this.#edited(controls, edit);
      if (next === undefined) return true;
      const now = await backend.setControls(bucket, controls.stamp, next);
      controls = readControls(now, reader);
      return now === next || undefined;
    });
  }

  #edited(controls: Controls, edit: Edit): string | undefined {
    const { clock, randomText } = this.#options;
    const now = clock.nowMs();
    const edited = edit(controls.entries.filter((control) => !hasExpired(control, now)));
    return edited === undefined ? undefined : writeControls(randomText(STAMP_LENGTH), edited);
  }

  async #load(accountId: string): Promise<{ account: StoredAccount; controls: Controls }> {
    const { load, controls } = await this.#options.store.read(accountId);
    if (load.kind === 'refused') throw new ControlError('ACCOUNT_REFUSED', load.problem.message);
    return { account: load.account, controls };
  }
}

/** Why an answer is refused; undefined: it is taken. */
function whyNot(
  { documents }: StoredAccount,
  { questionId, revision }: AnswerDraft,
): AnswerReply | undefined {
  const question = documents.approvals?.questions.find(({ id }) => id === questionId);
  if (question === undefined || !question.asked.some((asked) => asked.revision === revision)) {
    return { kind: 'notAsked' };
  }
  const orders = documents.inbox?.orders.filter((order) => order.kind === 'answer') ?? [];
  const given = orders.find((order) => order.questionId === questionId);
  if (given === undefined && isAnswerable(question))
    return askedNow(question, revision) === undefined ? { kind: 'over' } : undefined;
  const answered = given ?? (question.state === 'released' ? undefined : question.answer);
  if (answered === undefined) return { kind: 'over' };
  const { decision, author, atMs } = answered;
  return { kind: 'answered', decision, author, atMs };
}

/** Repeats an attempt that returns undefined because of a conflict. @throws ControlError after too many conflicts */
async function persist<T>(what: string, attempt: () => Promise<T | undefined>): Promise<T> {
  for (let attempts = 0; attempts < ATTEMPTS; attempts++) {
    const done = await attempt();
    if (done !== undefined) return done;
  }
  const words = `${what} was changed by somebody else ${ATTEMPTS} times in a row: try again`;
  throw new ControlError('CONTENDED', words);
}

function isCommitted(result: CommitResult | undefined): boolean {
  if (result?.kind === 'refused') throw new ControlError('ACCOUNT_REFUSED', result.problem.message);
  return result?.kind === 'committed';
}

function requireAuthor({ author, reason }: Words): void {
  if (author.trim() === '' || reason.trim() === '') {
    throw new ControlError('CONTROL_INVALID', 'an author and a reason are needed');
  }
}

/** Readers check it by the same schema, and leave out what does not fit. */
function requireShape(schema: typeof controlSchema | typeof operatorOrderSchema, said: Authored): void {
  const [fault] = schema.safeParse(said).error?.issues ?? [];
  if (fault === undefined) return;
  throw new ControlError(
    'CONTROL_INVALID',
    `its ${fault.path.join('.')} cannot be stored (${fault.message})`,
  );
}

/** @throws ControlError */
function withControl(entries: readonly Control[], control: Control): readonly Control[] {
  const others = entries.filter((other) => !isSameScope(other, control));
  const acknowledged = others.filter(({ kind }) => kind === 'acknowledgement');
  if (control.kind !== 'acknowledgement' && others.length - acknowledged.length >= MAX_CONTROLS) {
    throw new ControlError('CONTROLS_FULL', `${MAX_CONTROLS} controls are in force: lift some first`);
  }
  const tooMany = new Set(
    control.kind === 'acknowledgement'
      ? acknowledged.slice(0, Math.max(0, acknowledged.length + 1 - MAX_ACKNOWLEDGEMENTS))
      : [],
  );
  return [...others.filter((other) => !tooMany.has(other)), control];
}

/** If two people acknowledge the same, the first one counts. */
function isAcknowledgedBy(before: Control, control: Control): boolean {
  return (
    before.kind === 'acknowledgement' &&
    control.kind === 'acknowledgement' &&
    before.accountId === control.accountId &&
    acknowledgementOf([before], control) !== undefined
  );
}

function isSameScope(a: Control, b: Control): boolean {
  if (a.accountId !== b.accountId || a.kind !== b.kind) return false;
  return a.kind === 'pause' || b.kind === 'pause' || (a.ruleId === b.ruleId && a.subject === b.subject);
}

function isSelected(control: Control, selector: ControlSelector): boolean {
  if (selector.kind === 'id') return control.id === selector.id;
  if (control.accountId !== selector.accountId || control.kind !== selector.kind) return false;
  if (control.kind === 'pause' || selector.kind === 'pause') return true;
  return control.ruleId === selector.ruleId && control.subject === selector.subject;
}

/** Id of an order submitted under a key: letters and digits, the same for the same key and account. */
function idOfKey(accountId: string, key: string): string {
  return sha256Hex(JSON.stringify([accountId, key])).slice(0, ID_LENGTH_OF_KEY);
}

/** Finds a submitted order, begun or not, as far back as the account's audit goes. */
async function findSubmitted(
  backend: Backend,
  accountId: string,
  orderId: string,
): Promise<OperatorOrder | undefined> {
  for await (const raw of recordsBetween(backend, accountId, 1, Number.POSITIVE_INFINITY)) {
    if (!raw.text.includes(orderId)) continue;
    const { content } = readRecord(accountId, raw).record;
    if (content.kind === 'operatorOrder' && content.order.id === orderId) return content.order;
  }
  return undefined;
}

/** Expiry and words may differ when an order is repeated; its effect may not. */
function requireSame(earlier: OperatorOrder, again: OperatorOrder): OperatorOrder {
  if (substanceOf(earlier) === substanceOf(again)) return earlier;
  throw new ControlError('KEY_REUSED', `the key was used for another order (${earlier.id}): take a new one`);
}

function substanceOf(order: OperatorOrder): string {
  const { id: _id, atMs: _at, author: _by, reason: _why, expiresAtMs: _until, seal: _seal, ...rest } = order;
  return canonicalJson(rest);
}
