import path from 'node:path';
import type { Clock } from '../core/ports/clock.ts';
import type { Disk } from '../core/ports/disk.ts';
import type { OperatorTrust } from '../core/ports/operator-trust.ts';
import { MS_PER_MINUTE } from '../core/quantities/units.ts';
import type { SharedTime } from '../pipeline/shared-time.ts';
import { Mirror } from '../state/mirror/mirror.ts';
import { isAccountFile, PROCESS_FILE } from '../state/mirror/mirror-text.ts';
import { type MirrorFault, type ReadMirror, readMirror } from '../state/mirror/read-mirror.ts';
import type { StandbyParts } from './standby.ts';

export interface MirrorSettings {
  /** Absent: there is no mirror. */
  readonly place?: Disk & { readonly where: string };
  readonly prefix: string;
  readonly ordinal: number;
  readonly operators: OperatorTrust;
}

export interface OpenMirrorParts extends Pick<StandbyParts, 'backend' | 'clock' | 'timers' | 'telemetry'> {
  readonly time: SharedTime;
  /** Why the shared store is lost, in words; absent: it answers. */
  readonly lost?: string;
}

/**
 * Reads the mirror that this process wrote before its last end, begins from it if needed, and then keeps it up to date.
 */
export async function openMirror(
  settings: MirrorSettings,
  parts: OpenMirrorParts,
): Promise<Mirror | undefined> {
  const { place, prefix, ordinal, operators: trust } = settings;
  const { backend, clock, timers, time, telemetry } = parts;
  if (place === undefined) {
    beginAlone(parts, 'there is no mirror (stateDir)');
    return undefined;
  }
  const owner = { prefix, ordinal, trust };
  let found: ReadMirror | string;
  let faults: readonly MirrorFault[] = [];
  try {
    found = (await readMirror(place, owner)) ?? `there is no mirror in ${place.where} yet`;
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    found = `the mirror cannot be read: ${words}`;
    const names = await place.names().catch(() => []);
    faults = [{ files: [PROCESS_FILE, ...names.filter((name) => !name.includes(DAMAGED))], words }];
  }
  if (typeof found !== 'string') {
    backend.unattached.add(found.unattached);
    ({ faults } = found);
  }
  beginAlone(parts, found);
  // What stops an account stays where it is until the account is handed back: after another start it must stop it too.
  const stops = ({ files }: MirrorFault): boolean =>
    backend.isAlone && typeof found !== 'string' && files.some(isAccountFile);
  const damaged = new Set(faults.flatMap((fault) => (stops(fault) ? [] : fault.files)));
  const setAside = async (): Promise<void> => {
    for (const name of damaged) {
      await place.rename(name, `${name}${DAMAGED}${clock.nowMs()}`);
      damaged.delete(name);
    }
  };
  // If a file cannot be renamed, writing fails as well, and the mirror reports that.
  await setAside().catch(() => undefined);
  for (const fault of faults) {
    const isStopped = stops(fault);
    if (isStopped) for (const name of fault.files) damaged.add(name);
    const [name] = fault.files;
    const words = `${path.join(place.where, `instance-${ordinal}`, name)} is damaged, and is kept as ${name}${DAMAGED}<time>: ${isStopped ? STOPS : 'a new one takes its place'}`;
    telemetry.emit({
      kind: 'mirror',
      state: 'unread',
      name,
      words,
      isStopped,
      error: new Error(fault.words),
    });
  }
  const source = backend.mirrored({
    nowMs: () => clock.nowMs(),
    clockOffsetMs: () => time.nowMs() - clock.nowMs(),
  });
  const mirror = new Mirror({
    place,
    owner,
    timers,
    source,
    damaged: { names: damaged, setAside },
    onState: (failing) =>
      telemetry.emit({
        kind: 'mirror',
        ...(failing === undefined ? { state: 'well' } : { state: 'failing', ...failing }),
      }),
  });
  backend.mirrorTo(mirror);
  mirror.start();
  return mirror;
}

/** Begins the ending of a damaged file that was set aside. */
const DAMAGED = '.damaged-';
const STOPS =
  'its account is watched, and not acted on, until Redis is back. Bring Redis back, which cures it, and act by hand until then';

/** An older mirror is not acted on: others may have paused or acted since. */
const FRESH_FOR_MS = 300_000;
/** Tolerance for clocks that were set meanwhile. */
const AHEAD_MS = 5_000;

/**
 * Begins alone if the shared store is lost, or if work done alone before the last end has not been handed back.
 * `found`: the mirror, or why there is none, in words.
 */
function beginAlone({ backend, clock, time, lost }: OpenMirrorParts, found: ReadMirror | string): void {
  const mirror = typeof found === 'string' ? undefined : found;
  if (lost === undefined) {
    if (mirror?.process.isAlone !== true) return;
    return backend.beginAlone(mirror, 'what was done without Redis is handed back first');
  }
  if (mirror !== undefined) adoptClock(clock, time, mirror.process.clockOffsetMs);
  backend.beginAlone(mirror, typeof found === 'string' ? found : whyNotFresh(found, clock.nowMs()));
}

function whyNotFresh({ process }: ReadMirror, nowMs: number): string | undefined {
  const ageMs = nowMs - process.atMs;
  if (ageMs <= FRESH_FOR_MS && ageMs >= -AHEAD_MS) return undefined;
  return `the mirror is of ${new Date(process.atMs).toISOString()}, more than ${FRESH_FOR_MS / MS_PER_MINUTE} minutes off`;
}

/** Without the shared clock, assumes its last known offset from this machine's clock. */
function adoptClock(clock: Clock, time: SharedTime, offsetMs: number): void {
  const nowMs = clock.monotonicMs();
  time.adopt({ storeMs: clock.nowMs() + offsetMs, askedAtMs: nowMs, answeredAtMs: nowMs });
}
