import type { ConfiguredAccounts } from '../app/configured-accounts.ts';
import { makeChangedDue, openPipeline, type Pipeline, schedulesOf } from '../app/pipeline.ts';
import { PollTicks, WITHOUT_QUEUE } from '../app/poll-ticks.ts';
import { Standby, type StandbyParts } from '../app/standby.ts';
import { compareConfigs, isUnchanged } from '../config/compare-configs.ts';
import type { CompiledConfig } from '../config/compiled-config.ts';
import type { Notice, Notifier } from '../core/ports/notifier.ts';
import { TRUSTING } from '../core/ports/operator-trust.ts';
import type { DaemonEvent, Telemetry } from '../core/ports/telemetry.ts';
import type { WireDispatcher } from '../exchange/call/sockets.ts';
import { createOwnState } from '../owner/open-own-state.ts';
import { DirectLanes } from '../pipeline/act/direct-lanes.ts';
import { ReadMemory } from '../pipeline/poll/read-memory.ts';
import { SharedTime } from '../pipeline/shared-time.ts';
import type { StandbyBackend } from '../state/account/backend-standby.ts';
import type { Mirror } from '../state/mirror/mirror.ts';
import { createMemoryState, createStandby, type State } from '../state/state.ts';
import { chanceOf } from './chance.ts';
import { WorldConfigError } from './config.ts';
import type { EventQueue } from './event-queue.ts';
import { BOOT_MS, type LinkEnd, type LinkState, Machine, MachineProcess } from './machine.ts';
import type { People } from './people.ts';
import { diskOf, type LinkedStores, lostAtStart, openAccounts, openDisk } from './process-parts.ts';
import type { DaemonSpec } from './spec.ts';
import type { Ticks, TickTaker } from './ticks.ts';

/** The surroundings of a daemon in a world. */
export interface WorldSurroundings {
  readonly queue: EventQueue;
  readonly seed: number;
  /** Unix milliseconds. */
  readonly startMs: number;
  readonly ticks: Ticks;
  /** Whether other daemons share the store. */
  readonly hasCompany: boolean;
  readonly linkFor: (process: MachineProcess, instance: string) => LinkedStores;
  /** Reads the store's clock over the link. */
  readonly storeTime: (process: MachineProcess) => Promise<number>;
  /** Connects to a base address of the exchange. */
  readonly connect: (region: number, from: MachineProcess) => WireDispatcher;
  /** @throws WorldConfigError */
  readonly loadConfig: (text: string) => CompiledConfig;
  readonly observe: ((daemon: string) => Telemetry | undefined) | undefined;
  /** The recipients of notices. */
  readonly people: People;
  /** Collects unexpected errors. */
  readonly errors: unknown[];
}

/** Events of nearly every poll: passed on, but not kept. */
const ROUTINE: ReadonlySet<DaemonEvent['kind']> = new Set(['read', 'call', 'evaluated', 'ticked', 'commit']);
/** As often as the daemon's watchdog measures the store's clock. */
const FOLLOW_CLOCK_MS = 10_000;

/** From one start of a daemon to its end. */
interface Life {
  readonly process: MachineProcess;
  readonly accounts: ConfiguredAccounts;
  readonly state: State;
  readonly memory: ReadMemory;
  readonly time: SharedTime;
  readonly pipeline: Pipeline;
  readonly queue: DirectLanes;
  readonly taker: TickTaker;
  readonly over: AbortController;
  readonly ticks: PollTicks;
  readonly kept: SharedLife | OwnState;
}

/** What a daemon with a store has. */
interface SharedLife {
  readonly standby: Standby;
  readonly backend: StandbyBackend;
  readonly probe: LinkedStores['probe'];
  mirror: Mirror | undefined;
}

type OwnState = ReturnType<typeof createOwnState>;

/** A daemon of a world: the real pipeline and client on a separate machine. */
export class WorldDaemon {
  readonly name: string;
  /** Reported events, without the routine ones of every poll. */
  readonly events: DaemonEvent[] = [];
  /** Notices that it would have sent to people. */
  readonly notices: Notice[] = [];
  /** Number of evaluations so far. */
  polls = 0;
  readonly #surroundings: WorldSurroundings;
  readonly #machine: Machine;
  readonly #ordinal: number;
  readonly #isOnOwnDisk: boolean;
  readonly #telemetry: Telemetry;
  #configText: string;
  #config: CompiledConfig;
  #lives = 0;
  #isStopping = false;
  #startsAgain = false;
  #life: Life | undefined;

  /** @throws WorldConfigError */
  constructor(spec: DaemonSpec, ordinal: number, surroundings: WorldSurroundings) {
    this.name = spec.name;
    this.#ordinal = ordinal;
    this.#isOnOwnDisk = spec.onOwnDisk === true;
    this.#surroundings = surroundings;
    const { queue, startMs } = surroundings;
    this.#machine = new Machine(queue, startMs, spec.clock, BOOT_MS * (ordinal + 1));
    this.#configText = spec.config;
    this.#config = surroundings.loadConfig(spec.config);
    const observer = surroundings.observe?.(spec.name);
    this.#telemetry = {
      emit: (event) => {
        observer?.emit(event);
        if (event.kind === 'evaluated') this.polls += 1;
        if (!ROUTINE.has(event.kind)) this.events.push(event);
      },
    };
  }

  get state(): 'running' | 'suspended' | 'down' {
    const state = this.#life?.process.state ?? 'dead';
    return state === 'dead' ? 'down' : state;
  }

  get config(): CompiledConfig {
    return this.#config;
  }

  /** Its own view of the shared state; undefined while it is down. */
  get store(): State | undefined {
    return this.#life?.state;
  }

  /**
   * Starts the daemon with the config that it was last given. Has no effect if it is up; a daemon that is stopping
   * starts again when it has ended.
   */
  start(): void {
    if (this.#life !== undefined) {
      this.#startsAgain = this.#isStopping;
      return;
    }
    this.#config = this.#surroundings.loadConfig(this.#configText);
    this.#lives += 1;
    const life = this.#open();
    this.#life = life;
    void this.#begin(life).catch((error: unknown) => this.#surroundings.errors.push(error));
  }

  async #begin(life: Life): Promise<void> {
    const { accounts, process, kept, pipeline, time } = life;
    const lost = 'probe' in kept ? await lostAtStart(kept) : undefined;
    const host = { process, telemetry: this.#telemetry, ordinal: this.#ordinal, instance: this.#instance() };
    if ('probe' in kept) kept.mirror = await openDisk(host, { ...kept, time }, lost);
    else await kept.open();
    if (this.#life !== life || this.#isStopping) return;
    accounts.adopt(this.#config);
    if ('probe' in kept) {
      this.#surroundings.ticks.assert(schedulesOf(accounts));
      this.#surroundings.ticks.join(life.taker);
    }
    if (lost === undefined) this.#followClock(life);
    this.#telemetry.emit({
      kind: 'started',
      roles: ['poll', 'act'],
      accounts: accounts.size,
      instance: this.#instance(),
    });
    process.timers.after(FOLLOW_CLOCK_MS, () => this.#followOften(life));
    if ('probe' in kept) kept.standby.start(pipeline.context, lost);
    else life.ticks.start();
  }

  /** Only its clocks go on; requests that it has sent stay under way. */
  suspend(): void {
    this.#life?.process.suspend();
  }

  resume(): void {
    this.#life?.process.resume();
  }

  /** Ends all its work at once; the shared store keeps what was committed. */
  kill(): void {
    const life = this.#life;
    if (life === undefined) return;
    this.#life = undefined;
    this.#isStopping = false;
    life.process.kill();
    this.#surroundings.ticks.leave(life.taker);
  }

  /** Shuts down in order, as the daemon does on SIGTERM; time must pass for it. */
  async stop(): Promise<void> {
    const life = this.#life;
    if (life === undefined) return;
    const { process, over, pipeline, memory, accounts, ticks, taker, queue, kept } = life;
    this.#isStopping = true;
    this.#startsAgain = false;
    this.#surroundings.ticks.leave(taker);
    over.abort(new Error('the daemon is stopping'));
    if ('probe' in kept) await kept.standby.stop();
    await ticks.stop();
    await pipeline.near?.settled();
    await queue.close();
    memory.abortAll();
    await memory.settled();
    await accounts.close();
    if ('probe' in kept) await kept.mirror?.close();
    else await kept.close();
    process.kill();
    if (this.#life !== life) return;
    this.#life = undefined;
    this.#isStopping = false;
    if (this.#startsAgain) this.start();
  }

  stepClock(byMs: number): void {
    this.#machine.stepWall(byMs);
  }

  /** Sets what its host can reach; messages under way meet the new state. */
  setLink(to: LinkEnd, state: LinkState): void {
    this.#machine.links[to] = state;
  }

  /** Replaces the config file; a daemon that is up adopts it unless it cannot be used. */
  reload(text: string): void {
    this.#configText = text;
    const life = this.#life;
    if (life === undefined) return;
    this.#surroundings.queue.after(0, () => this.#adopt(life, text), life.process);
  }

  #adopt({ accounts, memory, state }: Life, text: string): void {
    const { ticks, loadConfig, errors } = this.#surroundings;
    try {
      const config = loadConfig(text);
      const change = compareConfigs(this.#config, config);
      const changed = !isUnchanged(change);
      if (changed) {
        accounts.adopt(config);
        this.#config = config;
        for (const id of change.removed) memory.forget(id);
        ticks.assert(schedulesOf(accounts));
        makeChangedDue(state.store, change).catch((error: unknown) => errors.push(error));
      }
      const result = changed ? 'changed' : 'unchanged';
      this.#telemetry.emit({
        kind: 'configReloaded',
        accounts: accounts.size,
        result,
        warnings: [],
        lost: [],
      });
    } catch (error) {
      if (!(error instanceof WorldConfigError)) throw error;
      this.#telemetry.emit({ kind: 'configRefused', problems: [error.message] });
    }
  }

  #instance(): string {
    return `i${this.#ordinal}-${this.name}-${this.#lives}`;
  }

  #open(): Life {
    const { queue, seed, errors, people } = this.#surroundings;
    const process = new MachineProcess(queue, this.#machine);
    const { clock, timers } = process;
    const instance = this.#instance();
    const telemetry = this.#telemetry;
    const chance = chanceOf(seed, instance);
    const random = (): number => chance.uniform();
    const link = this.#surroundings.linkFor(process, instance);
    const time = new SharedTime(clock, instance);
    const stateOptions = { clock, randomBelow: (bound: number) => chance.below(bound) };
    const own = this.#isOnOwnDisk ? this.#ownState(process, chance) : undefined;
    const standbyBackend = createStandby(link.backend, { ...stateOptions, sharedNowMs: () => time.nowMs() });
    standbyBackend.hasCompany = this.#surroundings.hasCompany;
    const state = createMemoryState(stateOptions, own ?? { backend: standbyBackend });
    const host = { process, telemetry, ordinal: this.#ordinal, instance };
    const { connect } = this.#surroundings;
    const accounts = openAccounts(host, link, { random, connect });
    const memory = new ReadMemory();
    const notifier = this.#notifier();
    const over = new AbortController();
    const report = (queueName: 'act' | 'poll', error: unknown): void => {
      errors.push(error);
      telemetry.emit({ kind: 'workerError', queue: queueName, error });
    };
    // Stands in for the act queue: takes the lanes that are not begun at once, one run per lane.
    const lanes: DirectLanes = new DirectLanes(
      (lane) => pipeline.near?.run(lane) ?? Promise.resolve(),
      (error) => report('act', error),
    );
    const { probe } = link;
    const context = () => pipeline.context;
    const schedules = () => schedulesOf(accounts);
    const company = own === undefined ? standbyBackend : WITHOUT_QUEUE;
    const ticks = new PollTicks({ clock, timers, telemetry, context, schedules, standby: company });
    const kept: Life['kept'] = own ?? {
      standby: this.#openStandby(
        { backend: standbyBackend, store: state.store, probe, ticks },
        process,
        () => pipeline,
      ),
      backend: standbyBackend,
      probe,
      mirror: undefined,
    };
    const standby = 'standby' in kept ? kept.standby : undefined;
    const work = { accounts, store: state.store, clock, timers, random, time, telemetry, memory };
    const pipeline: Pipeline = openPipeline(
      {
        instance,
        work: { ...work, notifier, delivery: people },
        queue: standby?.over(lanes) ?? lanes,
        turns: standby?.turns,
        notify: () => this.#config.notify,
        attemptTimeoutMs: () => this.#config.exchange.attemptTimeoutMs,
      },
      true,
      over.signal,
    );
    return {
      process,
      accounts,
      state,
      memory,
      time,
      pipeline,
      queue: lanes,
      taker: {
        process,
        take: (tick) => void ticks.take(tick).catch((error: unknown) => report('poll', error)),
      },
      over,
      ticks,
      kept,
    };
  }

  #ownState(process: MachineProcess, chance: ReturnType<typeof chanceOf>): OwnState {
    const { clock, timers } = process;
    const randomText = (length: number): string =>
      Array.from({ length }, () => chance.below(36).toString(36)).join('');
    // The disk of a machine here takes everything.
    const onState = (failing: unknown): void => void this.#surroundings.errors.push(failing);
    const parts = { disk: diskOf(process), clock, timers, trust: TRUSTING, randomText, onState };
    return createOwnState(parts, () => true);
  }

  #notifier(): Notifier {
    const { people } = this.#surroundings;
    return {
      hand: async (handed) => {
        this.notices.push(...handed);
        people.tell(handed);
      },
    };
  }

  #openStandby(
    parts: Pick<StandbyParts, 'backend' | 'store' | 'probe' | 'ticks'>,
    { clock, timers }: MachineProcess,
    pipeline: () => Pipeline,
  ): Standby {
    return new Standby({
      ...parts,
      clock,
      timers,
      telemetry: this.#telemetry,
      ordinal: this.#ordinal,
      handBackOthers: async () => undefined,
      join: async () => {
        if (this.#life !== undefined) this.#followClock(this.#life);
      },
      lanesSettled: async () => await pipeline().near?.settled(),
      runLane: async (lane) => await pipeline().near?.run(lane),
    });
  }

  #followOften(life: Life): void {
    this.#followClock(life);
    life.process.timers.after(FOLLOW_CLOCK_MS, () => this.#followOften(life));
  }

  #followClock({ process, time }: Life): void {
    const askedAtMs = process.clock.monotonicMs();
    this.#surroundings
      .storeTime(process)
      .then((storeMs) => {
        time.adopt({ storeMs, askedAtMs, answeredAtMs: process.clock.monotonicMs() });
      })
      .catch(() => undefined);
  }
}
