import { z } from 'zod';
import { CHANNELS, type ChannelType } from './channels.ts';

/** How a key of a channel is set. */
export interface ChannelKey {
  readonly isNeeded: boolean;
  /** `secret`: by a reference only. `address`: by a reference or in place. `list`: in the file only. The others: in place. */
  readonly kind: 'secret' | 'address' | 'number' | 'text' | 'list';
}

/** The keys of a type of channel but `type` itself, as its schema has them. */
export function channelKeys(type: ChannelType): Readonly<Record<string, ChannelKey>> {
  const { properties = {}, required = [] } = z.toJSONSchema(CHANNELS[type], { io: 'input' });
  const entries = Object.entries(properties).filter(([key]) => key !== 'type');
  return Object.fromEntries(
    entries.map(([key, json]) => [key, { isNeeded: required.includes(key), kind: kindOf(json) }]),
  );
}

/** By what `secretRef`, `urlOrRef` and numbers say of themselves to editors. */
function kindOf(json: z.core.JSONSchema._JSONSchema): ChannelKey['kind'] {
  if (typeof json !== 'object') return 'text';
  if (isListOfMappings(json)) return 'list';
  if (json.oneOf !== undefined) return 'secret';
  if (json.anyOf !== undefined) return 'address';
  return json.type === 'integer' || json.type === 'number' ? 'number' : 'text';
}

/** A list of texts may be written as one text. */
function isListOfMappings({ items }: z.core.JSONSchema.JSONSchema): boolean {
  return typeof items === 'object' && !Array.isArray(items) && items.type === 'object';
}
