import type { z } from 'zod';
import {
  CHANNEL_TYPES,
  type ChannelType,
  channelSchema,
  channelsSchema,
  LOG_CHANNEL,
  type notifySchema,
  type WrittenChannel,
} from './channels.ts';
import type { CompiledChannel, NotifySettings } from './compiled-config.ts';
import type { Path } from './problem.ts';
import type { Secret } from './secret.ts';
import { resolveSecret, resolveUrl, type SecretContext } from './secrets.ts';
import { type ByKind, readByKind } from './shape/by-kind.ts';
import { problemAt, readShape } from './shape/read.ts';
import type { SecretRef, UrlOrRef } from './shape/references.ts';
import { name } from './shape/scalars.ts';
import { nodeAt } from './yaml/document.ts';
import { describeText } from './yaml/value.ts';

/** A channel as written; `undefined` when it has mistakes (reported). */
export interface ReadChannel {
  readonly name: string;
  readonly written: WrittenChannel | undefined;
}

/** Channels one by one, as which keys one may have depends on its type. */
export function readChannels({ document, report }: SecretContext): readonly ReadChannel[] | undefined {
  const section = nodeAt(document.root, ['channels']);
  if (section === undefined) return [];
  const { value } = section;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    readShape(channelsSchema, document, ['channels'], report);
    return undefined;
  }
  return [...section.children.keys()].map((key): ReadChannel => {
    const path = ['channels', key];
    const named = String(key);
    if (!hasValidName({ name: named }) || named === LOG_CHANNEL) {
      const expected = 'a channel name: letters, digits, dots, dashes and underscores, at most 48, not "log"';
      const message = `expected ${expected}, got ${describeText(named)}`;
      report(problemAt(document, path, { code: 'wrong-value', message, at: 'key' }));
      return { name: named, written: undefined };
    }
    return { name: named, written: readByKind(CHANNEL, document, path, report).data };
  });
}

export function hasValidName(channel: Pick<ReadChannel, 'name'>): boolean {
  return name('a channel name').safeParse(channel.name).success;
}

const CHANNEL: ByKind<ChannelType, WrittenChannel> = {
  key: 'type',
  kinds: CHANNEL_TYPES,
  schema: channelSchema,
};

/** Names that rules can use, the log among them, which is told last. */
export function channelNames(channels: readonly ReadChannel[]): readonly string[] {
  return [...channels.map(({ name: named }) => named).filter((named) => named !== LOG_CHANNEL), LOG_CHANNEL];
}

export function compileChannels(
  channels: readonly ReadChannel[],
  context: SecretContext,
): readonly CompiledChannel[] {
  return channels.flatMap(({ name: named, written }) =>
    written === undefined ? [] : [compileChannel(named, written, context)],
  );
}

function compileChannel(named: string, written: WrittenChannel, context: SecretContext): CompiledChannel {
  const path: Path = ['channels', named];
  const secret = <K extends string>(key: K, ref: SecretRef | undefined): { readonly [N in K]?: Secret } => {
    const found = ref === undefined ? undefined : resolveSecret(ref, [...path, key], context);
    return (found === undefined ? {} : { [key]: found }) as { readonly [N in K]?: Secret };
  };
  const address = <K extends string>(key: K, ref: UrlOrRef | undefined): { readonly [N in K]?: Secret } => {
    const found = ref === undefined ? undefined : resolveUrl(ref, [...path, key], WEB, context);
    return (found === undefined ? {} : { [key]: found }) as { readonly [N in K]?: Secret };
  };
  const { timeout, giveUpAfter, proxy } = written;
  const common = {
    name: named,
    timeoutMs: timeout,
    giveUpAfterMs: giveUpAfter,
    ...renamed(address('proxy', proxy)),
  };
  switch (written.type) {
    case 'webhook':
      return {
        ...common,
        type: 'webhook',
        ...address('url', written.url),
        ...secret('secret', written.secret),
      };
    case 'slack':
      return { ...common, type: 'slack', ...address('url', written.url) };
    case 'telegram': {
      const { chat, topic, api } = written;
      const place = { chat, apiUrl: withoutSlash(api), ...(topic === undefined ? {} : { topic }) };
      return { ...common, type: 'telegram', ...secret('token', written.token), ...place };
    }
    case 'alertmanager':
      return {
        ...common,
        type: 'alertmanager',
        urls: written.urls.map(withoutSlash),
        ...secret('authorization', written.authorization),
      };
  }
}

const WEB = ['http:', 'https:'] as const;

function renamed({ proxy }: { readonly proxy?: Secret }): { readonly proxyUrl?: Secret } {
  return proxy === undefined ? {} : { proxyUrl: proxy };
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

const PLACEHOLDERS = ['account', 'rule', 'subject', 'market', 'episode', 'severity', 'key', 'page'];

/** Title of the link to what a message is about. */
const STATUS_PAGE = 'Status page';

export function compileNotify(
  { remindEvery, links }: z.output<typeof notifySchema>,
  publicUrl: string | undefined,
  { document, report }: SecretContext,
): NotifySettings {
  for (const [title, url] of Object.entries(links)) {
    for (const [, placeholder = ''] of url.matchAll(/\{(.*?)\}/g)) {
      if (PLACEHOLDERS.includes(placeholder)) continue;
      const message = `expected placeholders among ${PLACEHOLDERS.map((known) => `{${known}}`).join(', ')}, got ${describeText(`{${placeholder}}`)}`;
      report(problemAt(document, ['notify', 'links', title], { code: 'wrong-value', message }));
    }
  }
  return {
    remindEveryMs: remindEvery,
    links: [
      ...(publicUrl === undefined ? [] : [{ title: STATUS_PAGE, url: `${withoutSlash(publicUrl)}{page}` }]),
      ...Object.entries(links).map(([title, url]) => ({ title, url })),
    ],
  };
}
