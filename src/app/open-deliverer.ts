import type { CompiledChannel, CompiledConfig } from '../config/compiled-config.ts';
import type { Clock, Random } from '../core/ports/clock.ts';
import type { Deliverer, DeliveryObserver, ReceiptStore } from '../core/ports/delivery.ts';
import type { ChannelOptions } from '../notify/channels.ts';
import type { WriteLog } from '../notify/log-channel.ts';

export interface DelivererParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly receipts: ReceiptStore;
  readonly instance: string;
  readonly log: WriteLog;
  readonly observer?: DeliveryObserver;
}

/** The channels of a config, with their secrets in the clear inside of them only. */
export async function delivererOf(config: CompiledConfig, parts: DelivererParts): Promise<Deliverer> {
  const [{ openChannels }, { createDeliverer }] = await Promise.all([
    import('../notify/channels.ts'),
    import('../notify/deliverer.ts'),
  ]);
  const { clock, random, receipts, instance, log, observer } = parts;
  const channels = config.channels.map((channel) => channelOptions(channel, config));
  const opened = openChannels(channels, { clock, links: config.notify.links, log });
  return createDeliverer({
    opened,
    receipts,
    clock,
    random,
    instance,
    ...(observer === undefined ? {} : { observer }),
  });
}

/** An alert that is not repeated has ended for the Alertmanager after this many reminders. */
const EXPIRES_AFTER_REMINDERS = 3;

/** A channel as the notifier takes it, its secrets in the clear: do not keep. */
export function channelOptions(channel: CompiledChannel, { notify }: CompiledConfig): ChannelOptions {
  const { name, timeoutMs, giveUpAfterMs, proxyUrl } = channel;
  const common = {
    name,
    timeoutMs,
    giveUpAfterMs,
    ...(proxyUrl === undefined ? {} : { proxyUrl: proxyUrl.reveal() }),
  };
  switch (channel.type) {
    case 'webhook':
      return {
        ...common,
        type: 'webhook',
        url: channel.url?.reveal() ?? '',
        ...(channel.secret === undefined ? {} : { secret: channel.secret.reveal() }),
      };
    case 'slack':
      return { ...common, type: 'slack', url: channel.url?.reveal() ?? '' };
    case 'telegram': {
      const { apiUrl, chat, topic } = channel;
      const token = channel.token?.reveal() ?? '';
      return { ...common, type: 'telegram', apiUrl, token, chat, ...(topic === undefined ? {} : { topic }) };
    }
    case 'alertmanager':
      return {
        ...common,
        type: 'alertmanager',
        urls: channel.urls,
        expireAfterMs: EXPIRES_AFTER_REMINDERS * notify.remindEveryMs,
        ...(channel.authorization === undefined ? {} : { authorization: channel.authorization.reveal() }),
      };
  }
}
