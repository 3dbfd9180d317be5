import type { MirrorPlace } from '../state/mirror/mirror-place.ts';
import type { MachineProcess } from './machine.ts';

/** Time of a small write; a process that ends earlier has not written. */
const WRITE_MS = 2;

/** The disk of a process's machine. Its files outlive the process. */
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
