import type { RequestListener } from 'node:http';
import type { Secret } from '../../config/secret.ts';
import type { WebSettings } from '../../config/web.ts';
import { startWebServer, type WebOptions, type WebServer } from '../../web/server.ts';
import type { DoorSocket } from '../door/door-socket.ts';
import { revealed } from '../revealed.ts';

/** What the server shows; the other options are settings. */
export type WebContent = Pick<
  WebOptions,
  'metrics' | 'readiness' | 'onError' | 'onJobChanged' | 'onRefused' | 'sources' | 'page' | 'queues'
>;

export interface WebListenerOptions {
  readonly content: WebContent;
  /** Overrides the config's. */
  readonly port: number | undefined;
  /** Only commands on this machine are answered. */
  readonly isLocal: boolean;
  readonly onListening: (url: string) => void;
  /** Makes the handler reachable for commands on this machine, if it can. */
  readonly openDoor: (handler: RequestListener) => Promise<DoorSocket | undefined>;
}

/** The web server, as the config in force wants it. */
export class WebListener {
  readonly #options: WebListenerOptions;
  #settings: WebSettings;
  #server: WebServer;
  #door: DoorSocket | undefined;

  private constructor(options: WebListenerOptions, settings: WebSettings, server: WebServer) {
    this.#options = options;
    this.#settings = settings;
    this.#server = server;
  }

  /** @throws WebServerError */
  static async open(settings: WebSettings, options: WebListenerOptions): Promise<WebListener> {
    const server = await listen(settings, options, options.port ?? settings.port);
    const listener = new WebListener(options, settings, server);
    listener.#door = await options.openDoor((...exchange) => listener.#server.answerLocal(...exchange));
    return listener;
  }

  /** undefined: it listens at no address. */
  get url(): string | undefined {
    return this.#options.isLocal ? undefined : this.#server.url;
  }

  /** Restarts the server if its settings differ. @throws WebServerError */
  async adopt(next: WebSettings): Promise<void> {
    const before = this.#settings;
    if (this.#options.isLocal || isSame(before, next)) return;
    const port = this.#portFor(next);
    const isMoved = port !== this.#server.port;
    if (isMoved) {
      const server = await listen(next, this.#options, port);
      await this.#server.close();
      this.#server = server;
    } else {
      await this.#server.close();
      try {
        this.#server = await listen(next, this.#options, port);
      } catch (error) {
        this.#server = await listen(before, this.#options, port);
        throw error;
      }
    }
    this.#settings = next;
  }

  /** Keeps a port that the system chose: somebody may have noted it. */
  #portFor(next: WebSettings): number {
    const { port } = this.#options;
    if (port !== undefined) return port === 0 ? this.#server.port : port;
    return next.port === 0 && this.#settings.port === 0 ? this.#server.port : next.port;
  }

  async close(): Promise<void> {
    await this.#door?.close();
    await this.#server.close();
  }
}

async function listen(
  { health: _health, ...settings }: WebSettings,
  { content, onListening, isLocal, port: askedFor }: WebListenerOptions,
  port: number,
): Promise<WebServer> {
  const portOption = askedFor === undefined ? undefined : '--port';
  const server = await startWebServer({ ...content, ...revealed(settings), port, portOption, isLocal });
  if (!isLocal) onListening(server.url);
  return server;
}

function isSame(a: WebSettings, b: WebSettings): boolean {
  return (
    isSameSecret(a.token, b.token) &&
    isSameSecret(a.controlToken, b.controlToken) &&
    // All secrets have the same JSON, so they are compared above.
    JSON.stringify({ ...a, health: undefined }) === JSON.stringify({ ...b, health: undefined })
  );
}

function isSameSecret(a: Secret | undefined, b: Secret | undefined): boolean {
  return a === undefined ? b === undefined : b?.equals(a) === true;
}
