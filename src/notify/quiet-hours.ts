import type { HeldNotice, HeldNotices, Message } from '../core/ports/delivery.ts';
import type { Notice } from '../core/ports/notifier.ts';
import type { Channel, Outgoing } from './channel.ts';

export interface QuietHoursOptions {
  /** Reports whether a time is inside quiet hours; absent: there are none. */
  readonly isInside?: ((unixMs: number) => boolean) | undefined;
  /** Names of channels; empty: all whose audience is people. */
  readonly channels: readonly string[];
  /** Can also hold notices kept under an earlier config. */
  readonly held: HeldNotices;
  readonly nowMs: () => number;
}

/** Holds back what is not critical until quiet hours end. Machines and pagers have their own schedules. */
export function createQuietHours({ isInside, channels, held, nowMs }: QuietHoursOptions) {
  const isOver = (): boolean => isInside?.(nowMs()) !== true;
  const covers = ({ name, audience }: Channel): boolean =>
    audience === 'people' && (channels.length === 0 || channels.includes(name));
  return {
    /** Reports whether the message is kept for later. If it cannot be kept it is sent now: better loud than lost. */
    async holdBack(message: Message, channel: Channel, insteadOf: Outgoing['insteadOf']): Promise<boolean> {
      if (isOver() || !covers(channel) || !canWait(message)) return false;
      return await held.keep({ channel: channel.name, notice: message, insteadOf }).catch(() => false);
    },
    due: async (): Promise<readonly HeldNotice[]> => (isOver() ? await held.all() : []),
    drop: (told: readonly HeldNotice[]): Promise<void> => held.drop(told),
  };
}

export type QuietHours = ReturnType<typeof createQuietHours>;

type Waiting = Notice & { readonly kind: 'firing' | 'reminder' | 'resolved' | 'alarm' };

/**
 * These cannot wait: critical messages, later stages, approvals, tests and digests (somebody expects them now), and
 * unproven messages, whose severity was lowered: one can be a critical message of another version.
 */
function canWait(message: Message): message is Waiting {
  const { kind, severity, stage, isUnproven } = message;
  if (severity === 'critical' || stage > 0 || isUnproven === true) return false;
  return kind === 'firing' || kind === 'reminder' || kind === 'resolved' || kind === 'alarm';
}
