import type { MirrorPlace } from '../state/mirror/mirror-place.ts';
import type { MachineProcess } from './machine.ts';

/** A small write; a process that ends before has not written. */
const WRITE_MS = 2;

/** The disk of a process's machine. What is on it outlives the process. */
export function diskOf({ machine, timers }: MachineProcess): MirrorPlace {
  const { files } = machine;
  const written = (change: () => void): Promise<void> =>
    new Promise((resolve) => {
      timers.after(WRITE_MS, () => {
        change();
        resolve();
      });
    });
  return {
    write: (name, text) => written(() => files.set(name, text)),
    append: (name, text) => written(() => files.set(name, (files.get(name) ?? '') + text)),
    read: async (name) => files.get(name),
    names: async () => [...files.keys()],
    remove: (name) => written(() => files.delete(name)),
    settle: async () => undefined,
  };
}
