import { type AuditDraft, OPERATOR_CHAIN } from '../../core/audit/audit-record.ts';
import {
  type Authored,
  type Control,
  type Controls,
  hasExpired,
  MAX_CONTROLS,
  MAX_INBOX_ORDERS,
  type OperatorOrder,
} from '../../core/controls/controls.ts';
import type { Clock } from '../../core/ports/clock.ts';
import {
  type ControlDraft,
  ControlError,
  type ControlSelector,
  type OperatorControls,
  type OperatorOrderDraft,
} from '../../core/ports/operator-controls.ts';
import { BUCKETS, bucketOf, type StoredAccount } from '../../core/ports/state-store.ts';
import type { Conceal } from '../../core/redaction/conceal.ts';
import { type Backend, STAMP_LENGTH } from '../account/account-backend.ts';
import type { AccountStore } from '../account/account-store.ts';
import { canonicalJson } from '../canonical.ts';
import { type ControlsReader, readControls, writeControls } from './controls-text.ts';
import { findSubmitted, idOfKey } from './submitted.ts';

export interface OperatorControlsOptions {
  readonly store: AccountStore;
  readonly backend: Backend;
  readonly clock: Clock;
  readonly randomText: (length: number) => string;
  /** What people type is stored and shown: no secret of the config with it. */
  readonly redact: Conceal;
  readonly reader: ControlsReader;
}

/** Conflicts with workers, which commit once per poll; more than this in a row is no accident. */
const ATTEMPTS = 100;
const ID_LENGTH = 10;
const ALL_BUCKETS: readonly number[] = Array.from({ length: BUCKETS }, (_, bucket) => bucket);

type Edit = (entries: readonly Control[]) => readonly Control[];

/**
 * Controls live in each bucket that they concern, so that workers get them with what they read anyway. The bucket
 * of the account (or of the operators' chain) is changed together with the audit record; for a control of all
 * accounts the other buckets follow.
 */
export function createOperatorControls(options: OperatorControlsOptions): OperatorControls {
  return new StoredControls(options);
}

class StoredControls implements OperatorControls {
  readonly #store: AccountStore;
  readonly #backend: Backend;
  readonly #clock: Clock;
  readonly #randomText: (length: number) => string;
  readonly #redact: Conceal;
  readonly #reader: ControlsReader;

  constructor({ store, backend, clock, randomText, redact, reader }: OperatorControlsOptions) {
    this.#store = store;
    this.#backend = backend;
    this.#clock = clock;
    this.#randomText = randomText;
    this.#redact = redact;
    this.#reader = reader;
  }

  async put(draft: ControlDraft): Promise<Control> {
    requireAuthor(draft);
    const atMs = this.#clock.nowMs();
    const typed = this.#typed(draft);
    const said: Control = { ...draft, ...typed, id: this.#randomText(ID_LENGTH), atMs };
    const control = this.#reader.trust.sealed(said.accountId, said);
    if (hasExpired(control, atMs)) throw new ControlError('CONTROL_INVALID', 'it would have expired already');
    const record = { kind: 'control', change: 'put', control, by: { ...typed, atMs } } as const;
    await this.#change(control.accountId, [record], (entries) => {
      const others = entries.filter((other) => !isSameScope(other, control));
      if (others.length >= MAX_CONTROLS) {
        throw new ControlError('CONTROLS_FULL', `${MAX_CONTROLS} controls are in force: lift some first`);
      }
      return [...others, control];
    });
    return control;
  }

  async lift(selector: ControlSelector, by: Omit<Authored, 'atMs'>): Promise<readonly Control[]> {
    requireAuthor(by);
    const atMs = this.#clock.nowMs();
    const lifted = (await this.list()).filter((control) => isSelected(control, selector));
    for (const control of lifted) {
      const record = { kind: 'control', change: 'lifted', control, by: { ...by, atMs } } as const;
      await this.#change(control.accountId, [record], (entries) =>
        entries.filter(({ id }) => id !== control.id),
      );
    }
    return lifted;
  }

  async list(): Promise<readonly Control[]> {
    const now = this.#clock.nowMs();
    const found = new Map<string, Control>();
    for (const text of await this.#backend.allControls()) {
      for (const control of readControls(text, this.#reader).entries) {
        if (!hasExpired(control, now)) found.set(control.id, control);
      }
    }
    return [...found.values()].sort((a, b) => a.atMs - b.atMs);
  }

  async submit(accountId: string, draft: OperatorOrderDraft, key?: string): Promise<OperatorOrder> {
    requireAuthor(draft);
    const id = key === undefined ? this.#randomText(ID_LENGTH) : idOfKey(accountId, key);
    const said: OperatorOrder = { ...draft, ...this.#typed(draft), id, atMs: this.#clock.nowMs() };
    const order = this.#reader.trust.sealed(accountId, said);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { account } = await this.#load(accountId);
      // After the account was read: whoever submits the same in between makes the commit below a conflict.
      const earlier = key === undefined ? undefined : await findSubmitted(this.#backend, accountId, id);
      if (earlier !== undefined) return requireSame(earlier, order);
      const waiting = account.documents.inbox?.orders ?? [];
      if (waiting.length >= MAX_INBOX_ORDERS) {
        throw new ControlError(
          'INBOX_FULL',
          `${MAX_INBOX_ORDERS} orders wait for account ${accountId} already`,
        );
      }
      const [result] = await this.#store.commit([
        {
          base: account,
          documents: { inbox: { version: 1, orders: [...waiting, order] } },
          audit: [{ kind: 'operatorOrder', order }],
          due: { inMs: 0, danger: account.danger },
        },
      ]);
      if (result?.kind === 'committed') return order;
      if (result?.kind === 'refused') throw new ControlError('ACCOUNT_REFUSED', result.problem.message);
    }
    throw contended(accountId);
  }

  #typed({ author, reason }: Omit<Authored, 'atMs'>): Omit<Authored, 'atMs'> {
    return { author: this.#redact(author), reason: this.#redact(reason) };
  }

  async #change(accountId: string | null, audit: readonly AuditDraft[], edit: Edit): Promise<void> {
    const chain = accountId ?? OPERATOR_CHAIN;
    await this.#changeWithRecord(chain, audit, edit);
    if (accountId !== null) return;
    const first = bucketOf(chain);
    const others = ALL_BUCKETS.filter((bucket) => bucket !== first);
    await Promise.all(others.map((bucket) => this.#changeBucket(bucket, edit)));
  }

  async #changeWithRecord(chain: string, audit: readonly AuditDraft[], edit: Edit): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { account, controls } = await this.#load(chain);
      const next = this.#edited(controls, edit);
      const [result] = await this.#store.commitWith([{ base: account, audit }], {
        expected: controls.stamp,
        next,
      });
      if (result?.kind === 'committed') return;
      if (result?.kind === 'refused') throw new ControlError('ACCOUNT_REFUSED', result.problem.message);
    }
    throw contended(chain);
  }

  async #changeBucket(bucket: number, edit: Edit): Promise<void> {
    let { controls } = await this.#store.readBucket(bucket, []);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const next = this.#edited(controls, edit);
      const now = await this.#backend.setControls(bucket, controls.stamp, next);
      if (now === next) return;
      controls = readControls(now, this.#reader);
    }
    throw contended(`bucket ${bucket}`);
  }

  #edited(controls: Controls, edit: Edit): string {
    const now = this.#clock.nowMs();
    const kept = controls.entries.filter((control) => !hasExpired(control, now));
    return writeControls(this.#randomText(STAMP_LENGTH), edit(kept));
  }

  async #load(accountId: string): Promise<{ account: StoredAccount; controls: Controls }> {
    const { load, controls } = await this.#store.read(accountId);
    if (load.kind === 'refused') throw new ControlError('ACCOUNT_REFUSED', load.problem.message);
    return { account: load.account, controls };
  }
}

function requireAuthor({ author, reason }: { readonly author: string; readonly reason: string }): void {
  if (author.trim() === '' || reason.trim() === '') {
    throw new ControlError('CONTROL_INVALID', 'an author and a reason are needed');
  }
}

function isSameScope(a: Control, b: Control): boolean {
  if (a.accountId !== b.accountId) return false;
  if (a.kind === 'pause' || b.kind === 'pause') return a.kind === b.kind;
  return a.ruleId === b.ruleId && a.subject === b.subject;
}

function isSelected(control: Control, selector: ControlSelector): boolean {
  if (selector.kind === 'id') return control.id === selector.id;
  if (control.accountId !== selector.accountId || control.kind !== selector.kind) return false;
  if (control.kind === 'pause' || selector.kind === 'pause') return true;
  return control.ruleId === selector.ruleId && control.subject === selector.subject;
}

/** Expiry and words may differ when an order is said again; what it does may not. */
function requireSame(earlier: OperatorOrder, again: OperatorOrder): OperatorOrder {
  if (substanceOf(earlier) === substanceOf(again)) return earlier;
  throw new ControlError('KEY_REUSED', `the key was used for another order (${earlier.id}): take a new one`);
}

function substanceOf(order: OperatorOrder): string {
  const {
    id: _id,
    atMs: _atMs,
    author: _author,
    reason: _reason,
    expiresAtMs: _expiry,
    seal: _seal,
    ...rest
  } = order;
  return canonicalJson(rest);
}

function contended(what: string): ControlError {
  return new ControlError(
    'CONTENDED',
    `${what} was changed by somebody else ${ATTEMPTS} times in a row: try again`,
  );
}
