import type { CompiledConfig } from './compiled.ts';
import { Secret } from './secret.ts';

/** Every secret of a config in the clear, each once: for hiding them wherever something is written. */
export function secretValues(config: CompiledConfig): readonly string[] {
  const found = new Set<string>();
  collect(config, found);
  return [...found];
}

function collect(value: unknown, found: Set<string>): void {
  if (value instanceof Secret) {
    if (value.reveal() !== '') found.add(value.reveal());
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const inner of Object.values(value)) collect(inner, found);
}
