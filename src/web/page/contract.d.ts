import type { AccountView } from '../../core/view/account-view.ts';
import type { QueueLine, StressStatus } from '../sources.ts';

export type { QueueLine, TopUpOffer } from '../sources.ts';

/** What the API answers, as the page reads it; src/web/openapi describes the same. Times are Unix milliseconds. */

export type Level = 'critical' | 'warning' | 'info' | 'unknown' | 'pending' | 'ok';

export interface PauseLine {
  readonly id: string;
  readonly accountId: string | null;
  readonly author: string;
  readonly reason: string;
  readonly atMs: number;
  readonly expiresAtMs: number | null;
}

export interface SilenceLine {
  readonly id: string;
  readonly accountId: string | null;
  readonly ruleId: string;
  readonly subject: string | null;
  readonly author: string;
  readonly reason: string;
  readonly atMs: number;
  readonly expiresAtMs: number;
}

export interface PageOverview {
  readonly version: string;
  readonly instance: string;
  readonly atMs: number;
  readonly startedAtMs: number;
  readonly mode: 'observe' | 'enforce' | 'mixed';
  readonly accounts: number;
  readonly firing: { readonly critical: number; readonly warning: number; readonly info: number };
  readonly pauses: readonly PauseLine[];
  readonly silences: readonly SilenceLine[];
  readonly health: {
    readonly ready: boolean;
    readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly why: string }[];
  };
  readonly degraded: readonly string[];
  readonly queues: readonly QueueLine[];
  readonly may: { readonly control: boolean; readonly topUp: boolean };
}

/** The newest stress test on a schedule. */
export type PageStress = StressStatus;

export interface AccountPage {
  readonly atMs: number;
  readonly total: number;
  readonly offset: number;
  readonly limit: number;
  readonly accounts: readonly AccountView[];
}

/** Kinds that a newer daemon has are shown too, so they are texts here. */
export interface PageAction {
  /** The same for every state of one request. */
  readonly id: string;
  readonly accountId: string;
  readonly market: string | null;
  readonly positionId: string | null;
  readonly kind: string;
  readonly outcome: string;
  readonly reason: string;
  readonly atMs: number;
  readonly tookMs: number | null;
  readonly words: string;
}

export interface PageStoryEntry {
  /** Of the audit record; `part` tells its entries apart. */
  readonly seq: number;
  readonly part: number;
  readonly atMs: number;
  readonly kind: string;
  readonly words: string;
  readonly ruleId?: string;
  readonly subject?: string;
  readonly market?: string;
  readonly outcome?: string;
  readonly reason?: string;
  readonly tookMs?: number;
  readonly alarm?: boolean;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface StoryReply {
  readonly entries: readonly PageStoryEntry[];
  /** Of the next, older part; null: there is none. */
  readonly nextBeforeSeq: number | null;
}

export interface HistoryPointLine {
  readonly atMs: number;
  readonly values: Readonly<Record<string, number | string>>;
}

export interface TopUpLink {
  readonly url: string;
  readonly uniqueId: string;
  readonly opensWith: string;
}

/** The state of the live stream. */
export type Connection =
  | { readonly kind: 'connecting'; readonly sinceMs: number }
  | { readonly kind: 'live'; readonly sinceMs: number }
  | {
      readonly kind: 'lost';
      /** When the last byte came; null: none ever. */
      readonly lastByteMs: number | null;
      readonly retryAtMs: number;
      readonly attempt: number;
      readonly why: string;
    }
  /** The server asks for a read token. */
  | { readonly kind: 'refused'; readonly why: string };

export interface PageState {
  readonly overview: PageOverview | null;
  readonly connection: Connection;
  readonly accounts: ReadonlyMap<string, AccountView>;
  readonly actions: readonly PageAction[];
  /** Rises with everything that an account's story may have got longer by. */
  readonly happened: ReadonlyMap<string, number>;
}

/** A piece of the page: its node stays, what it shows is brought up to date. */
export interface Part<T> {
  readonly node: HTMLElement;
  update(value: T): void;
}

export interface PageView {
  readonly node: HTMLElement;
  readonly title: string;
  /** Accounts whose changes the stream is to send; undefined: not known yet. */
  watched(): readonly string[] | undefined;
  update(state: PageState): void;
  /** The stream is live again after a loss: what it does not carry is read anew. */
  refresh(): void;
  close(): void;
}
