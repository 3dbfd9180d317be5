import type { CompiledConfig } from '../../config/compiled-config.ts';
import { degradedWords } from '../../core/lines/process-troubles.ts';
import type { RunningWorker } from '../../queues/worker.ts';
import { createStandbyUpdateCursors } from '../../state/bot/update-cursor.ts';
import type { Base } from '../open-base.ts';
import { createViewSource } from '../web/view-source.ts';
import { type BotDesk, createBotDesk } from './bot-desk.ts';
import type { BotParts, ListedChat } from './run-bot.ts';

const LOOK_EVERY_MS = 1_000;

/** Listens to the bots of the current config until `signal`. */
export function startBots(base: Base, config: () => CompiledConfig, signal: AbortSignal): RunningWorker {
  const desk = deskOf(base);
  const { state, ordinal } = base;
  const isAlone = (): boolean => state.standby?.isAlone === true;
  const cursors = createStandbyUpdateCursors(base.cursors, isAlone, ordinal);
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const current = config();
      const over = new AbortController();
      const either = AbortSignal.any([signal, over.signal]);
      // A key added by a reload takes effect at the next start, and so do commands.
      const bots = base.takesCommands ? botsOf(current) : [];
      const running = startThem(base, bots, { desk, cursors }, either);
      while (!signal.aborted && config() === current) {
        await base.clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
      }
      over.abort(new Error('the config has changed'));
      await running;
    }
  };
  const ended = run();
  return { close: () => ended };
}

/** Only processes that listen load the bot's code. */
async function startThem(
  base: Base,
  bots: readonly WantedBot[],
  parts: Pick<BotParts, 'desk' | 'cursors'>,
  signal: AbortSignal,
): Promise<void> {
  if (bots.length === 0) return;
  const [{ createTelegramBot }, { runBot }, { shortId }] = await Promise.all([
    import('../../notify/telegram-bot.ts'),
    import('./run-bot.ts'),
    import('../../notify/short-id.ts'),
  ]);
  const { clock, telemetry, instance: owner } = base;
  const running = bots.map(({ apiUrl, token, proxy, channel, chats }) => {
    const revealed = token?.reveal() ?? '';
    const bot = createTelegramBot({
      apiUrl,
      token: revealed,
      proxy: typeof proxy === 'string' ? proxy : proxy?.reveal(),
      nowMs: () => clock.nowMs(),
    });
    const id = shortId(`bot ${apiUrl} ${revealed}`);
    return runBot({ id, channel, chats, bot, owner, clock, telemetry, ...parts }, signal);
  });
  await Promise.all(running);
}

type TelegramChannel = Extract<CompiledConfig['channels'][number], { readonly type: 'telegram' }>;

type WantedBot = Pick<TelegramChannel, 'apiUrl' | 'token' | 'proxy'> & Pick<BotParts, 'channel' | 'chats'>;

/** Merges the channels of one bot: it receives each update once. */
function botsOf({ channels }: CompiledConfig): readonly WantedBot[] {
  const bots = new Map<string, WantedBot & { readonly chats: Map<string, ListedChat> }>();
  for (const channel of channels) {
    if (channel.type !== 'telegram' || channel.commands === undefined) continue;
    const key = JSON.stringify([channel.apiUrl, channel.token?.reveal()]);
    const bot = bots.get(key) ?? { ...channel, channel: channel.name, chats: new Map<string, ListedChat>() };
    bots.set(key, bot);
    for (const { chat, name, scopes } of channel.commands) {
      const mayControl = scopes.includes('control') || bot.chats.get(chat)?.mayControl === true;
      bot.chats.set(chat, { name: name ?? bot.chats.get(chat)?.name, mayControl });
    }
  }
  return [...bots.values()];
}

function deskOf({ state, accounts, clock, process }: Base): BotDesk {
  const views = createViewSource({ store: state.store, accounts, clock });
  return createBotDesk({
    controls: state.controls,
    views: async (ids) => (await views.read(ids)).map(({ view }) => view),
    accountIds: () => views.ids(),
    troubles: () => process.metrics.degraded().map(degradedWords),
    clock,
  });
}
