import {
  type Control,
  type Controls,
  MAX_ACKNOWLEDGEMENTS,
  MAX_CONTROLS,
  NO_CONTROLS,
} from '../../core/controls/controls.ts';
import { controlSchema } from '../../core/controls/operator-schemas.ts';
import type { OperatorTrust } from '../../core/ports/operator-trust.ts';
import { parsedJson } from '../../core/text/parsed-json.ts';
import { STAMP_LENGTH } from '../account/account-backend.ts';
import { MOST_TEXT } from '../account/documents.ts';

const VERSION = 1;
/** Two sides that could not see each other may both have as many as allowed. */
const MOST_ENTRIES = 2 * (MAX_CONTROLS + MAX_ACKNOWLEDGEMENTS);

/** Stored form of controls: the stamp, which scripts compare, and JSON. */
export function writeControls(stamp: string, entries: readonly Control[]): string {
  if (stamp.length !== STAMP_LENGTH) throw new TypeError('a stamp has a fixed length');
  return stamp + JSON.stringify({ version: VERSION, entries });
}

export interface ControlsReader {
  readonly trust: OperatorTrust;
  /** Called for each control that is not in force, with the reason. */
  readonly onRefused: (words: string, control?: Control) => void;
}

/** Parses controls. Unreadable ones may hold anything back, so they hold everything back. */
export function readControls(text: string, reader: ControlsReader): Controls {
  if (text === '') return NO_CONTROLS;
  const stamp = text.slice(0, STAMP_LENGTH);
  const pausing = (why: string): Controls => ({ stamp, entries: [unreadable(why)] });
  if (text.length > MOST_TEXT) return pausing('are too long');
  const body = bodyOf(text);
  if (body === undefined || body === null) return pausing('are not JSON');
  const { version, entries } = body;
  if (version !== VERSION || !Array.isArray(entries))
    return pausing(`have version ${String(version)}, this program reads ${VERSION}`);
  if (entries.length > MOST_ENTRIES) return pausing('are too many');
  return { stamp, entries: entries.flatMap((entry: unknown) => readControl(entry, reader)) };
}

export interface SaidControls {
  /** The controls when both sides last had the same. */
  readonly base: string;
  readonly here: string;
  readonly there: string;
}

/**
 * Merges the controls of two sides that could not see each other: keeps what either side has set and neither has
 * lifted. A text that cannot be read wins, as it holds everything back.
 */
export function mergeControls({ base, here, there }: SaidControls, stamp: string): string {
  if (here === there) return there;
  // A server that was emptied has lost its controls.
  if (there === '' || there === base) return here;
  if (here === base) return there;
  const [known, ours, theirs] = [base, here, there].map(entriesIn);
  if (ours === undefined) return here;
  if (theirs === undefined) return there;
  const has = (entries: readonly Entry[] | undefined, { id }: Entry): boolean =>
    entries?.some((entry) => entry.id === id) === true;
  const kept = theirs.filter((entry) => has(ours, entry) || !has(known, entry));
  const added = ours.filter((entry) => !has(theirs, entry) && !has(known, entry));
  return writeControls(stamp, [...kept, ...added] as Control[]);
}

type Entry = Pick<Control, 'id'>;

function entriesIn(text: string): readonly Entry[] | undefined {
  if (text === '') return [];
  const body = bodyOf(text);
  return body?.version === VERSION && Array.isArray(body.entries) ? body.entries : undefined;
}

function bodyOf(text: string) {
  const body = parsedJson(text.slice(STAMP_LENGTH));
  return body as { readonly version?: unknown; readonly entries?: unknown } | null | undefined;
}

function readControl(value: unknown, { trust, onRefused }: ControlsReader): readonly Control[] {
  const read = controlSchema.safeParse(value);
  if (!read.success) {
    if (!isAcknowledgement(value))
      return [unreadable('hold something that is neither a pause nor a silence')];
    // It holds no action back: without it people get reminders, and that is all.
    onRefused('an acknowledgement does not hold: it cannot be read');
    return [];
  }
  const control = read.data as Control;
  const fault = trust.controlFault(control.accountId, control);
  if (fault === undefined) return [control];
  const about =
    control.kind === 'acknowledgement' ? `of ${control.ruleId} for ${control.subject}` : control.id;
  onRefused(`the ${control.kind} ${about} by ${control.author} does not hold: ${fault}`, control);
  return [];
}

function isAcknowledgement(value: unknown): boolean {
  return (value as { readonly kind?: unknown } | null)?.kind === 'acknowledgement';
}

function unreadable(why: string): Control {
  const reason = `the stored controls ${why}: run the program that wrote them, or lift this pause`;
  return {
    kind: 'pause',
    id: 'unreadable',
    accountId: null,
    author: 'breakwater',
    reason,
    atMs: 0,
    expiresAtMs: null,
  };
}
