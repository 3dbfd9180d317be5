import type { ChannelType } from './channels.ts';

type Audience = 'people' | 'machine' | 'pager';

/** The audience of each kind of channel; equal to that of its sender in `src/notify`. `log` cannot be configured. */
export const AUDIENCES = {
  webhook: 'machine',
  slack: 'people',
  telegram: 'people',
  ntfy: 'people',
  alertmanager: 'machine',
  discord: 'people',
  teams: 'people',
  pagerduty: 'pager',
  opsgenie: 'pager',
  email: 'people',
  log: 'machine',
} as const satisfies Readonly<Record<ChannelType | 'log', Audience>>;

const BY_KIND: ReadonlyMap<string, Audience> = new Map(Object.entries(AUDIENCES));

/** Returns the audience of a kind of channel; undefined if there is no such kind. */
export function audienceOf(kind: string): Audience | undefined {
  return BY_KIND.get(kind);
}

function kindsFor(...audiences: readonly Audience[]): readonly string[] {
  return [...BY_KIND].flatMap(([kind, audience]) =>
    kind !== 'log' && audiences.includes(audience) ? [kind] : [],
  );
}

const UNREAD = kindsFor('machine', 'pager');

/** The kinds that people do not read, and the pagers, as text for descriptions. */
export const UNREAD_KINDS = `${UNREAD.slice(0, -1).join(', ')} and ${UNREAD.at(-1)}`;
export const PAGER_KINDS = kindsFor('pager').join(', ');
