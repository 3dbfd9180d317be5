import type { AccountRow } from '../../core/lines/account-row.ts';
import type { OutputOf } from '../../core/schema/parts.ts';
import type { AccountView } from '../../core/view/account-view.ts';
import type { ActionLine } from '../../core/view/action-log.ts';
import type { StoryEntry } from '../../core/view/story.ts';
import type { costsReply } from '../api/cost-routes.ts';
import type { orderPreview } from '../api/order-routes.ts';
import type { overview, rowsReply, storyReply, topUpReply } from '../api/schemas.ts';

export type { QueueLine, StressStatus as PageStress, TopUpOffer } from '../sources.ts';

// Replies of the API as the page reads them. Times are Unix milliseconds.

export type Level = 'critical' | 'warning' | 'info' | 'unknown' | 'pending' | 'ok';

export type PageOverview = OutputOf<typeof overview>;

export type { AccountRow };
export type RowsReply = OutputOf<typeof rowsReply>;
export type CostsReply = OutputOf<typeof costsReply>;
export type OrderPreview = OutputOf<typeof orderPreview>;

/** `kind` and `outcome` are texts, because a newer daemon may have more of them. */
export interface PageAction extends Omit<ActionLine, 'kind' | 'outcome'> {
  readonly kind: string;
  readonly outcome: string;
}

export interface PageStoryEntry extends Omit<StoryEntry, 'kind'> {
  readonly kind: string;
}

export interface StoryReply extends Omit<OutputOf<typeof storyReply>, 'entries'> {
  readonly entries: readonly PageStoryEntry[];
}

export type TopUpLink = OutputOf<typeof topUpReply>;

export type Connection =
  | { readonly kind: 'connecting'; readonly sinceMs: number }
  | { readonly kind: 'live'; readonly sinceMs: number }
  | {
      readonly kind: 'lost';
      /** Time of the last byte; null if there was none. */
      readonly lastByteMs: number | null;
      readonly retryAtMs: number;
      readonly attempt: number;
      readonly why: string;
    }
  /** The server asks for a read token. */
  | { readonly kind: 'refused'; readonly why: string };

/** Anything that a template may contain. */
export type Drawn = unknown;

export interface PageState {
  readonly overview: PageOverview | null;
  readonly connection: Connection;
  readonly rows: ReadonlyMap<string, AccountRow>;
  /** Whether `rows` has all accounts. */
  readonly isListKnown: boolean;
  /** Cursor for reconnecting to the stream; undefined: it has sent no rows yet. */
  readonly rowsCursor: string | undefined;
  /** Accounts that are shown in full. */
  readonly accounts: ReadonlyMap<string, AccountView>;
  readonly actions: readonly PageAction[];
  /** By account: rises with each event that may have added to its story. */
  readonly happened: ReadonlyMap<string, number>;
}

export interface PageView {
  readonly title: string;
  readonly wantsRows: boolean;
  /** Accounts whose changes the stream should send. */
  watched(): readonly string[];
  template(state: PageState): Drawn;
  /** Called when the stream is live again after a loss: reloads what the stream does not carry. */
  refresh(): void;
  close(): void;
}
