import type { z } from 'zod';
import type { AccountView } from '../../core/view/account-view.ts';
import type { ActionLine } from '../../core/view/action-log.ts';
import type { StoryEntry } from '../../core/view/story.ts';
import type { accountsReply } from '../api/account-schema.ts';
import type { historyReply, Immutable, OverviewReply, storyReply, topUpReply } from '../api/schemas.ts';

export type { QueueLine, StressStatus as PageStress, TopUpOffer } from '../sources.ts';

/** What the API answers, as the page reads it. Times are Unix milliseconds. */

export type Level = 'critical' | 'warning' | 'info' | 'unknown' | 'pending' | 'ok';

export type PageOverview = Immutable<OverviewReply>;
export type PauseLine = PageOverview['pauses'][number];
export type SilenceLine = PageOverview['silences'][number];

export type AccountPage = Immutable<z.output<typeof accountsReply>>;

/** Kinds that a newer daemon has are shown too, so they are texts here. */
export interface PageAction extends Omit<ActionLine, 'kind' | 'outcome'> {
  readonly kind: string;
  readonly outcome: string;
}

export interface PageStoryEntry extends Omit<StoryEntry, 'kind'> {
  readonly kind: string;
}

export interface StoryReply extends Omit<Immutable<z.output<typeof storyReply>>, 'entries'> {
  readonly entries: readonly PageStoryEntry[];
}

export type HistoryPointLine = Immutable<z.output<typeof historyReply>>['points'][number];

export type TopUpLink = Immutable<z.output<typeof topUpReply>>;

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
