import { createHmac } from 'node:crypto';
import type { Reply } from '../../src/simulator/http/reply.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import { type Baseline, liquidatedMs, runUntilLiquidated, unprotected } from './baseline.ts';
import { placesOf } from './coins.ts';
import type { FieldCase, LosingPosition } from './field-case.ts';
import { ACCOUNT } from './holdings.ts';

/**
 * The measure of what can be prevented: a player that knows the path of prices, but not which requests will fail. It
 * polls every second over the same wire. From the first reply that could have shown the threshold crossed, it sends one
 * reduce-only stop-limit order for all of each losing position: a price step beyond the market at its arrival, so that
 * it triggers at the next tick, and priced so that any book fills it. It retries failures as soon as it learns of them.
 * It shares no code with the daemon.
 */
export async function playerPrevents(fieldCase: FieldCase, baseline: Baseline): Promise<boolean> {
  const world = openWorld(unprotected(fieldCase.world));
  const player = new Player(world, fieldCase, baseline);
  player.begin();
  await runUntilLiquidated(world, () => player.isDone);
  return liquidatedMs(world) === undefined && player.isDone;
}

const POSITIONS = '/api/v4/collateral-account/positions/open';
const STOP_LIMIT = '/api/v4/order/collateral/stop-limit';
const POLL_MS = 1_000;
/** Pause after a gateway's reply that says "too many requests". */
const BACK_OFF_MS = 1_000;
/** Pauses after successive failures; the last one repeats. */
const RETRY_MS = [0, 200, 400, 800, 1_000];
/** Distance of the limit beyond its activation: more than any book needs, and within the price band. */
const SLIPPAGE = 0.08;
/** An accepted order that has not filled by then is sent again. */
const FILL_WITHIN_MS = 2_000;

/** Result of a request; undefined if the connection was lost, or no reply came. */
type Answer = Reply | undefined;

class Player {
  readonly #world: World;
  readonly #case: FieldCase;
  readonly #baseline: Baseline;
  readonly #access: { readonly apiKey: string; readonly apiSecret: string };
  #nonce = 1;
  #hasBegun = false;
  /** Markets whose side a reply has shown. */
  readonly #sided = new Set<string>();

  constructor(world: World, fieldCase: FieldCase, baseline: Baseline) {
    this.#world = world;
    this.#case = fieldCase;
    this.#baseline = baseline;
    this.#access = world.exchange.accounts.access(ACCOUNT);
  }

  get isDone(): boolean {
    return this.#hasBegun && this.#case.losing.every((position) => !this.#isOpen(position));
  }

  get #isUnsigned(): boolean {
    return this.#case.levels.shortAmount === 'unsigned';
  }

  begin(): void {
    const { breachMs } = this.#baseline;
    if (breachMs === undefined) return;
    // The sides may show long before, and be hidden then.
    const fromMs = this.#isUnsigned ? 0 : Math.max(0, breachMs - this.#case.roundTrips.readMs - POLL_MS);
    this.#poll(Math.floor(fromMs / POLL_MS) * POLL_MS);
  }

  #poll(atMs: number): void {
    const { readMs } = this.#case.roundTrips;
    this.#world.schedule(atMs, () => {
      if (this.#hasBegun) return;
      this.#send(POSITIONS, {}, readMs, (answer) => {
        if (!this.#hasBegun && this.#shows(answer, atMs + readMs / 2)) this.#act();
      });
      this.#poll(atMs + POLL_MS);
    });
  }

  /** Whether a reply made then, with this content, could have shown the threshold crossed. */
  #shows(answer: Answer, madeAtMs: number): boolean {
    if (answer?.status !== 200) return false;
    const { losing, threshold, readLagMs } = this.#case;
    const records = parsed(answer.body);
    if (!Array.isArray(records)) return false;
    const shown = records.filter(
      (record: PositionReply | null): record is PositionReply =>
        losing.some(({ market }) => market === record?.market) &&
        NEEDED.every(
          (field) => typeof record?.[field] === 'string' && Number.isFinite(Number(record[field])),
        ),
    );
    for (const { market } of shown.filter((record) => this.#hasSide(record))) this.#sided.add(market);
    if (this.#isUnsigned && !losing.every(({ market }) => this.#sided.has(market))) return false;
    return shown.length > 0 && this.#baseline.distanceAt(madeAtMs - readLagMs) < threshold;
  }

  /**
   * Whether a reply shows on which side a position is: by name, by the sign of its amount, or because with the other
   * side the market would be past the liquidation price.
   */
  #hasSide({ positionSide, amount, basePrice, unrealizedPnl, liquidationPrice }: PositionReply): boolean {
    if (positionSide !== 'BOTH' || !this.#isUnsigned) return true;
    const gain = Number(unrealizedPnl) / Math.abs(Number(amount));
    const [asLong, asShort] = [Number(basePrice) + gain, Number(basePrice) - gain];
    return asLong > Number(liquidationPrice) !== (asShort > 0 && asShort < Number(liquidationPrice));
  }

  #act(): void {
    this.#hasBegun = true;
    for (const position of this.#case.losing) this.#order(position);
  }

  #order(position: LosingPosition, failures = 0): void {
    if (!this.#isOpen(position)) return;
    const { orderMs } = this.#case.roundTrips;
    this.#send(STOP_LIMIT, this.#shape(position), orderMs, (answer) => {
      const again = (delayMs: number, failed: number): void =>
        this.#world.schedule(this.#world.elapsedMs() + delayMs, () => this.#order(position, failed));
      if (answer?.status === 200) return again(FILL_WITHIN_MS, 0);
      const isGateway = answer?.status === 429 && parsed(answer.body) === undefined;
      const retryMs = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 0;
      again(isGateway ? BACK_OFF_MS : retryMs, failures + 1);
    });
  }

  #shape({ market, side, positionSide, amount, priceStep }: LosingPosition): object {
    const arrivesMs = this.#world.elapsedMs() + this.#case.roundTrips.orderMs / 2;
    const price = this.#baseline.triggerAt(market, arrivesMs);
    const beyond = side === 'sell' ? -1 : 1;
    const steps = Math.round(price / Number(priceStep)) + beyond;
    const limit = Math.round(steps * (1 + beyond * SLIPPAGE));
    const text = (count: number): string => (count * Number(priceStep)).toFixed(placesOf(priceStep));
    return {
      market,
      side,
      amount,
      price: text(limit),
      activation_price: text(steps),
      positionSide,
      reduceOnly: true,
    };
  }

  #isOpen({ market, positionSide }: LosingPosition): boolean {
    return this.#world.exchange.model
      .openPositions(ACCOUNT, market)
      .some((position) => positionSide === 'BOTH' || position.positionSide === positionSide);
  }

  /** Calls back once; a silent connection counts as lost after two round trips, or a second. */
  #send(path: string, params: object, roundTripMs: number, done: (answer: Answer) => void): void {
    const world = this.#world;
    const { toExchange } = world.spec.network ?? {};
    const oneWayMs = Number(toExchange);
    const request = this.#signed(path, params);
    let isOpen = true;
    const finish = (answer: Answer): void => {
      if (isOpen) done(answer);
      isOpen = false;
    };
    const sentMs = world.elapsedMs();
    const back = (answer: Answer): void => world.schedule(world.elapsedMs() + oneWayMs, () => finish(answer));
    world.schedule(sentMs + oneWayMs, () =>
      world.exchange.front.receive(0, request, {
        send: (reply, _date, isCut) => back(isCut ? undefined : reply),
        reset: () => back(undefined),
      }),
    );
    world.schedule(sentMs + Math.max(1_000, 2 * roundTripMs), () => finish(undefined));
  }

  #signed(path: string, params: object) {
    const { apiKey, apiSecret } = this.#access;
    const body = Buffer.from(JSON.stringify({ ...params, request: path, nonce: String(this.#nonce++) }));
    const payload = body.toString('base64');
    return {
      httpMethod: 'POST',
      path,
      body,
      oversized: false,
      contentType: 'application/json',
      apiKey,
      payload,
      signature: createHmac('sha512', apiSecret).update(payload).digest('hex'),
      referer: undefined,
      userAgent: 'player',
      acceptEncoding: 'identity',
      address: '10.0.0.2',
    };
  }
}

type PositionReply = Readonly<Record<'market' | 'positionSide' | (typeof NEEDED)[number], string>>;

/** Without these a record shows no distance. */
const NEEDED = ['amount', 'basePrice', 'liquidationPrice', 'unrealizedPnl'] as const;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
