import type { WebSettings } from '../../config/web.ts';
import { type HealthServer, startHealthServer } from '../../web/health.ts';
import type { Base } from '../open-base.ts';
import { readinessIn } from './readiness.ts';

type Place = NonNullable<WebSettings['health']>;

/** The listener for probes, as the config in force wants it. */
export class HealthListener {
  readonly #base: Base;
  readonly #port: number | undefined;
  readonly #readiness: ReturnType<typeof readinessIn>;
  #place: Place | undefined;
  #server: HealthServer | undefined;

  /** `port` overrides the config's. */
  constructor(base: Base, port: number | undefined) {
    this.#base = base;
    this.#port = port;
    this.#readiness = readinessIn(base);
  }

  get url(): string | undefined {
    return this.#server?.url;
  }

  /** Adopts a config. If it cannot listen at the new address, the old listener stays. @throws WebServerError */
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
      portOption: this.#port === undefined ? undefined : '--health-port',
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
