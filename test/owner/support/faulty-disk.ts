import type { Disk } from '../../../src/core/ports/disk.ts';

/** The process that used the disk has died: no call ends any more. */
const NEVER = new Promise<never>(() => undefined);

export interface FaultyDisk extends Disk {
  /** Files as another process would find them. */
  readonly files: Map<string, string>;
  /** Every call that changes something fails with this; undefined: none does. */
  failing: Error | undefined;
  /** Calls wait until `goOn`. */
  hangs: boolean;
  goOn(): void;
  /** Calls that change something so far. */
  readonly changes: number;
  /** The process dies in the call of this number, of whose text only this part lands (0 to 1). */
  dieAt: { readonly change: number; readonly part: number } | undefined;
  readonly isDead: boolean;
  /** Another process with the same files. */
  restarted(): FaultyDisk;
}

export function createFaultyDisk(files = new Map<string, string>()): FaultyDisk {
  let changes = 0;
  let isDead = false;
  let resume = Promise.withResolvers<void>();
  const change = async (apply: (part: number) => void): Promise<void> => {
    if (isDead) return await NEVER;
    changes += 1;
    const { dieAt } = disk;
    if (dieAt !== undefined && changes >= dieAt.change) {
      isDead = true;
      apply(dieAt.part);
      return await NEVER;
    }
    if (disk.hangs) await resume.promise;
    // Real disks answer later than in the turn of the call.
    await new Promise(setImmediate);
    if (disk.failing !== undefined) throw disk.failing;
    apply(1);
  };
  const cut = (text: string, part: number): string => text.slice(0, Math.floor(text.length * part));
  const disk: FaultyDisk = {
    files,
    failing: undefined,
    hangs: false,
    dieAt: undefined,
    get changes() {
      return changes;
    },
    get isDead() {
      return isDead;
    },
    goOn() {
      disk.hangs = false;
      resume.resolve();
      resume = Promise.withResolvers<void>();
    },
    // Made beside the file and renamed: all of it or nothing.
    write: (name, text) => change((part) => void (part === 1 && files.set(name, text))),
    append: (name, text) => change((part) => void files.set(name, (files.get(name) ?? '') + cut(text, part))),
    read: async (name) => (isDead ? await NEVER : files.get(name)),
    names: async () => (isDead ? await NEVER : [...files.keys()]),
    remove: (name) => change((part) => void (part === 1 && files.delete(name))),
    rename: (name, next) =>
      change((part) => {
        const text = files.get(name);
        if (text === undefined || part < 1) return;
        files.set(next, text);
        files.delete(name);
      }),
    settle: () => change(() => undefined),
    restarted: () => createFaultyDisk(files),
  };
  return disk;
}
