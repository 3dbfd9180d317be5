/** A place of files by name, of one process only. Every call may reject. */
export interface Disk {
  /** Replaces a file as a whole: a reader finds the old one or the new one. */
  readonly write: (name: string, text: string) => Promise<void>;
  readonly append: (name: string, text: string) => Promise<void>;
  /** `undefined`: there is no such file. Rejects if it is larger than `mostBytes`. */
  readonly read: (name: string, mostBytes: number) => Promise<string | undefined>;
  readonly names: () => Promise<readonly string[]>;
  readonly remove: (name: string) => Promise<void>;
  /** Gives a file another name, if there is one. */
  readonly rename: (name: string, next: string) => Promise<void>;
  /** Makes what was written to these files survive a power loss. */
  readonly settle: (names: readonly string[]) => Promise<void>;
}

/** A file or folder that this process cannot use; the words are for people. */
export class DiskError extends Error {
  readonly code = 'disk-unusable';
  override name = 'DiskError';
}
