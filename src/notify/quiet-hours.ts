import type { HeldNotice, HeldNotices, Message } from '../core/ports/delivery.ts';
import type { Notice } from '../core/ports/notifier.ts';
import type { Channel, Outgoing } from './channel.ts';

export interface QuietHoursOptions {
  /** Whether a moment is inside; absent: there are no quiet hours. */
  readonly isInside?: ((unixMs: number) => boolean) | undefined;
  /** Names; empty: all that people read. */
  readonly channels: readonly string[];
  /** Also holds what was kept under an earlier config. */
  readonly held: HeldNotices;
  readonly nowMs: () => number;
}

/** What is not critical waits for the morning. Receivers that are machines or pagers have schedules of their own. */
export class QuietHours {
  readonly #options: QuietHoursOptions;

  constructor(options: QuietHoursOptions) {
    this.#options = options;
  }

  get isOver(): boolean {
    const { isInside, nowMs } = this.#options;
    return isInside?.(nowMs()) !== true;
  }

  /** Whether it is kept for later. What cannot be kept is told now: better loud than lost. */
  async holdBack(message: Message, channel: Channel, insteadOf: Outgoing['insteadOf']): Promise<boolean> {
    if (this.isOver || !this.#covers(channel) || !canWait(message)) return false;
    const { held } = this.#options;
    return await held.keep({ channel: channel.name, notice: message, insteadOf }).catch(() => false);
  }

  async due(): Promise<readonly HeldNotice[]> {
    return this.isOver ? await this.#options.held.all() : [];
  }

  async drop(told: readonly HeldNotice[]): Promise<void> {
    await this.#options.held.drop(told);
  }

  #covers({ name, audience }: Channel): boolean {
    const { channels } = this.#options;
    return audience === 'people' && (channels.length === 0 || channels.includes(name));
  }
}

type Waiting = Notice & { readonly kind: 'firing' | 'reminder' | 'resolved' | 'alarm' };

/**
 * Not what is critical, what has got worse (a later stage), what asks for an answer, what somebody sends or expects at its
 * time (tests, digests), and what may be somebody else's: that can be a critical one of another version.
 */
function canWait(message: Message): message is Waiting {
  const { kind, severity, stage, isUnproven } = message;
  if (severity === 'critical' || stage > 0 || isUnproven === true) return false;
  return kind === 'firing' || kind === 'reminder' || kind === 'resolved' || kind === 'alarm';
}
