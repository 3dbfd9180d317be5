import type { z } from 'zod';
import type { AccountRow } from '../../core/lines/account-row.ts';
import type { AccountView } from '../../core/view/account-view.ts';
import type { ActionLine } from '../../core/view/action-log.ts';
import type { StoryEntry } from '../../core/view/story.ts';
import type { rowsReply } from '../api/account-schema.ts';
import type { costsReply } from '../api/cost-routes.ts';
import type { orderPreview } from '../api/order-routes.ts';
import type { historyReply, Immutable, OverviewReply, storyReply, topUpReply } from '../api/schemas.ts';

export type { QueueLine, StressStatus as PageStress, TopUpOffer } from '../sources.ts';

/** What the API answers, as the page reads it. Times are Unix milliseconds. */

export type Level = 'critical' | 'warning' | 'info' | 'unknown' | 'pending' | 'ok';

export type PageOverview = Immutable<OverviewReply>;
export type PauseLine = PageOverview['pauses'][number];
export type SilenceLine = PageOverview['silences'][number];

export type { AccountRow };
export type RowsReply = Immutable<z.output<typeof rowsReply>>;
export type CostsReply = Immutable<z.output<typeof costsReply>>;
export type OrderPreview = Immutable<z.output<typeof orderPreview>>;

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

/** What a template may hold. */
export type Drawn = unknown;

export interface PageState {
  readonly overview: PageOverview | null;
  readonly connection: Connection;
  /** One line for each account. */
  readonly rows: ReadonlyMap<string, AccountRow>;
  /** Whether those are all. */
  readonly isListKnown: boolean;
  /** What the stream is come back to with; undefined: it has sent no rows yet. */
  readonly rowsCursor: string | undefined;
  /** Accounts of which everything is shown. */
  readonly accounts: ReadonlyMap<string, AccountView>;
  readonly actions: readonly PageAction[];
  /** Rises with everything that an account's story may have got longer by. */
  readonly happened: ReadonlyMap<string, number>;
}

export interface PageView {
  readonly title: string;
  /** Whether it shows a line of every account. */
  readonly wantsRows: boolean;
  /** Accounts whose changes the stream is to send. */
  watched(): readonly string[];
  template(state: PageState): Drawn;
  /** The stream is live again after a loss: what it does not carry is read anew. */
  refresh(): void;
  close(): void;
}
