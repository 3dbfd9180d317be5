import type { WebSettings } from '../../config/web.ts';
import { type HealthServer, startHealthServer } from '../../web/health.ts';
import type { Base } from '../open-base.ts';
import { readinessOf } from './readiness.ts';
import { readSharedView, remembering } from './shared-view.ts';

type Place = NonNullable<WebSettings['health']>;

/** Readiness of a process that probes ask again and again. */
const MAX_AGE_MS = 1_000;

/** The listener for probes as the config in force wants it. */
export class HealthListener {
  readonly #base: Base;
  readonly #port: number | undefined;
  readonly #readiness: () => ReturnType<typeof readinessOf>;
  #place: Place | undefined;
  #server: HealthServer | undefined;

  /** `port` wins over the config's. */
  constructor(base: Base, port: number | undefined) {
    const { state, accounts, redis, clock } = base;
    const ids = () => accounts.all().map(({ id }) => id);
    const view = remembering(clock, MAX_AGE_MS, () => readSharedView(state.store, ids()));
    this.#base = base;
    this.#port = port;
    const isAlone = (): boolean => state.standby?.isAlone === true;
    this.#readiness = () =>
      readinessOf({ ping: () => redis.ping(), isAlone, view, accounts: () => accounts.all(), clock });
  }

  get url(): string | undefined {
    return this.#server?.url;
  }

  /** If it cannot listen there, it is as it was before. @throws WebServerError */
  async adopt({ health }: WebSettings): Promise<void> {
    const next = this.#port === undefined ? health : { host: health?.host ?? '127.0.0.1', port: this.#port };
    if (JSON.stringify(next) === JSON.stringify(this.#place)) return;
    const server = next === undefined ? undefined : await this.#listen(next);
    await this.#server?.close();
    this.#server = server;
    this.#place = next;
  }

  async #listen(place: Place): Promise<HealthServer> {
    const { telemetry } = this.#base;
    const server = await startHealthServer({
      ...place,
      readiness: this.#readiness,
      onError: (error) => telemetry.emit({ kind: 'webError', error }),
    });
    telemetry.emit({ kind: 'listening', url: server.url, probesOnly: true });
    return server;
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }
}
