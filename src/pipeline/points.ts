import { type Channel, channel } from 'node:diagnostics_channel';

/** Published on `node:diagnostics_channel` as `breakwater.<point>`, for tracing. Almost free without a subscriber. */
export const POINTS = [
  'poll.taking',
  'poll.taken',
  'poll.reading',
  'poll.read',
  'poll.evaluated',
  'poll.committing',
  'poll.committed',
  'poll.dispatching',
  'poll.dispatched',
  'notice.handing',
  'notice.handed',
  'lane.acquiring',
  'lane.acquired',
  'lane.loaded',
  'lane.advanced',
  'step.beginning',
  'step.begun',
  'step.sending',
  'step.answered',
  'step.finishing',
  'step.finished',
  'lane.reading',
  'lane.read',
  'lane.waiting',
  'lane.releasing',
  'lane.released',
  'account.held',
  'account.beginning',
  'account.begun',
  'account.sending',
  'account.answered',
  'account.finishing',
  'account.finished',
  'account.releasing',
] as const;

export type Point = (typeof POINTS)[number];

/** The subject of a point; never contains a secret. */
export interface PointDetail {
  readonly accountId?: string;
  readonly market?: string | null;
  readonly bucket?: number;
  readonly step?: string;
}

export const POINT_PREFIX = 'breakwater.';

const CHANNELS = new Map<Point, Channel>(POINTS.map((point) => [point, channel(POINT_PREFIX + point)]));

export function pass(point: Point, detail: PointDetail): void {
  const passed = CHANNELS.get(point);
  if (passed?.hasSubscribers === true) passed.publish({ point, ...detail });
}
