import type { CompiledConfig } from './compiled-config.ts';
import { Personal, Secret } from './secret.ts';

/**
 * Every secret of a config in the clear, each once: for hiding them wherever something is written. A password
 * that is part of an address is one by itself, as it is and as it is written there.
 */
export function secretValues(config: CompiledConfig): readonly string[] {
  const found = new Set<string>();
  collect(config, found);
  return [...found];
}

function collect(value: unknown, found: Set<string>): void {
  if (value instanceof Personal && !isUnmistakable(value.reveal())) return;
  if (value instanceof Secret) {
    for (const secret of [value.reveal(), ...passwordsOf(value.reveal())]) {
      if (secret !== '') found.add(secret);
    }
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const inner of Object.values(value)) collect(inner, found);
}

/** A name or a city is also a plain word: hiding it everywhere would garble what has nothing to do with it. */
function isUnmistakable(text: string): boolean {
  return text.length >= 8 && /[\d@]/.test(text);
}

function passwordsOf(text: string): readonly string[] {
  if (!URL.canParse(text)) return [];
  const { password } = new URL(text);
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}
