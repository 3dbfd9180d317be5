import { sha256Hex } from '../core/audit/sha256.ts';
import { type Notice, noticeSchema } from '../core/ports/notifier.ts';
import { readJson } from '../state/read-json.ts';
import type { KeptValues } from './own-values.ts';

const NOTICE = 'notice:';
/** A notice that nobody could be told for so long says nothing new. */
const LIFE_MS = 86_400_000;

/** Notices on their way, which a restart finds again. */
export class Outbox {
  readonly #values: KeptValues;

  constructor(values: KeptValues) {
    this.#values = values;
  }

  async keep(notices: readonly Notice[]): Promise<void> {
    await Promise.all(
      notices.map((notice) => this.#values.set(nameOf(notice), JSON.stringify(notice), LIFE_MS)),
    );
  }

  async delivered(notice: Notice): Promise<void> {
    await this.#values.set(nameOf(notice), null);
  }

  /** Those that an earlier process had not delivered. */
  left(): readonly Notice[] {
    return this.#values.names(NOTICE).flatMap((name) => {
      const notice = readJson(noticeSchema, this.#values.get(name) ?? '');
      return notice === undefined ? [] : [notice];
    });
  }
}

function nameOf({ id }: Notice): string {
  return `${NOTICE}${sha256Hex(id).slice(0, 40)}`;
}
