import type { Disk } from '../../../src/core/ports/disk.ts';

/** A disk that outlives the process that wrote to it. */
export function createMemoryDisk(): Disk {
  const files = new Map<string, string>();
  return {
    write: async (name, text) => void files.set(name, text),
    append: async (name, text) => void files.set(name, (files.get(name) ?? '') + text),
    read: async (name) => files.get(name),
    names: async () => [...files.keys()],
    remove: async (name) => void files.delete(name),
    async rename(name, next) {
      const text = files.get(name);
      if (text !== undefined) files.set(next, text);
      files.delete(name);
    },
    settle: async () => undefined,
  };
}
