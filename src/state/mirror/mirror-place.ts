/** Where a mirror is kept: files by name, of one process alone. Every call may reject. */
export interface MirrorPlace {
  /** Replaces a file as a whole: a reader finds the old one or the new one. */
  readonly write: (name: string, text: string) => Promise<void>;
  readonly append: (name: string, text: string) => Promise<void>;
  /** `undefined`: there is none. Rejects for one that is larger than the bound. */
  readonly read: (name: string, mostBytes: number) => Promise<string | undefined>;
  readonly names: () => Promise<readonly string[]>;
  readonly remove: (name: string) => Promise<void>;
  /** Makes what was written to these files survive a loss of power. */
  readonly settle: (names: readonly string[]) => Promise<void>;
}

/** For processes in virtual time: outlives the process that wrote it. */
export function createMemoryMirrorPlace(): MirrorPlace {
  const files = new Map<string, string>();
  return {
    write: async (name, text) => void files.set(name, text),
    append: async (name, text) => void files.set(name, (files.get(name) ?? '') + text),
    read: async (name) => files.get(name),
    names: async () => [...files.keys()],
    remove: async (name) => void files.delete(name),
    settle: async () => undefined,
  };
}
