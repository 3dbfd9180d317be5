import { z } from 'zod';
import { CHANNELS, type ChannelType } from './channels.ts';

export interface ChannelKey {
  readonly isNeeded: boolean;
  /**
   * `secret`: only as a reference. `address`: as a reference or in place. `list`: a list of mappings, only in the file.
   * `number` and `text`: in place.
   */
  readonly kind: 'secret' | 'address' | 'number' | 'text' | 'list';
}

/** Returns the keys of a channel type except `type`, in the order of its schema. */
export function channelKeys(type: ChannelType): Readonly<Record<string, ChannelKey>> {
  const { properties = {}, required = [] } = z.toJSONSchema(CHANNELS[type], { io: 'input' });
  const entries = Object.entries(properties).filter(([key]) => key !== 'type');
  return Object.fromEntries(
    entries.map(([key, json]) => [key, { isNeeded: required.includes(key), kind: kindOf(json) }]),
  );
}

/** Tells the kind from the JSON Schema that `secretRef`, `urlOrRef` and numbers produce for editors. */
function kindOf(json: z.core.JSONSchema._JSONSchema): ChannelKey['kind'] {
  if (typeof json !== 'object') return 'text';
  if (isListOfMappings(json)) return 'list';
  if (json.oneOf !== undefined) return 'secret';
  if (json.anyOf !== undefined) return 'address';
  return json.type === 'integer' || json.type === 'number' ? 'number' : 'text';
}

/** A list of texts counts as a text, because it may be written as one. */
function isListOfMappings({ items }: z.core.JSONSchema.JSONSchema): boolean {
  return typeof items === 'object' && !Array.isArray(items) && items.type === 'object';
}
